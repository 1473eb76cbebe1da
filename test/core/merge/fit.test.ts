// A merged result is never larger than what is read again, and what does not fit is named.
import { expect, it } from "vitest";
import type { Result } from "../../../generated/result.ts";
import { inputKinds } from "../../../src/core/input-kind.ts";
import { mergeResults } from "../../../src/core/merge/merge.ts";
import type { PartInput } from "../../../src/core/merge/parts.ts";
import { buildGate, buildResult } from "../../support/build-result.ts";

const how = { version: "0.1.0", files: [] };
const { maxBytes } = inputKinds.result;

function part(name: string, overrides: Partial<Result>): PartInput {
	return {
		name,
		content: { state: "read", result: buildResult({ environment: { gpu: name }, ...overrides }) },
	};
}

function merged(parts: readonly PartInput[]): { result: Result; bytes: number } {
	const result = mergeResults(parts, how);
	return { result, bytes: Buffer.byteLength(JSON.stringify(result, null, "\t")) };
}

it("a merged result keeps the smallest parts if all together are too large to be read again, and names the others", () => {
	const note = (text: string): Partial<Result> => ({ notes: [text.repeat(maxBytes / 3)] });
	const { result, bytes } = merged([
		part("b", note("b")),
		part("a", { notes: ["small"] }),
		part("d", note("d")),
		part("c", note("c")),
	]);
	expect(bytes).toBeLessThanOrEqual(maxBytes);
	expect(result.parts?.map(({ name, state }) => `${name} ${state}`)).toEqual([
		"a merged",
		"b merged",
		"c merged",
		"d refused",
	]);
	expect(result).toMatchObject({
		outcome: "error",
		failureKind: "configuration",
		errors: [
			{
				part: "d",
				code: "part-refused",
				message: "The merged result of all 4 parts would be larger than 64.0 MiB, so this one is left out.",
				fix: expect.stringContaining("Merge fewer parts at a time"),
			},
		],
	});
});

it.each([
	[
		"names of parts that every record repeats",
		(name: string) => part(name.repeat(300), { gates: new Array(60_000).fill(buildGate()) }),
	],
	["letters of three bytes", (name: string) => part(name, { notes: [name + "あ".repeat(12_000_000)] })],
])("a merged result bounds %s", (_, make) => {
	const { result, bytes } = merged(["a", "b", "c"].map(make));
	expect(bytes).toBeLessThanOrEqual(maxBytes);
	expect(result.outcome).toBe("error");
});

it("a merged result of the largest part that is read stays whole", () => {
	const { result } = merged([part("a", { notes: ["x".repeat(maxBytes - 100_000)] })]);
	expect(result.parts).toMatchObject([{ state: "merged" }]);
});
