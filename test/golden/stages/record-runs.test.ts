import { expect, it } from "vitest";
import { withoutLarge } from "../../../src/golden/stages/record-runs.ts";
import { zeros } from "../../support/golden-tensors.ts";

it.each<[number, number, string[]]>([
	[1, 6, []],
	[16, 4, ["Only 4 of 6 generated cases were kept, because their outputs are large; --cases 6 keeps all."]],
	[40, 2, [expect.stringContaining("Only 2 of 6")]],
])("withoutLarge of six cases with %i MiB each keeps %i", (mebibytes, kept, expected) => {
	const outputs = { y: zeros("uint8", [mebibytes, 1024, 1024]) };
	const cases = Array.from({ length: 6 }, (_, index) => ({ id: `${index + 1}`, inputs: {}, outputs }));
	const variant = { flavour: "wasm", level: "basic", threads: 1 } as const;
	const answers = { variant, version: "1", cases, outputs: cases.map((one) => one.outputs) };
	const notes: string[] = [];
	const left = withoutLarge(answers, notes);
	expect([left.cases.length, left.outputs.length, notes]).toEqual([kept, kept, expected]);
});
