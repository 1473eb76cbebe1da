import { expect, test } from "vitest";
import { comparePeaks, compareRuns } from "../../../src/core/compare/compare.ts";
import { buildRuns } from "../../support/build-result.ts";

const options = { minimalEffect: 0.02, p99MinimalEffect: 0.1 };
const mib = 2 ** 20;

function session(factor: number) {
	const base = Array.from({ length: 8 }, (_, pair) => 2000 + 2 * (pair % 3));
	return buildRuns({ base, head: base.map((medianUs) => medianUs * factor) });
}

test("latency, P99, memory and noise come from the same runs", () => {
	const got = compareRuns(session(1.05), options);
	expect(got.latency).toMatchObject({ verdict: "regressed", pairs: 8, minimalEffect: 0.02 });
	expect(got.latency.estimate).toBeCloseTo(0.05, 6);
	expect(got.p99).toMatchObject({ verdict: "unchanged", minimalEffect: 0.1 });
	expect(got.memory.verdict).toBe("unchanged");
	expect(got.noise.runCv).toBeGreaterThan(3e-4);
	expect(got.noise.runCv).toBeLessThan(1.2e-3);
	expect(got.noise.detectable).toBeGreaterThan(0);
	expect([got.base?.runs, got.head?.runs]).toEqual([8, 8]);
});

test("memory that one version does not state is not comparable, with both sides' lines", () => {
	const lines = {
		base: "in IExecutionContext creation: now: GPU 128 (MiB)",
		head: "Context memory: 3 pages",
	};
	const stated = session(1).map((run) => {
		const peakMemoryBytes = run.arm === "base" ? 128 * mib : null;
		return { ...run, peakMemoryBytes, memoryLine: lines[run.arm] };
	});
	const { memory } = compareRuns(stated, options);
	expect(memory).toMatchObject({ verdict: "not-comparable", estimate: null });
	for (const line of Object.values(lines)) expect(memory.reason).toContain(`\`${line}\``);
});

test("without a base all is missing and nothing has failed", () => {
	const heads = session(1).filter((one) => one.arm === "head");
	const got = compareRuns(heads, options);
	for (const { verdict } of [got.latency, got.p99, got.memory]) expect(verdict).toBe("missing");
	expect(got.latency.reason).toContain("the workload is new");
	expect(got.noise).toEqual({ runCv: expect.any(Number), detectable: null });
	expect([got.base, got.head?.runs]).toEqual([null, 8]);
});

test.each([
	["The head has no usable run.", session(1).filter((one) => one.arm === "base")],
	[
		"The base has no usable run.",
		session(1).map((one) => (one.arm === "base" ? { ...one, state: "unusable" as const } : one)),
	],
	[
		"No pair has a usable run of both base and head.",
		session(1).filter((one) => (one.arm === "base") === one.pair < 4),
	],
])("%s That is missing, not a pass", (reason, runs) => {
	expect(compareRuns(runs, options).latency).toMatchObject({ verdict: "missing", reason, pairs: 0 });
});

test("a pair that was measured again counts once, with its later runs", () => {
	const again = buildRuns({ base: [2000], head: [2000] }).map((one) => ({ ...one, order: 50 + one.order }));
	const [disturbed] = buildRuns({ base: [90_000], head: [] });
	const got = compareRuns([...again, disturbed!, ...session(1).slice(1)], options);
	expect(got.latency).toMatchObject({ verdict: "unchanged", pairs: 8 });
	expect(got.base?.runs).toBe(8);
});

test("memory takes the largest run of each side", () => {
	const runs = session(1).map((one) =>
		one.arm === "head" && one.pair === 3 ? { ...one, peakMemoryBytes: 800 * mib } : one,
	);
	expect(compareRuns(runs, options).memory).toMatchObject({
		verdict: "regressed",
		estimate: (800 - 742) / 742,
	});
	const silent = session(1).map((one) => (one.arm === "head" ? { ...one, peakMemoryBytes: null } : one));
	expect(compareRuns(silent, options).memory.verdict).toBe("not-comparable");
});

test.each([
	[1000, 1000, "unchanged", 0],
	[1000, 1010, "regressed", 0.01],
	[1000, 900, "improved", -0.1],
] as const)("%d MiB to %d MiB are %s, with an exact change", (...[base, head, verdict, estimate]) => {
	const bounds = { interval: [estimate, estimate], excluded: Math.abs(estimate) };
	const exact = { verdict, estimate, ...bounds, pairs: 0, minimalEffect: 0.005, level: 1 };
	expect(comparePeaks(base * mib, head * mib)).toEqual(exact);
	expect(comparePeaks(0, 0)).toMatchObject({ verdict: "unchanged", estimate: 0 });
});

test.each([
	[100, 102, "unchanged"],
	[100, 102.01, "regressed"],
	[100, 97.9, "improved"],
	[10_000, 10_050, "unchanged"],
	[10_000, 10_051, "regressed"],
] as const)(
	"observed memory of %d MiB to %d MiB is %s: 2 MiB or 0.5 %% are nothing",
	(base, head, verdict) => {
		expect(comparePeaks(base * mib, head * mib).verdict).toBe(verdict);
	},
);

test.each([
	[null, null, "missing", "Neither base nor head"],
	[null, 1, "missing", "nothing to compare with"],
	[1, null, "not-comparable", "the head does not"],
	[0, 1, "not-comparable", "no ratio"],
	[Number.NaN, 1, "not-comparable", "The base's GPU memory is NaN"],
	[1, Number.POSITIVE_INFINITY, "not-comparable", "The head's GPU memory is Infinity"],
	[1, -1, "not-comparable", "The head's GPU memory is -1"],
] as const)("%s against %s is %s", (...[base, head, verdict, reason]) => {
	const got = comparePeaks(base, head);
	expect(got).toMatchObject({ verdict, estimate: null, interval: null, excluded: null });
	expect(got.reason).toContain(reason);
});
