// Which pairs of siblings are timed, in which order, and what becomes of the others; with in-memory ports.
import { expect, it } from "vitest";
import type { BuildRecord, SiblingResult } from "../../generated/result.ts";
import { isDue, measureSiblings, siblingPairs } from "../../src/stages/siblings.ts";
import type { TimedWorkload } from "../../src/stages/workloads.ts";
import { buildConfig } from "../support/build-config.ts";
import { fakeBackend, fakePorts, fakeWorkload, steadyRun } from "../support/fakes.ts";

const shape = [8, 3];

/** A workload of one engine of the head. */
function timedOf(
	engine: string,
	more: {
		against?: string;
		streams?: number;
		hash?: string;
		input?: string;
		record?: Partial<BuildRecord>;
	} = {},
): TimedWorkload {
	const { against, streams = 1, hash = engine, input = "x", record } = more;
	const timed = fakeWorkload("one", { head: hash });
	const { spec } = timed.head;
	const own = { ...spec.engine, name: engine, ...(against !== undefined && { against }) };
	return {
		...timed,
		head: {
			...timed.head,
			spec: { ...spec, id: `net/${engine}`, engine: own },
			record: { ...timed.head.record, ...record },
		},
		workload: {
			id: `net/${engine}/one`,
			engineId: `net/${engine}`,
			config: { ...timed.workload.config, streams },
		},
		inputs: [
			{ name: input, dtype: "float32", shape, fill: "zeros" } as unknown as TimedWorkload["inputs"][number],
		],
	};
}

const order = { seed: "seed", pairs: 5 };

async function measured(workloads: readonly TimedWorkload[]) {
	const backend = fakeBackend((_, nth, { engine }) =>
		steadyRun((engine.spec.engine.name === "int8" ? 0.8 : 1) * (1 + 0.0005 * Math.sin(nth * 7))),
	);
	const { measure } = buildConfig();
	const noBase = () => ({ verdict: "missing" }) as const;
	const input = { workloads: [], measure, family: 1, noBase, outFolder: "/out" };
	const found: SiblingResult[] = [];
	for await (const { siblings } of measureSiblings(siblingPairs(workloads, order), input, fakePorts(backend)))
		found.push(...siblings);
	return { found, runs: backend.order.length };
}

it("an engine is timed in pairs with its sibling, by the limits of payoff", async () => {
	const { found, runs } = await measured([timedOf("int8", { against: "fp16" }), timedOf("fp16")]);
	expect(runs).toBe(10);
	expect(found).toMatchObject([
		{
			engine: "int8",
			against: "fp16",
			workload: "one",
			limits: { warn: 0.05 },
			latency: { verdict: "improved" },
		},
	]);
	expect(found[0]?.latency.estimate).toBeCloseTo(-0.2, 2);
	expect(found[0]?.latency.minimalEffect).toBe(0.05);
});

it.each([
	["without its sibling", [timedOf("int8", { against: "fp16" })], "missing", /is not part of this run/],
	[
		"with other inputs",
		[timedOf("int8", { against: "fp16", input: "y" }), timedOf("fp16")],
		"missing",
		/takes other inputs/,
	],
	[
		"of the same bytes",
		[timedOf("int8", { against: "fp16", hash: "a" }), timedOf("fp16", { hash: "a" })],
		"unchanged",
		/same, byte for byte/,
	],
] as const)("an engine %s is not timed, and says why", async (_, workloads, verdict, reason) => {
	const { found, runs } = await measured(workloads);
	expect(runs).toBe(0);
	expect(found).toMatchObject([{ latency: { verdict, reason: expect.stringMatching(reason) } }]);
});

it("workloads that only one of the two has are left out", () => {
	expect(siblingPairs([timedOf("int8", { against: "fp16", streams: 2 }), timedOf("fp16")], order)).toEqual(
		[],
	);
});

it.each([
	[{ sharedWithBase: true, fromCache: true }, false],
	[{ sharedWithBase: true }, true],
	[{ fromCache: true }, true],
])("a pair whose sibling is %j is due: %s", (record, due) => {
	const known = { sharedWithBase: true, fromCache: true };
	const workloads = [timedOf("int8", { against: "fp16", record: known }), timedOf("fp16", { record })];
	expect(siblingPairs(workloads, order).map(isDue)).toEqual([due]);
});
