import fc from "fast-check";
import { expect, test } from "vitest";
import type { Arm, VerdictKind } from "../../../generated/result.ts";
import { type Pair, undisturbed } from "../../../src/core/compare/pairs.ts";
import { judgePairs, shouldStop } from "../../../src/core/compare/verdict.ts";
import oracle from "../../oracles/statistics.json" with { type: "json" };

const minimalEffect = 0.02;
const judge = (pairs: readonly Pair[], more = {}) => judgePairs(pairs, { minimalEffect, ...more });
const swap = (pairs: readonly Pair[]): Pair[] => pairs.map(({ base, head }) => ({ base: head, head: base }));

const fromLogs = (logs: readonly number[]): Pair[] =>
	logs.map((log) => ({ base: 2, head: 2 * Math.exp(log) }));
const between = (min: number, max: number) => fc.double({ min, max, noNaN: true });
const mirrored: Partial<Record<VerdictKind, VerdictKind>> = { regressed: "improved", improved: "regressed" };

test("estimate and interval are what scipy makes of the same pairs", () => {
	for (const { pairs, estimate, interval, setAside, base, head } of oracle.paired) {
		const got = judge(pairs);
		expect(got.setAside ?? 0).toBe(setAside);
		expect([got.base, got.head]).toEqual([expect.closeTo(base, 9), expect.closeTo(head, 9)]);
		expect(got.estimate).toBeCloseTo(estimate, 9);
		expect(got.interval).toEqual(interval.map((bound) => expect.closeTo(bound, 7)));
	}
});

const around = (centre: number, spread: number) =>
	fromLogs([-1, -0.5, 0, 0, 0, 0, 0.5, 1].map((step) => centre + spread * step));

test.each([
	["regressed", 0.05, 0.002],
	["improved", -0.05, 0.002],
	["unchanged", 0.003, 0.002],
	["inconclusive", 0.02, 0.02],
	["inconclusive", 0.018, 0.004],
	["inconclusive", 0, 0.05],
] as const)("%s: a change of e^%d with a spread of %d", (verdict, centre, spread) => {
	expect(judge(around(centre, spread)).verdict).toBe(verdict);
});

test("the excluded change is the far end of the interval, the level that of the job", () => {
	const got = judge(around(-0.003, 0.002));
	expect(got.excluded).toBe(-(got.interval?.[0] ?? 0));
	expect([got.level, got.pairs, got.minimalEffect]).toEqual([0.99, 8, 0.02]);
});

test("no pairs are missing, never unchanged", () => {
	const unknown = { estimate: null, interval: null, excluded: null };
	expect(judge([])).toMatchObject({ verdict: "missing", ...unknown, pairs: 0 });
});

test("fewer pairs than the first look are inconclusive, however alike", () => {
	const open = { verdict: "inconclusive", estimate: 0, interval: null, excluded: null };
	expect(judge(fromLogs([0, 0, 0, 0]))).toMatchObject(open);
	expect(judge([{ base: 1, head: 3 }]).reason).toMatch(/^1 run each of base and head is too few/);
});

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])(
	"a value of %d is not comparable and named",
	(value) => {
		const got = judge([...fromLogs([0, 0, 0, 0, 0]), { base: 1, head: value }]);
		expect(got).toMatchObject({ verdict: "not-comparable", estimate: null, interval: null });
		expect(got.reason).toContain("head run of pair 6");
	},
);

test("values apart by more than numbers hold are not comparable", () => {
	expect(judge(Array(5).fill({ base: 1e-300, head: 1e300 })).verdict).toBe("not-comparable");
});

test.each([
	[0, "unchanged"],
	[0.05, "regressed"],
	[-0.05, "improved"],
] as const)("pairs that all agree by e^%d give a narrow interval, not one of no width", (log, verdict) => {
	const got = judge(fromLogs([log, log, log, log, log]));
	expect(got.verdict).toBe(verdict);
	const [low = 0, high = 0] = got.interval ?? [];
	expect(high - low).toBeGreaterThan(2e-4);
	expect(high - low).toBeLessThan(1e-3);
});

const logs = [0.001, -0.002, 0.002, 0, -0.001];
const longer = [...logs, 0.001, 0, -0.002];
const disturb = (pairs: readonly Pair[], arms: Readonly<Record<number, Arm>>) =>
	pairs.map((pair, index) => {
		const arm = arms[index];
		return arm === undefined ? pair : { ...pair, [arm]: 1.3 * pair[arm] };
	});

test.each<Arm>(["base", "head"])(
	"a disturbed %s run neither makes nor hides a change, and asks for a second look",
	(arm) => {
		const judged = (of: readonly number[], more = {}) => judge(disturb(fromLogs(of), { 2: arm }), more);
		expect(judged(logs)).toMatchObject({ verdict: "inconclusive", pairs: 5, setAside: 1 });
		expect(judged(longer)).toMatchObject({ verdict: "unchanged", pairs: 8, setAside: 1 });
		expect(judged(logs, { looks: [5] })).toMatchObject({ verdict: "unchanged" });
		const slower = logs.map((log) => log + 0.03);
		expect(judged(slower)).toMatchObject({ verdict: "regressed", setAside: 1 });
	},
);

test("a head that is slow in some of its runs is not unchanged, a disturbance of both sides is", () => {
	const judged = (other: Arm) => judge(disturb(fromLogs(longer), { 2: "head", 5: other }));
	const reason = expect.stringContaining("in 2 of the 2 pairs set aside as disturbed it was the head");
	expect(judged("head")).toMatchObject({ verdict: "inconclusive", setAside: 2, reason });
	expect(judged("base")).toMatchObject({ verdict: "unchanged", setAside: 2 });
});

test("pairs count or not whichever of the sides was slow", () => {
	const ofOrderOne = between(0.5, 2);
	fc.assert(
		fc.property(fc.array(fc.record({ base: ofOrderOne, head: ofOrderOne })), (pairs) => {
			const mixed = pairs.flatMap((pair, index) => (index % 2 === 0 ? [pair] : swap([pair])));
			const sums = (of: readonly Pair[]) => undisturbed(of).map(({ base, head }) => base + head);
			expect(sums(mixed)).toEqual(sums(pairs));
		}),
	);
});

const times = between(1e-3, 1e3);
const anyPairs = fc.array(fc.record({ base: times, head: times }), { minLength: 5, maxLength: 24 });
const realisticPairs = fc
	.tuple(between(-0.06, 0.06), between(0, 0.02), fc.array(between(-1, 1), { minLength: 5, maxLength: 16 }))
	.map(([centre, spread, steps]) => fromLogs(steps.map((step) => centre + spread * step)));
const eitherPairs = fc.oneof(anyPairs, realisticPairs);

test("whatever the pairs, swapping the sides mirrors the verdict exactly", () => {
	fc.assert(
		fc.property(eitherPairs, (pairs) => {
			const [there, back] = [judge(pairs), judge(swap(pairs))];
			expect(back.verdict).toBe(mirrored[there.verdict] ?? there.verdict);
			expect(Math.log1p(back.estimate ?? 0)).toBeCloseTo(-Math.log1p(there.estimate ?? 0), 9);
		}),
		{ numRuns: 500 },
	);
});

test("whatever the pairs, scaling both sides changes nothing, by powers of two not one bit", () => {
	fc.assert(
		fc.property(eitherPairs, fc.integer({ min: -20, max: 20 }), times, (pairs, power, factor) => {
			const scaled = (by: number) =>
				judge(pairs.map(({ base, head }) => ({ base: by * base, head: by * head })));
			const plain = judge(pairs);
			const { reason: _, base, head, ...exact } = scaled(2 ** power);
			expect(plain).toMatchObject(exact);
			expect(scaled(factor).estimate).toBeCloseTo(plain.estimate ?? 0, 8);
		}),
	);
});

test("whatever the pairs, the order of the pairs changes nothing", () => {
	const shuffled = eitherPairs.chain((pairs) =>
		fc.tuple(
			fc.constant(pairs),
			fc.shuffledSubarray(pairs, { minLength: pairs.length, maxLength: pairs.length }),
		),
	);
	fc.assert(
		fc.property(shuffled, ([pairs, other]) => {
			const { reason: _, ...expected } = judge(pairs);
			expect(judge(other)).toMatchObject(expected);
		}),
	);
});

test("whatever the pairs, more noise turns unchanged into doubt at most", () => {
	fc.assert(
		fc.property(realisticPairs, between(1, 20), (pairs, factor) => {
			const quiet = judge(pairs);
			const centre = Math.log1p(quiet.estimate ?? 0);
			const noisy = judge(
				fromLogs(pairs.map(({ base, head }) => centre + factor * (Math.log(head / base) - centre))),
			);
			if (quiet.verdict === "unchanged") expect(["unchanged", "inconclusive"]).toContain(noisy.verdict);
		}),
		{ numRuns: 300 },
	);
});

test("whatever the pairs, the estimate lies in its interval, and doubt is explained", () => {
	fc.assert(
		fc.property(eitherPairs, (pairs) => {
			const { verdict, estimate, interval, reason } = judge(pairs);
			expect(interval?.[0]).toBeLessThan(estimate ?? Number.NaN);
			expect(interval?.[1]).toBeGreaterThan(estimate ?? Number.NaN);
			expect(reason === undefined).toBe(verdict !== "inconclusive");
		}),
	);
});

test("a change near the limit is named as such", () => {
	const near = (centre: number) =>
		judge(fromLogs([-2, -1, 0, 0, 0, 0, 1, 2].map((step) => centre + 0.002 * step))).reason;
	expect(near(0.0195)).toMatch(
		/^There is a change, but whether it reaches the limit of 2 % is undecided; a slowdown of up to 2\.\d % is not ruled out\.$/,
	);
	expect(near(-0.0195)).toMatch(/a speedup of up to 2\.\d % is not ruled out\.$/);
});

const decided = judge(fromLogs([0, 0, 0, 0, 0]));
const open = judge(fromLogs([-0.1, 0.1, 0, 0.05, 0]));

test.each([
	["a decision ends the measuring", decided, true],
	["doubt goes on", open, false],
	["no pairs are not measured further", judge([]), true],
	["nor is what cannot be compared", judge([{ base: 0, head: 1 }]), true],
])("%s", (_, comparison, stops) => {
	expect(shouldStop(comparison)).toBe(stops);
});
