// Changes of a model's interface are those that a caller would notice.
import { expect, it } from "vitest";
import { interfaceRows } from "../../../src/core/onnx/describe.ts";
import type { OnnxDim, OnnxDType, OnnxModel, OnnxValue } from "../../../src/core/onnx/model.ts";

type Sides = { inputs: OnnxValue[]; outputs: OnnxValue[] };

function value(name: string, dims: readonly OnnxDim[] | null, dtype: OnnxDType = "float"): OnnxValue {
	return { name, kind: "tensor", dtype, dims };
}

const modelOf = (sides: Sides): OnnxModel =>
	({ graph: { ...sides, initializers: [] } }) as unknown as OnnxModel;
const x = value("x", ["batch", 8]);
const y = value("y", ["batch", 4]);
const base: Sides = { inputs: [x], outputs: [y] };

it.each<[string, Partial<Sides>, string[]]>([
	["nothing", {}, []],
	["the name of a symbolic dimension", { inputs: [value("x", ["N", 8])] }, []],
	["an output whose size the file no longer tells", { outputs: [value("y", null)] }, []],
	["an output of fixed size where none was told", { outputs: [value("y", [1, 4])] }, []],
	["an input of any size where it was fixed", { inputs: [value("x", ["batch", null])] }, []],
	[
		"an input of fixed size",
		{ inputs: [value("x", [1, 8])] },
		["input x float32 [batch, 8] → x float32 [1, 8]"],
	],
	[
		"an input of another rank",
		{ inputs: [value("x", ["batch", 2, 4])] },
		["input x float32 [batch, 8] → x float32 [batch, 2, 4]"],
	],
	[
		"another type",
		{ inputs: [value("x", ["batch", 8], "float16")] },
		["input x float32 [batch, 8] → x float16 [batch, 8]"],
	],
	[
		"a renamed output",
		{ outputs: [value("z", ["batch", 4])] },
		["output y float32 [batch, 4] → z float32 [batch, 4]"],
	],
	["another output", { outputs: [y, value("z", [2])] }, ["output – → z float32 [2]"]],
	["an output that is gone", { outputs: [] }, ["output y float32 [batch, 4] → –"]],
	[
		"an output in place of one of another shape",
		{ outputs: [value("z", [7, 7, 7])] },
		["output y float32 [batch, 4] → –", "output – → z float32 [7, 7, 7]"],
	],
])("reports of %s: %j", (_, head, rows) => {
	const text = (side: { name: string; dtype: string; shape: string } | null) =>
		side === null ? "–" : `${side.name} ${side.dtype} ${side.shape}`;
	const found = interfaceRows(modelOf(base), modelOf({ ...base, ...head }));
	expect(found.map((row) => `${row.side} ${text(row.base)} → ${text(row.head)}`)).toEqual(rows);
});
