import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readModel } from "../../../src/adapters/files/model-reader.ts";
import type { RoundedPrecision } from "../../../src/core/onnx/rounding/rounding-nodes.ts";
import { float32 } from "../../support/golden-tensors.ts";
import { floats, model, tensor, value } from "../../support/onnx-writer.ts";
import { referenceJob, testReference } from "../../support/ort-jobs.ts";
import { temporaryFolder } from "../../support/project.ts";

interface Oracle {
	input: number[];
	shape: number[];
	/** Values by precision and output. */
	outputs: Record<string, Record<string, number[]>>;
}

const table: Record<string, Oracle> = JSON.parse(readFileSync("test/oracles/onnx-rounding.json", "utf8"));

type Values = Pick<Oracle, "input" | "shape">;

async function emulate(bytes: Uint8Array, precision: RoundedPrecision, { input, shape }: Values) {
	const folder = temporaryFolder();
	const path = join(folder, "model.onnx");
	writeFileSync(path, bytes);
	const job = referenceJob(folder, await readModel(path), [{ x: float32(input, shape) }]);
	const result = await testReference().emulate({ ...job, precision });
	if (result.state !== "done") return { ...result, outputs: {} as Record<string, number[]> };
	const [only] = result.cases;
	if (only?.state !== "done") throw new Error(only?.message);
	const outputs: Record<string, number[]> = {};
	for (const [name, { data }] of Object.entries(only.outputs))
		outputs[name] = [...new Float32Array(data.slice().buffer)];
	return { ...result, outputs };
}

function relativeL2(got: readonly number[] = [], expected: readonly number[]) {
	const errors = expected.map((value, index) => (got[index] ?? Number.NaN) - value);
	return Math.hypot(...errors) / Math.hypot(...expected);
}

const precisions = ["fp16", "bf16", "tf32"] as const;
const fixture = (name: string) => readFileSync(`test/fixtures/onnx/rounding-${name}.onnx`);

it.each(precisions)(
	"an emulated precision rounds sums of whole numbers at %s as numpy does, to the last bit",
	async (precision) => {
		const { outputs, ...inputs } = table["exact"]!;
		const result = await emulate(fixture("exact"), precision, inputs);
		expect(result).toMatchObject({ state: "done", outputs: outputs[precision], beyondRange: [] });
		expect(relativeL2(outputs[precision]!["y"], outputs["exact"]!["y"]!)).toBeGreaterThan(1e-4);
	},
);

it.each(precisions)(
	"an emulated precision rounds weights and results at %s, but not what engines fold",
	async (precision) => {
		const { outputs, ...inputs } = table["layers"]!;
		const result = await emulate(fixture("layers"), precision, inputs);
		for (const [name, expected] of Object.entries(outputs[precision]!)) {
			const rounding = relativeL2(expected, outputs["exact"]![name]!);
			expect(relativeL2(result.outputs[name], expected)).toBeLessThan(Math.max(2e-7, rounding / 100));
		}
		const beyondRange = precision === "fp16" ? ["limit", "mask", "masked"] : [];
		expect(result).toMatchObject({ beyondRange });
	},
);

it("an emulated precision keeps small values below a logarithm, which a correct engine computes in fp32", async () => {
	const nodes = "square = Mul(x, x); positive = Add(square, least); y = Log(positive)";
	const initializers = [tensor({ name: "least", dims: [1], raw: floats(1e-8) })];
	const bytes = model({ nodes, initializers, inputs: [value("x", [1, 2])], outputs: [value("y", [1, 2])] });
	const { outputs } = await emulate(bytes, "fp16", { input: [0, 1], shape: [1, 2] });
	expect(relativeL2(outputs["y"], [Math.log(1e-8), 0])).toBeLessThan(1e-3);
});

it.each([
	[
		"of integers",
		{ nodes: "i = Cast<to=6>(x); y = Abs(i)", outputs: [value("y", [1, 4], 6)] },
		"computes nothing in fp32",
	],
	["of an old opset", { opsets: { "": 8 } }, "operator set 8"],
])("an emulated precision leaves a model %s alone, and explains why", async (_, parts, why) => {
	const result = await emulate(model(parts), "fp16", { input: [1, 2, 3, 4], shape: [1, 4] });
	expect(result).toMatchObject({ state: "absent", sentence: expect.stringContaining(why) });
});
