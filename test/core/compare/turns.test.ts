// When a pair whose processes take turns has been timed for long enough.
import { describe, expect, it } from "vitest";
import { isTimedEnough, turnLimits } from "../../../src/core/compare/turns.ts";
import { buildConfig } from "../../support/build-config.ts";

const limits = { warmUpMs: 0, leastMs: 200, mostMs: 1000, turnMs: 20 };
const steady = Array.from({ length: 10 }, () => 1);
const turns = (fastestMs: readonly number[], timedMs = 200) => ({ timedMs, fastestMs });

it.each([
	["both sides repeat their fastest iteration", turns(steady), turns(steady), true],
	["one has too few rounds, as with iterations longer than a turn", turns(steady.slice(1), 1999), turns(steady), false],
	["one has four rounds in more time than a pair is lengthened by", turns(steady.slice(6), 2000), turns(steady), true],
	["one has four rounds whose halves differ", turns([0.9, 1, 1, 1], 2000), turns(steady), false],
	["one has ten such rounds", turns([0.9, ...steady.slice(1)], 2000), turns(steady), true],
	["one has three rounds, however long", turns(steady.slice(7), 20_000), turns(steady), false],
	["one has too little time", turns(steady), turns(steady, 199), false],
	["the halves of one differ by more than the tolerance", turns([0.97, ...steady]), turns(steady), false],
	["the halves differ by less", turns([0.99, ...steady]), turns(steady), true],
	["the sides differ by far, each from itself by nothing", turns(steady), turns(steady.map(() => 2)), true],
	["a side never repeats, and the most time is used up", turns([0.5, ...steady], 1000), turns(steady), true],
	["a side never repeats, and only the other used up its time", turns([0.5, ...steady]), turns(steady, 1000), false],
])("isTimedEnough %s: %#", (_, base, head, enough) => {
	expect(isTimedEnough({ base, head }, limits, 0.02)).toBe(enough);
	expect(isTimedEnough({ base: head, head: base }, limits, 0.02)).toBe(enough);
});

it.each([
	["as fast as before, or nearly", 0.95, true],
	["far slower than before on one side", 0.6, false],
])("a pair that repeats is over only where it is not slower: %s", (_, base, enough) => {
	const floored = { ...limits, floorMs: { base, head: 1 } };
	expect(isTimedEnough({ base: turns(steady), head: turns(steady) }, floored, 0.02)).toBe(enough);
	expect(isTimedEnough({ base: turns(steady, 1000), head: turns(steady, 1000) }, floored, 0.02)).toBe(true);
	expect(isTimedEnough({ base: turns(steady.slice(6), 2000), head: turns(steady) }, floored, 0.02)).toBe(enough);
});

describe("turnLimits", () => {
	const { measure } = buildConfig();
	it.each([
		[
			"the config's own length is the least",
			{ warmUpMs: 50, durationMs: 200, adaptsLength: false },
			{ warmUpMs: 50, leastMs: 200, mostMs: 1600, turnMs: 20 },
		],
		[
			"a short one is split into ten turns",
			{ warmUpMs: 0, durationMs: 5, adaptsLength: false },
			{ warmUpMs: 0, leastMs: 5, mostMs: 40, turnMs: 0.5 },
		],
		[
			"a long one grows by two seconds",
			{ warmUpMs: 0, durationMs: 3000, adaptsLength: false },
			{ warmUpMs: 0, leastMs: 3000, mostMs: 5000, turnMs: 20 },
		],
		[
			"without one, short",
			{ warmUpMs: 2000, durationMs: 3000, adaptsLength: true },
			{ warmUpMs: 100, leastMs: 300, mostMs: 2300, turnMs: 20 },
		],
	])("turnLimits %s", (_, given, expected) => {
		expect(turnLimits({ ...measure, ...given })).toEqual(expected);
	});
});
