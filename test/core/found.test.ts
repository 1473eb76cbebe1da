import { expect, it } from "vitest";
import { didYouMean, editDistance } from "../../src/core/found.ts";

it.each([
	["", "", 0],
	["", "abc", 3],
	["abc", "abc", 0],
	["kitten", "sitting", 3],
	["ab", "ba", 1],
	["ca", "abc", 3],
	["latency", "latecny", 1],
	["fp61", "fp16", 1],
])("editDistance between %j and %j is %i", (left, right, distance) => {
	expect(editDistance(left, right)).toBe(distance);
});

const known = ["latency", "p99", "memory", "engine-size", "build-time", "golden"];

it.each([
	["latancy", "latency"],
	["engine_size", "engine-size"],
	["engineSize", "engine-size"],
	["Memory", "memory"],
	["goldne", "golden"],
	["p95", "p99"],
])("didYouMean reads %s as %s", (word, meant) => {
	expect(didYouMean(word, known)).toBe(meant);
});
