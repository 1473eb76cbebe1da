// A line of tokens fills the one long axis of an input; a batch that engines are built for is not part of it.
import { expect, it } from "vitest";
import { lineOf } from "../../../src/golden/app/input-files.ts";
import type { InputPort } from "../../../src/golden/app/inputs.ts";

it.each<[string, InputPort["axes"], InputPort["sizes"], number[]]>([
	["tokens of an open length", ["batch", "tokens"], [1, null], [1, 7]],
	["a row beside the batch of the config", ["batch", 7], [8, 7], [1, 7]],
	["a column", [7, 1], [7, 1], [7, 1]],
	["chunks of one row", ["time", 7], [null, 7], [1, 7]],
])("a line of tokens takes %s", (_, axes, sizes, shape) => {
	expect(lineOf({ name: "x", axes, sizes }, "a.txt").shapeOf(7)).toEqual(shape);
});

it("a line of tokens refuses two long axes that the model fixes", () => {
	expect(() => lineOf({ name: "x", axes: [8, 7], sizes: [8, 7] }, "a.txt")).toThrow(
		"it has to have one long axis",
	);
});
