// Preflight's description of a model, as JSON and as text, and the documentation of its codes.
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, it } from "vitest";
import { fileModelReader } from "../../../src/adapters/files/model-reader.ts";
import { figuresOf } from "../../../src/core/onnx/cost/compare.ts";
import { costsOf } from "../../../src/core/onnx/cost/cost.ts";
import { describeModel, renderPreflight } from "../../../src/core/onnx/describe.ts";
import { findingKinds } from "../../../src/core/onnx/findings/subject.ts";
import { preflight } from "../../../src/core/onnx/preflight.ts";

const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(
	JSON.parse(readFileSync("golden-schema/preflight.schema.json", "utf8")),
);
const files = [
	"models/classifier",
	"models/quantised",
	"models/bad-missing-weights",
	"models/bad-custom-op",
	"models/conditional",
	"onnx/structures",
	"onnx/number-types",
];

it.each(files)("the JSON of preflight matches its schema: %s", async (file) => {
	const model = await fileModelReader().read(`test/fixtures/${file}.onnx`);
	for (const backend of ["onnxruntime", "tensorrt"] as const) {
		const cost = figuresOf(costsOf(model.onnx)({ shapes: {} }));
		const output = JSON.parse(
			JSON.stringify({ model: describeModel(model), cost, findings: preflight(model, { backend }) }),
		);
		expect(validate(output), JSON.stringify(validate.errors)).toBe(true);
	}
});

it("describeModel counts nodes, subgraphs, operators and weights", async () => {
	const summary = describeModel(await fileModelReader().read("test/fixtures/onnx/structures.onnx"));
	expect(summary).toMatchObject({
		irVersion: 8,
		producer: "fixture",
		producerVersion: "1",
		opsets: [
			{ domain: "ai.onnx", version: 17 },
			{ domain: "com.acme", version: 1 },
			{ domain: "__proto__", version: 3 },
		],
		nodes: 10,
		subgraphs: 4,
		functions: 1,
		quantisation: { quantizeLinear: 0, dequantizeLinear: 0 },
	});
	expect(summary.operators[0]).toEqual({ domain: "ai.onnx", operator: "Constant", count: 3 });
	expect(summary.inputs[1]).toEqual({ name: "x", kind: "tensor", dtype: "float", dims: ["batch", 4, null] });
	expect(summary.weights[0]).toMatchObject({ dtype: "float", tensors: 3 });
});

it("the terminal text shows the model, then each finding with its fix, then the count", async () => {
	const model = await fileModelReader().read("test/fixtures/models/bad-missing-weights.onnx");
	expect(
		renderPreflight(describeModel(model), preflight(model, { backend: "tensorrt" })),
	).toMatchInlineSnapshot(`
			"model      test/fixtures/models/bad-missing-weights.onnx (165 B)
			made by    make-models
			opset      ai.onnx 17, IR 8
			input      x: float [2, 64]
			output     y: float [2, 64]
			nodes      1
			operators  MatMul 1
			weights    1 × float (16.0 KiB)
			checked    shapes of 1 and types of 1 of 1 tensors inside
			data       lost.bin (16.0 KiB): missing

			✗ error external-data-missing
			  External data "lost.bin" is missing (the model needs 16.0 KiB of it).
			  → Put the file into the model's folder: it belongs to the model and must be checked in, cached or uploaded with it.
			1 error, 0 warnings, 0 notes.
			"
		`);
});

it("every code has a heading in the documentation, and every heading a code", () => {
	const headings = [
		...readFileSync("docs/troubleshooting/preflight.md", "utf8").matchAll(/^### `([^`]+)`$/gm),
	].map((match) => match[1]);
	expect(headings.sort()).toEqual(Object.keys(findingKinds).sort());
});

it("the schema of preflight's JSON refuses an incomplete description", () => {
	expect(validate({ model: {}, findings: [] })).toBe(false);
});

it("the terminal text is coloured only on request, and its names carry no control characters", async () => {
	const model = await fileModelReader().read("test/fixtures/models/bad-missing-tensor.onnx");
	const hostile = { ...model, onnx: { ...model.onnx, producer: "\u001b]0;title\u0007" } };
	const findings = preflight(hostile, { backend: "tensorrt" });
	expect(renderPreflight(describeModel(hostile), findings)).not.toContain("\u001b");
	const coloured = renderPreflight(describeModel(hostile), findings, { color: true });
	expect(coloured).toContain("\u001b[31m✗ error\u001b[0m");
	expect(coloured).not.toContain("\u001b]0;");
});
