// Outputs that may hold infinite values, and what the weight test is told by.
import { describe, expect, it } from "vitest";
import { mustMatch } from "../../../src/app/golden/must-match.ts";
import { noticedText } from "../../../src/app/golden/record-summary.ts";

describe("mustMatch", () => {
	it("marks the outputs that were named, and keeps all else of them", () => {
		const outputs = { y: { comparators: [{ kind: "kl" as const }] as [{ kind: "kl" }] }, z: {} };
		expect(mustMatch(outputs, ["y"])).toEqual({ y: { comparators: [{ kind: "kl" }], nonFinite: "must-match" }, z: {} });
		expect(mustMatch(outputs, [])).toEqual(outputs);
	});

	it.each(["x", "__proto__"])("refuses %s, which is no output", (name) => {
		expect(() => mustMatch({ y: {} }, [name])).toThrow(`--non-finite: there is no output "${name}".`);
	});
});

describe("noticedText", () => {
	const record = { relative: 0.01, seed: 1, tensors: 3, tested: 3, noticed: 3, belowNoise: 0 };
	it.each([
		[record, "  Of 3 weight tensors changed by 1 %, it notices 3.\n"],
		[{ ...record, tested: 1, noticed: 1 }, "  Of 1 weight tensor changed by 1 %, it notices 1.\n"],
		[
			{ ...record, noticed: 2, belowNoise: 1, unseen: ["b"] },
			/it notices 2\.\n {2}One moves no output beyond the noise: "b"\. No case depends on it\.\n$/,
		],
		[
			{ ...record, noticed: 0, belowNoise: 7, unseen: ["a", "b", "c", "d", "e", "f"] },
			/7 move no output .*: "a", "b", "c", "d", "e", …\. No case depends on them/,
		],
	])("names weights that no case depends on: %j", (mutation, says) => {
		if (typeof says === "string") expect(noticedText(mutation)).toBe(says);
		else expect(noticedText(mutation)).toMatch(says);
	});
});
