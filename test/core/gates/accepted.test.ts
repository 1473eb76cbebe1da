import { describe, expect, it } from "vitest";
import type { BuildRecord, GateResult, WorkloadResult } from "../../../generated/result.ts";
import type { AcceptedChange } from "../../../src/core/config/config.ts";
import { type AcceptFacts, applyAccepted, changeOf } from "../../../src/core/gates/accepted.ts";
import { buildBuild, buildComparison, buildGate, buildWorkload } from "../../support/build-result.ts";
import { loaded, withModel } from "../config/load.ts";

const [old, slower, other] = ["0", "1", "2"].map((digit) => digit.repeat(16)) as [string, string, string];

function entry(changes: Partial<AcceptedChange> = {}): AcceptedChange {
	const about = {
		engine: "encoder/fp16",
		figure: "latency",
		atMost: 0.25,
		recipe: slower,
		reason: "twice the accuracy",
	} as const;
	return { ...about, pointer: "/accept/0", ...changes };
}

function builds(
	base: string | undefined,
	head: string | undefined,
	changes: Partial<BuildRecord> = {},
): BuildRecord[] {
	const hash = (recipeHash: string | undefined) => (recipeHash === undefined ? {} : { recipeHash });
	return [buildBuild({ arm: "base", ...hash(base) }), buildBuild({ ...hash(head), ...changes })];
}

const slowed = (estimate: number): WorkloadResult =>
	buildWorkload({ latency: buildComparison({ verdict: "regressed", estimate }) });
const failed = buildGate({ status: "fail", message: "20 % slower.", workload: "4 × 64" });

function facts(
	changes: Partial<Omit<AcceptFacts, "config">> & { accept?: readonly AcceptedChange[] } = {},
): AcceptFacts {
	const { accept = [entry()], ...rest } = changes;
	const known = new Set(["encoder/fp16"]);
	return {
		config: { accept, sources: {} },
		builds: builds(old, slower),
		rows: [slowed(0.2)],
		known,
		...rest,
	};
}

it("an accepted slowdown warns, with the limit, who accepted it, and why", () => {
	const accepted = "Accepted once, up to +25.0 %: twice the accuracy";
	expect(applyAccepted([failed], facts())).toEqual([
		{ ...failed, status: "warn", message: `20 % slower. ${accepted}`, accepted },
	]);
	const [gate] = applyAccepted([failed], facts({ accept: [entry({ by: "Ada" })] }));
	expect(gate?.message).toContain("by Ada: twice the accuracy");
});

it("accepted work is that of the count, and accepts no latency", () => {
	const rows = [
		buildWorkload({
			work: buildComparison({ verdict: "regressed", estimate: 0.2 }),
			latency: buildComparison({ estimate: null }),
		}),
	];
	const statusOf = (figure: "work" | "latency", atMost: number) =>
		applyAccepted([{ ...failed, gate: "work" }], facts({ rows, accept: [entry({ figure, atMost })] }))[0]
			?.status;
	expect([statusOf("work", 0.25), statusOf("work", 0.19), statusOf("latency", 0.25)]).toEqual([
		"warn",
		"fail",
		"fail",
	]);
});

it.each([
	[0.25, "warn"],
	[0.2500001, "fail"],
	[Number.NaN, "fail"],
	[Number.POSITIVE_INFINITY, "fail"],
])("an accepted slowdown of at most 25 %% that is %d: %s", (change, status) => {
	const [gate] = applyAccepted([failed], facts({ rows: [slowed(change)] }));
	expect(gate?.status).toBe(status);
	if (status === "fail") expect(gate?.message).toBe("20 % slower. At most +25.0 % was accepted.");
});

it.each<[string, Partial<GateResult>]>([
	["another figure", { gate: "p99" }],
	["a golden", { gate: "golden" }],
	["an absolute limit", { gate: "max-latency" }],
	["another engine", { engine: "int8" }],
	["another model", { model: "decoder" }],
])("an accepted latency covers no failure of %s", (_, changes) => {
	const gate = { ...failed, ...changes };
	expect(applyAccepted([gate], facts())).toEqual([gate]);
});

describe("an entry is stale, fails and covers nothing", () => {
	it.each<[string, Parameters<typeof facts>[0], RegExp]>([
		["where the engine is gone", { known: new Set(["encoder/int8"]) }, /no such engine exists/],
		[
			"where the base already has this engine",
			{ builds: builds(slower, slower) },
			/the base already has this engine/,
		],
		[
			"where the base has it and the head has another",
			{ builds: builds(slower, other) },
			/the base already has this engine/,
		],
		[
			"where the head has another engine",
			{ builds: builds(old, other) },
			/it is for the engine 1{16}, and this one is 2{16}/,
		],
	])("%s", (_, changes, why) => {
		const [gate, stale, ...more] = applyAccepted([failed], facts(changes));
		expect(more).toEqual([]);
		expect(gate).toEqual(failed);
		expect(stale).toMatchObject({ gate: "accept", model: "encoder", engine: "fp16", status: "fail" });
		expect(stale?.message).toMatch(why);
		expect(stale?.message).toMatch(
			/^The accepted latency is stale: .* `trtgate accept RESULT --prune` does it\.$/,
		);
	});
});

it("an entry is not stale in a job that does not build its engine, nor without a base", () => {
	expect(applyAccepted([], facts({ builds: [] }))).toEqual([]);
	expect(applyAccepted([], facts({ builds: builds(undefined, slower).slice(1) }))).toEqual([]);
});

it("a stale entry is shown at its line", () => {
	const accept = `accept:\n  - { engine: net/fp32, figure: latency, at-most: 12%, recipe: "${slower}", reason: "worth it" }\n`;
	const config = loaded(withModel("dims: { batch: 1 }", accept));
	expect(config.accept).toEqual([
		{
			engine: "net/fp32",
			figure: "latency",
			atMost: 0.12,
			recipe: slower,
			reason: "worth it",
			pointer: "/accept/0",
		},
	]);
	const [stale] = applyAccepted([], { ...facts(), config });
	expect(stale?.location).toMatchObject({ path: "trtgate.yml", line: 5 });
});

describe("changeOf", () => {
	const of = (gate: GateResult["gate"], changes: Partial<BuildRecord> = {}) =>
		changeOf({ ...failed, gate }, { builds: builds(old, slower, changes), rows: [slowed(0.2)] });

	it("changeOf is a share of the base's figure", () => {
		expect(of("latency")).toBe(0.2);
		expect(of("engine-size", { engineBytes: 516_000 * 1.5 })).toBeCloseTo(0.5, 12);
		expect(of("build-time", { durationMs: 19_200 * 2 })).toBeCloseTo(1, 12);
	});

	it("changeOf is null where a figure is missing or nothing can be a share of it", () => {
		const [base, head] = builds(old, slower) as [BuildRecord, BuildRecord];
		const { engineBytes: _, ...unsized } = base;
		for (const list of [[head], [base], [unsized, head], [{ ...base, engineBytes: 0 }, head]])
			expect(changeOf({ ...failed, gate: "engine-size" }, { builds: list, rows: [] })).toBeNull();
		expect(of("golden")).toBeNull();
		expect(of("max-latency")).toBeNull();
	});
});
