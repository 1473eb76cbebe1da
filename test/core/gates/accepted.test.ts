import fc from "fast-check";
import { expect, it } from "vitest";
import type { BuildRecord, GateResult } from "../../../generated/result.ts";
import type { AcceptedChange } from "../../../src/core/config/config.ts";
import { type AcceptFacts, applyAccepted, changeOf } from "../../../src/core/gates/change.ts";
import { buildBuild, buildComparison, buildGate, buildWorkload } from "../../support/build-result.ts";
import { loaded, withModel } from "../config/load.ts";

const [old, slower, other] = ["0", "1", "2"].map((digit) => digit.repeat(16)) as [string, string, string];

function entry(changes: Partial<AcceptedChange> = {}): AcceptedChange {
	const about = { engine: "encoder/fp16", figure: "latency", atMost: 0.25, recipe: slower } as const;
	return { ...about, reason: "twice the accuracy", pointer: "/accept/0", ...changes };
}

const builds = (base: string, recipeHash: string, changes: Partial<BuildRecord> = {}): BuildRecord[] => [
	buildBuild({ arm: "base", recipeHash: base }),
	buildBuild({ recipeHash, ...changes }),
];

const slowed = (estimate: number) =>
	buildWorkload({ latency: buildComparison({ verdict: "regressed", estimate }) });
const failed = buildGate({ status: "fail", message: "20 % slower.", workload: "4 × 64" });

type Changes = Partial<Omit<AcceptFacts, "config">> & { accept?: readonly AcceptedChange[] };

function facts({ accept = [entry()], ...rest }: Changes = {}): AcceptFacts {
	const known = new Set(["encoder/fp16"]);
	const config = { accept, sources: {} };
	return { config, builds: builds(old, slower), rows: [slowed(0.2)], known, ...rest };
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
	const work = buildComparison({ verdict: "regressed", estimate: 0.2 });
	const rows = [buildWorkload({ work, latency: buildComparison({ estimate: null }) })];
	const statusOf = (figure: "work" | "latency", atMost: number) => {
		const accept = [entry({ figure, atMost })];
		return applyAccepted([{ ...failed, gate: "work" }], facts({ rows, accept }))[0]?.status;
	};
	const statuses = [statusOf("work", 0.25), statusOf("work", 0.19), statusOf("latency", 0.25)];
	expect(statuses).toEqual(["warn", "fail", "fail"]);
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

it("nothing is accepted if the change is unknown", () => {
	expect(applyAccepted([failed], facts({ rows: [] }))[0]?.status).toBe("fail");
	expect(applyAccepted([{ ...failed, workload: "another" }], facts())[0]?.status).toBe("fail");
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

it.each(["pass", "warn", "inconclusive", "error"] as const)(
	"a gate that does not fail stays as it is: %s",
	(status) => {
		expect(applyAccepted([{ ...failed, status }], facts())).toEqual([{ ...failed, status }]);
	},
);

const theBaseHasIt = "the base already has this engine";
const another = "it is for the engine 1{16}, and this one is 2{16}";

it.each<[string, Changes, string]>([
	["the engine is gone", { known: new Set(["encoder/int8"]) }, "no such engine exists"],
	["the base has it", { builds: builds(slower, slower) }, theBaseHasIt],
	["only the base has it", { builds: builds(slower, other) }, theBaseHasIt],
	["the head has another engine", { builds: builds(old, other) }, another],
])("an entry is stale, fails and covers nothing where %s", (_, changes, why) => {
	const words = `^The accepted latency is stale: ${why}.* \`trtgate accept RESULT --prune\` does it\\.$`;
	const message = expect.stringMatching(new RegExp(words));
	expect(applyAccepted([failed], facts(changes))).toEqual([
		failed,
		{ gate: "accept", model: "encoder", engine: "fp16", status: "fail", message },
	]);
});

it("an entry is not stale in a job that does not build its engine or has no base", () => {
	expect(applyAccepted([], facts({ builds: [] }))).toEqual([]);
	expect(applyAccepted([], facts({ builds: builds(old, slower).slice(1) }))).toEqual([]);
});

it("a stale entry is shown at its line", () => {
	const accept = `accept:\n  - { engine: net/fp32, figure: latency, at-most: 12%, recipe: "${slower}", reason: "worth it" }\n`;
	const config = loaded(withModel("dims: { batch: 1 }", accept));
	expect(config.accept).toEqual([entry({ engine: "net/fp32", atMost: 0.12, reason: "worth it" })]);
	const [stale] = applyAccepted([], { ...facts(), config });
	expect(stale?.location).toMatchObject({ path: "trtgate.yml", line: 5 });
});

const changeBy = (gate: GateResult["gate"], changes: Partial<BuildRecord> = {}) =>
	changeOf({ ...failed, gate }, { builds: builds(old, slower, changes), rows: [slowed(0.2)] });

it("changeOf is a share of the base's figure", () => {
	expect(changeBy("latency")).toBe(0.2);
	expect(changeBy("engine-size", { engineBytes: 516_000 * 1.5 })).toBeCloseTo(0.5, 12);
	expect(changeBy("build-time", { durationMs: 19_200 * 2 })).toBeCloseTo(1, 12);
});

it("changeOf is null if a figure is missing or the base's is zero", () => {
	const [base, head] = builds(old, slower) as [BuildRecord, BuildRecord];
	const { engineBytes: _, ...unsized } = base;
	for (const list of [[head], [base], [unsized, head], [{ ...base, engineBytes: 0 }, head]])
		expect(changeOf({ ...failed, gate: "engine-size" }, { builds: list, rows: [] })).toBeNull();
	expect(changeBy("golden")).toBeNull();
	expect(changeBy("max-latency")).toBeNull();
});

const ids = ["net/a", "net/b", "net/c"] as const;
const limit = 0.1;

interface Main {
	recipes: ReadonlyMap<string, string>;
	accept: readonly AcceptedChange[];
}

interface Branch extends Main {
	prunes: boolean;
}

const recipe = fc.constantFrom(..."0123").map((digit) => digit.repeat(16));
const given = fc.tuple(fc.constantFrom(...ids), recipe);
const branch: fc.Arbitrary<Branch> = fc
	.record({
		recipes: fc.uniqueArray(given, { minLength: 1, maxLength: 2, selector: ([id]) => id }),
		honest: fc.boolean(),
		atMost: fc.constantFrom(0.15, 0.4, 1),
		planted: fc.array(given, { maxLength: 1 }),
		prunes: fc.boolean(),
	})
	.map(({ recipes, honest, atMost, planted, prunes }) => {
		const wanted = [...(honest ? recipes : []), ...planted];
		const accept = new Map(wanted.map(([id, hash]) => [id, entry({ engine: id, recipe: hash, atMost })]));
		return { recipes: new Map(recipes), accept: [...accept.values()], prunes };
	});
const latencies = fc.array(fc.constantFrom(1, 1.12, 1.3, 2), { minLength: 4, maxLength: 4 });

function tryMerge(main: Main, { recipes, accept, prunes }: Branch, msOf: (recipe: string) => number) {
	const next = new Map([...main.recipes, ...recipes]);
	const hashes = ids.map((id) => ({ id, base: main.recipes.get(id) ?? "", head: next.get(id) ?? "" }));
	const changes = hashes.map(({ id, base, head }) => ({ id, head, change: msOf(head) / msOf(base) - 1 }));
	const place = (id: string) => ({ model: "net", engine: id.slice("net/".length) });
	const timed = (id: string) => ({ ...place(id), workload: "one" });
	const gates = changes
		.filter(({ change }) => change >= limit)
		.map(({ id, change }) => buildGate({ ...timed(id), status: "fail", message: String(change) }));
	const input = (entries: readonly AcceptedChange[]): AcceptFacts => ({
		config: { accept: entries, sources: {} },
		builds: hashes.flatMap(({ id, base, head }) => [
			buildBuild({ ...place(id), arm: "base", recipeHash: base }),
			buildBuild({ ...place(id), recipeHash: head }),
		]),
		rows: changes.map(({ id, change }) => ({ ...slowed(change), ...timed(id) })),
		known: new Set(ids),
	});
	const isStale = (one: AcceptedChange) => applyAccepted([], input([one])).length > 0;
	const entries = [...main.accept, ...accept].filter((one) => !prunes || !isStale(one));
	return { next: { recipes: next, accept: entries }, gates: applyAccepted(gates, input(entries)), changes };
}

it("in any order of merges each slowdown needs its own entry, for this engine and this much", () => {
	const seen = { merges: 0, accepted: 0, refused: 0, leftover: 0 };
	fc.assert(
		fc.property(fc.array(branch, { minLength: 2, maxLength: 12 }), latencies, (branches, ms) => {
			const msOf = (hash: string) => ms[Number(hash[0])] ?? 1;
			let main: Main = { recipes: new Map(ids.map((id) => [id, old])), accept: [] };
			for (const one of branches) {
				const { next, gates, changes } = tryMerge(main, one, msOf);
				const tooSlow = changes.filter(({ change }) => change >= limit);
				const covers = ({ id, head, change }: (typeof changes)[number]) =>
					one.accept.some((own) => own.engine === id && own.recipe === head && change <= own.atMost);
				const isGreen = gates.every(({ status }) => status !== "fail");
				if (isGreen) expect(tooSlow.filter((change) => !covers(change))).toEqual([]);
				const isNeeded = ({ engine: id, recipe: hash }: AcceptedChange) =>
					changes.some(({ id: own, head }) => own === id && head === hash) && main.recipes.get(id) !== hash;
				const isClean = one.prunes || (main.accept.length === 0 && one.accept.every(isNeeded));
				expect(isGreen).toBe(isClean && tooSlow.every(covers));
				seen.refused += isGreen ? 0 : 1;
				if (!isGreen) continue;
				for (const left of next.accept) expect(next.recipes.get(left.engine)).toBe(left.recipe);
				seen.merges += 1;
				seen.accepted += tooSlow.length;
				seen.leftover += main.accept.length;
				main = next;
			}
		}),
		{ numRuns: 1000 },
	);
	expect(Math.min(seen.merges, seen.refused)).toBeGreaterThan(1000);
	expect(Math.min(seen.accepted, seen.leftover)).toBeGreaterThan(100);
});
