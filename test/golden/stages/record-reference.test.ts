// How many of the answered cases a golden keeps.
import { expect, it } from "vitest";
import { withoutLarge } from "../../../src/golden/stages/record-reference.ts";
import { zeros } from "../../support/golden-tensors.ts";

/** Six cases whose outputs take this many MiB each. */
function answered(mebibytes: number) {
	const cases = Array.from({ length: 6 }, (_, index) => ({
		id: `${index + 1}`,
		inputs: {},
		outputs: { y: zeros("uint8", [mebibytes, 1024, 1024]) },
	}));
	const outputs = cases.map((one) => one.outputs);
	return {
		variant: { flavour: "wasm", level: "basic", threads: 1 },
		version: "1",
		cases,
		outputs,
		wallMs: 60,
		notes: [],
	} as const;
}

it.each<[number, boolean, number, string[]]>([
	[1, true, 6, []],
	[
		16,
		true,
		4,
		["Only 4 of 6 generated cases were kept, because their outputs are large; --cases 6 keeps all."],
	],
	[40, true, 2, [expect.stringContaining("Only 2 of 6")]],
	[40, false, 6, []],
])("withoutLarge of six cases with %i MiB each, dropping %s, keeps %i", (mebibytes, mayDrop, kept, notes) => {
	const answers = answered(mebibytes);
	const {
		cases,
		outputs,
		notes: said,
	} = withoutLarge({ ...answers, cases: [...answers.cases], notes: [] }, mayDrop);
	expect([cases.length, outputs.length, said]).toEqual([kept, kept, notes]);
});
