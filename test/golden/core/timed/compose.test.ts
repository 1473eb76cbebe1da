import { describe, expect, it } from "vitest";
import type { GoldenCase, GoldenManifest, TensorFile } from "../../../../generated/golden.ts";
import { engineSpecs } from "../../../../src/core/plan/plan.ts";
import {
	composeBatches,
	describeUnchecked,
	fillBatch,
	inputAxes,
	sizesOf,
} from "../../../../src/golden/core/timed/compose.ts";
import { buildConfig } from "../../../support/build-config.ts";
import { emptyModel } from "../../../support/fakes.ts";
import { float32, int64, manifestOf } from "../../../support/golden-tensors.ts";

type Dims = readonly (string | number)[];

interface Asked {
	/** Shapes of `x` by case. */
	cases: readonly (readonly number[])[];
	x?: Dims;
	y?: Dims;
	engine?: string;
	workloads?: string;
	change?: (golden: GoldenCase, index: number) => GoldenCase;
}

const rows = "dims: { batch: { min: 1, opt: 4, max: 16 } }";
const value = (name: string, dims: Dims) => ({ name, kind: "tensor", dtype: "float32", dims });
const file = (shape: readonly number[], sha256 = "a"): TensorFile => ({
	...{ path: "t", sha256: sha256.repeat(64), dtype: "float32", shape: [...shape] },
});

function compose({ cases, x = ["batch", 3], y = ["batch", 2], engine = rows, ...more }: Asked) {
	const { workloads = "[{ batch: 8 }]", change = (golden) => golden } = more;
	const config = buildConfig("", `{ precision: fp32, ${engine}, workloads: ${workloads} }`);
	const [spec] = engineSpecs(config);
	const graph = { ...emptyModel.graph, inputs: [value("x", x)], outputs: [value("y", y)] };
	const onnx = { ...emptyModel, graph } as unknown as typeof emptyModel;
	const [first, ...others] = cases.map((shape, index) =>
		change(
			{ id: `case-${index}`, inputs: { x: file(shape) }, outputs: { y: file([shape[0] ?? 1, 2]) } },
			index,
		),
	);
	const manifest: GoldenManifest = { ...manifestOf({}), cases: [first!, ...others] };
	const composed = composeBatches({ spec: spec!, onnx }, manifest);
	const inputs = inputAxes(onnx, spec!.model.inputs);
	const stored = manifest.cases.map((golden) => sizesOf(inputs, golden.inputs));
	const unchecked = describeUnchecked(spec!, [...stored, ...composed.map(({ sizes }) => sizes)]);
	return { composed, unchecked };
}

const times = (count: number, shape: readonly number[]) => Array.from({ length: count }, () => shape);
const huge = 3 * 2 ** 20;
const lengths = "dims: { batch: { min: 1, opt: 1, max: 16 }, seq: { min: 4, opt: 8, max: 16 } }";
const apart = "profiles: [{ batch: 1, seq: { min: 4, opt: 8, max: 16 } }, { batch: 8, seq: 16 }]";

describe("a batch composed of golden cases", () => {
	it.each<[string, Asked, string[]]>([
		["repeats few cases", { cases: times(4, [1, 3]) }, ["rows of case-0…case-3 × 2 at batch 8"]],
		["takes no more cases than it needs", { cases: times(9, [1, 3]) }, ["rows of case-0…case-7 at batch 8"]],
		["cuts the last case", { cases: times(3, [3, 3]) }, ["rows of case-0…case-2 at batch 8"]],
		["repeats a single case", { cases: [[1, 3]] }, ["rows of case-0 × 8 at batch 8"]],
		[
			"is not needed where a case has the size",
			{
				cases: [
					[1, 3],
					[8, 3],
				],
			},
			[],
		],
		["takes no rows of larger cases", { cases: [[16, 3]] }, []],
		[
			"is made once for each timed size",
			{ cases: [[1, 3]], workloads: "[{ batch: 2 }, { batch: 2, streams: 2 }, { batch: 3 }]" },
			["rows of case-0 × 2 at batch 2", "rows of case-0 × 3 at batch 3"],
		],
		[
			"prefers cases of the timed length",
			{
				...{
					cases: [
						[1, 8],
						[1, 16],
						[1, 16],
					],
					x: ["batch", "seq"],
					engine: lengths,
				},
				workloads: "[{ batch: 8, seq: 16 }]",
			},
			["rows of case-1…case-2 × 4 at batch 8"],
		],
		[
			"stays within a profile",
			{
				cases: [
					[1, 8],
					[1, 16],
				],
				x: ["batch", "seq"],
				engine: apart,
				workloads: "[{ batch: 8, seq: 16 }]",
			},
			["rows of case-1 × 8 at batch 8"],
		],
		[
			"needs an axis of rows in the inputs",
			{ cases: [[4, 3]], x: ["points", 3], engine: "dims: { points: 4 }", workloads: "[{}]" },
			[],
		],
		["needs an axis of rows in an output", { cases: [[1, 3]], y: [1, 2] }, []],
		[
			"leaves out an output whose size may depend on the values",
			{ cases: [[1, 3]], y: ["batch", "found"] },
			[],
		],
		[
			"takes it where two cases agree",
			{ cases: times(2, [1, 3]), y: ["batch", "half"] },
			["rows of case-0…case-1 × 4 at batch 8"],
		],
		[
			"does not join cases that differ beside their rows",
			{
				cases: times(3, [1, 3]),
				change: (golden, index) => (index === 1 ? { ...golden, outputs: { y: file([1, 9]) } } : golden),
			},
			["rows of case-0…case-2 × 4 at batch 8"],
		],
		["takes at most 64 MiB", { cases: [[1, huge]], x: ["batch", huge] }, []],
	])("%s", (_, asked, expected) => {
		expect(compose(asked).composed.map(({ golden }) => golden.id)).toEqual(expected);
	});

	it("holds the rows in turn, and what no row belongs to once", () => {
		const stored = [
			{ x: float32([0, 1, 2, 3], [2, 2]), scale: int64([7n]) },
			{ x: float32([4, 5, 6, 7], [2, 2]), scale: int64([7n]) },
		];
		expect(fillBatch(5, new Map([["x", 0]]), stored)).toEqual({
			x: float32([0, 1, 2, 3, 4, 5, 6, 7, 0, 1], [5, 2]),
			scale: int64([7n]),
		});
		const columns = stored.map(({ x }) => ({ x }));
		expect(fillBatch(3, new Map([["x", 1]]), columns)).toEqual({ x: float32([0, 1, 4, 2, 3, 6], [2, 3]) });
	});

	it("is judged row by row where each case is one row", () => {
		const specOf = (shape: readonly number[]) => {
			const { composed } = compose({ cases: times(2, shape) });
			return composed[0]!.outputs;
		};
		expect(specOf([1, 3])).toEqual({ y: { batchAxis: 0 } });
		expect(specOf([2, 3])).toEqual({ y: {} });
	});
});

it.each<[string, Asked, string | null]>([
	["nothing if cases fill the batch", { cases: [[1, 3]] }, null],
	[
		"a size that they cannot fill",
		{ cases: [[1, 3]], y: [1, 2], workloads: "[{ batch: 8 }, { batch: 1 }]" },
		"net/plain (timed or built at batch 8; checked at batch 1 only)",
	],
	[
		"a profile that none lies in",
		{ cases: [[1, 8]], x: ["batch", "seq"], y: [1, 2], engine: apart, workloads: "[{ batch: 1, seq: 8 }]" },
		"net/plain (timed or built at batch 8 × seq 16; checked at batch 1 × seq 8 only)",
	],
])("names among timed sizes %s", (_, asked, expected) => {
	expect(compose(asked).unchecked).toBe(expected);
});
