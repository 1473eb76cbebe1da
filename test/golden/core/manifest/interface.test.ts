import { expect, it } from "vitest";
import type { GoldenManifest } from "../../../../generated/golden.ts";
import { interfaceOf } from "../../../../src/golden/core/manifest/draft.ts";

type Shapes = Readonly<Record<string, readonly number[]>>;

function manifestOf(...cases: readonly Shapes[]): GoldenManifest {
	const file = (shape: readonly number[], dtype: string) => ({ path: "a", sha256: "", dtype, shape });
	return {
		cases: cases.map((inputs, index) => ({
			id: `case-${index}`,
			inputs: Object.fromEntries(Object.entries(inputs).map(([name, shape]) => [name, file(shape, "int64")])),
			outputs: { __proto__x: file([2, 3], "float32") },
		})),
	} as unknown as GoldenManifest;
}

it.each([
	["the size on which all cases agree", [{ x: [4, 64] }, { x: [4, 64] }], {}, [4, 64]],
	["no size where cases differ", [{ x: [1, 64] }, { x: [4, 64] }], {}, [null, 64]],
	["no axes where their number differs", [{ x: [1, 64] }, { x: [64] }], {}, null],
	["no axes of a scalar", [{ x: [] }], {}, []],
	["the config's shape", [{ x: [4, 64] }], { x: { shape: ["batch", 64] } }, ["batch", 64]],
])("the interface of a golden has %s", (_what, cases, configured, dims) => {
	const { inputs, outputs, nodes } = interfaceOf(manifestOf(...cases), configured).graph;
	expect(inputs).toEqual([{ name: "x", kind: "tensor", dtype: "int64", dims }]);
	expect(outputs).toEqual([{ name: "__proto__x", kind: "tensor", dtype: "float", dims: [2, 3] }]);
	expect(nodes).toEqual([]);
});
