// Goldens of another model are found out.
import { expect, it } from "vitest";
import type { GoldenManifest } from "../../../../generated/golden.ts";
import type { OnnxDim, OnnxModel, OnnxValue } from "../../../../src/core/onnx/model.ts";
import { validateAgainstModel } from "../../../../src/golden/core/manifest/validate-against-model.ts";
import { float32, manifestOf } from "../../../support/golden-tensors.ts";

function tensor(
	name: string,
	dims: readonly OnnxDim[] | null,
	dtype: OnnxValue["dtype"] = "float",
): OnnxValue {
	return { name, kind: "tensor", dtype, dims };
}

function modelOf(inputs: OnnxValue[], outputs: OnnxValue[]): OnnxModel {
	return { graph: { inputs, outputs, initializers: [] } } as unknown as OnnxModel;
}

function golden(): GoldenManifest {
	const manifest = manifestOf({ y: float32([1, 2], [1, 2]) });
	const x = { path: "x.npy", sha256: "0".repeat(64), dtype: "float32" as const, shape: [1, 3] };
	return { ...manifest, cases: [{ ...manifest.cases[0], inputs: { x } }] };
}

const x = tensor("x", ["batch", 3]);
const y = tensor("y", ["batch", 2]);

it.each([
	["the golden's own model", modelOf([x], [y])],
	[
		"a model that says nothing of shapes and types",
		modelOf([tensor("x", null, "undefined")], [tensor("y", null, "undefined")]),
	],
	["a model with one more output", modelOf([x], [y, tensor("z", [1])])],
	["a model whose stated output size is not the real one", modelOf([x], [tensor("y", [7, 7])])],
	["a model whose stated output rank is not the real one", modelOf([x], [tensor("y", [2])])],
])("validateAgainstModel takes %s", (_, model) => {
	expect(() => validateAgainstModel(golden(), model)).not.toThrow();
});

it.each([
	[
		"an input of another name",
		modelOf([tensor("image", [1, 3])], [y]),
		'has input "x"; the model\'s inputs are "image"',
	],
	[
		"an output of another name",
		modelOf([x], [tensor("probs", [1, 2])]),
		'has output "y"; the model\'s outputs are "probs"',
	],
	["one more input", modelOf([x, tensor("mask", [1])], [y]), 'needs input "mask"'],
	[
		"another dtype",
		modelOf([x], [tensor("y", ["batch", 2], "float16")]),
		"is float32; the model's is float16",
	],
	[
		"a dtype that no tensor of ours has",
		modelOf([tensor("x", [1, 3], "string")], [y]),
		"the model's is string",
	],
	["another rank of an input", modelOf([tensor("x", [3])], [y]), "has shape [1, 3]; the model's is [3]"],
	[
		"another fixed size of an input",
		modelOf([tensor("x", ["batch", 4])], [y]),
		"has shape [1, 3]; the model's is [batch, 4]",
	],
	["a sequence", modelOf([x], [{ ...y, kind: "sequence" }]), "is a sequence"],
])("validateAgainstModel refuses a model with %s", (_, model, words) => {
	expect(() => validateAgainstModel(golden(), model)).toThrow(words);
	expect(() => validateAgainstModel(golden(), model)).toThrow(
		expect.objectContaining({ code: "golden-other-model", fix: expect.any(String) }),
	);
});
