// A bisection finds the first bad commit with as few builds as halves take, and says what it could not find.
import fc from "fast-check";
import { expect, it } from "vitest";
import {
	beginBisection,
	describeBisection,
	isAfter,
	narrowed,
	nextCommit,
} from "../../../src/core/history/bisect.ts";

/** Commits c1 to cN, of which those from `first` on have the change and some cannot be built. */
function search({
	count,
	first,
	broken = [],
	budget = 64,
}: {
	count: number;
	first: number;
	broken?: readonly number[];
	budget?: number;
}) {
	let state = beginBisection(
		Array.from({ length: count }, (_, index) => `c${index + 1}`),
		budget,
	);
	let builds = 0;
	for (let commit = nextCommit(state); commit !== null; commit = nextCommit(state)) {
		const number = Number(commit.slice(1));
		builds += 1;
		state = narrowed(state, broken.includes(number) ? null : number >= first);
	}
	return { builds, state, text: describeBisection(state, builds) };
}

it("narrowed ends at the first bad commit, after as many builds as halves take", () => {
	fc.assert(
		fc.property(fc.integer({ min: 1, max: 100 }), fc.nat(99), (count, at) => {
			const first = 1 + (at % count);
			const { builds, text } = search({ count, first });
			expect(text).toMatch(new RegExp(`it began with c${first}\\.$`));
			expect(builds).toBeLessThanOrEqual(Math.ceil(Math.log2(count)));
		}),
	);
});

it("a bisection leaves out what cannot be measured, and names the range where its builds are spent", () => {
	expect(search({ count: 8, first: 6, broken: [4] }).text).toBe(
		"Bisection by 4 more builds, 1 of which could not be measured: it began with c6.",
	);
	expect(search({ count: 32, first: 6, budget: 2 }).text).toBe(
		"Bisection by 2 more builds: it began with one of 8 commits, c1 to c8; history.bisect allows no more.",
	);
	// What lies between a good commit and a bad one, and cannot be built, may hold the change.
	expect(search({ count: 3, first: 3, broken: [1, 2] }).text).toContain("it began with c3");
});

it.each([
	[0.05, true],
	[0.03, true],
	[0.02, false],
	[0, false],
])("a level of %d is after a change of 0.05 to 0.05: %s", (level, after) => {
	expect(isAfter(level, { level: 0.05, size: 0.05 })).toBe(after);
});
