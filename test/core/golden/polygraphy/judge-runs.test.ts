// Which outputs are compared with each other.
import { expect, it } from "vitest";
import { matchingOutput } from "../../../../src/core/golden/polygraphy/judge-runs.ts";

it.each<[string, string[], string[], string | null, string]>([
	["out", ["out"], ["other", "out"], "out", "of its very name"],
	["OUT", ["OUT"], ["out"], "out", "of its name in another case"],
	["model/out:0", ["model/out:0"], ["out"], "out", "whose name it holds"],
	["out", ["out"], ["x", "model/out:0"], "model/out:0", "whose name holds it"],
	["out", ["out"], ["out_a", "out_b"], "out_a", "the first of several alike"],
	["a", ["z", "a"], ["p", "q"], "q", "at its place, where no name is alike"],
	["a", ["z", "y", "a"], ["p", "q"], null, "none, where the second runner has no such place"],
	["out_1", ["out", "out_1"], ["out"], null, "none, where the only one alike is another's by name"],
	["", ["", "b"], ["b", "c"], null, "none for a nameless one, which is alike to all and finds another's"],
	["constructor", ["constructor"], ["y"], "y", "at its place, for names that objects have"],
])("the output that an output is compared with %s of %j in %j: %s, %s", (name, first, second, wanted) => {
	expect(matchingOutput(name, first, second)).toBe(wanted);
});
