// A merged result is never larger than what is read again, and what does not fit is named.
import { expect, it } from "vitest";
import type { Result } from "../../../generated/result.ts";
import { inputKinds } from "../../../src/core/input-kind.ts";
import { mergeResults } from "../../../src/core/merge/merge.ts";
import type { PartInput } from "../../../src/core/merge/parts.ts";
import { buildGate, buildResult } from "../../support/build-result.ts";

const { maxBytes } = inputKinds.result;

function part(name: string, overrides: Partial<Result>): PartInput {
	const result = buildResult({ environment: { gpu: name }, ...overrides });
	return { name, content: { state: "read", result } };
}

function merged(parts: readonly PartInput[]): Result {
	const result = mergeResults(parts, { version: "0.1.0", files: [] });
	expect(Buffer.byteLength(JSON.stringify(result, null, "\t"))).toBeLessThanOrEqual(maxBytes);
	return result;
}

it("a merged result keeps the smallest parts if all together are too large to be read again, and names the others", () => {
	const note = (text: string) => part(text, { notes: [text.repeat(maxBytes / 3)] });
	const result = merged([note("b"), part("a", { notes: ["small"] }), note("d"), note("c")]);
	const states = result.parts?.map(({ name, state }) => `${name} ${state}`);
	expect(states).toEqual(["a merged", "b merged", "c merged", "d refused"]);
	expect(result).toMatchObject({ outcome: "error", failureKind: "configuration" });
	expect(result.errors).toMatchObject([
		{
			...{ part: "d", code: "part-refused", fix: expect.stringContaining("Merge fewer parts at a time") },
			message: "The merged result of all 4 parts would be larger than 64.0 MiB, so this one is left out.",
		},
	]);
});

const letters = (name: string) => part(name, { notes: [name + "あ".repeat(12_000_000)] });

it.each([
	[
		"names of parts that every record repeats",
		(name: string) => part(name.repeat(6000), { gates: new Array(4000).fill(buildGate()) }),
	],
	["letters of three bytes", letters],
])("a merged result bounds %s", (_, make) => {
	expect(merged(["a", "b", "c"].map(make)).outcome).toBe("error");
});

it("a merged result of the largest part that is read stays whole", () => {
	const { parts } = merged([part("a", { notes: ["x".repeat(maxBytes - 100_000)] })]);
	expect(parts).toMatchObject([{ state: "merged" }]);
});
