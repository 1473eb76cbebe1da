// The inputs of a golden that is there, reused to record it again.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { GoldenManifest } from "../../../generated/golden.ts";
import { fileStore } from "../../../src/adapters/files/store.ts";
import { fileTensorReader } from "../../../src/adapters/files/tensor-reader.ts";
import {
	describeReuse,
	mustMatch,
	previousCases,
	withAccuracy,
} from "../../../src/app/golden/previous-cases.ts";
import type { OnnxDim, OnnxModel } from "../../../src/core/onnx/model.ts";
import { encodeNpy } from "../../../src/formats/tensor/npy.ts";
import { float32, manifestOf } from "../../support/golden-tensors.ts";
import { temporaryFolder } from "../../support/project.ts";

const ports = { files: fileStore(), tensors: fileTensorReader() };
const image = float32([1, 2, 3, 4], [2, 2]);

function modelOf(dims: readonly OnnxDim[], name = "image"): OnnxModel {
	const value = { kind: "tensor", name, dtype: "float", dims };
	return { graph: { inputs: [value], outputs: [], initializers: [], nodes: [] } } as unknown as OnnxModel;
}

function stored(change: Partial<GoldenManifest["cases"][number]> = {}): {
	old: GoldenManifest;
	folder: string;
} {
	const folder = temporaryFolder();
	const bytes = encodeNpy(image);
	writeFileSync(join(folder, "image.npy"), bytes);
	const sha256 = createHash("sha256").update(bytes).digest("hex");
	const manifest = manifestOf({ logits: float32([1, 2]) });
	const inputs = { image: { path: "image.npy", sha256, dtype: "float32", shape: [2, 2] } } as const;
	const [first] = manifest.cases;
	return {
		folder,
		old: {
			...manifest,
			goldenId: "net@3",
			cases: [{ ...first, inputs: { ...inputs, image: { ...inputs.image, shape: [2, 2] } }, ...change }],
		},
	};
}

it("keptCases gives each case with its inputs, tags and labels, and reports what it does", async () => {
	const { old, folder } = stored({ id: "night", tags: ["dark"], labels: { logits: [1] } });
	const found = await previousCases(
		{ old, folder, model: modelOf(["batch", 2]), given: { dims: { batch: 2 }, inputs: {} } },
		ports,
	);
	expect(found.cases).toEqual([{ id: "night", tags: ["dark"], labels: { logits: [1] }, inputs: { image } }]);
	expect(describeReuse(old)).toMatch(
		/^The 1 case of net@3 is recorded again with the stored inputs; --inputs, --generator or --cases/,
	);
});

it.each<[string, OnnxModel, Record<string, number>, RegExp]>([
	[
		"sizes that --dims asks for",
		modelOf(["batch", 2]),
		{ batch: 4 },
		/--dims asks for batch=4, and the stored input "image" of case "\w+" has 2/,
	],
	[
		"a model of another size",
		modelOf([2, 3]),
		{},
		/net@3 cannot be recorded again: input "image" .* has shape \[2, 2\]; the model's is/,
	],
	[
		"a model of another input",
		modelOf([2, 2], "picture"),
		{},
		/has input "image"; the model's inputs are "picture"/,
	],
])("keptCases refuses %s, and explains how to get other inputs", async (_, model, dims, says) => {
	const { old, folder } = stored();
	await expect(
		previousCases({ old, folder, model, given: { dims, inputs: {} } }, ports),
	).rejects.toMatchObject({
		code: "usage",
		message: expect.stringMatching(says),
		fix: expect.stringMatching(/--cases 8/),
	});
});

it("withAccuracy keeps accuracy among newly proposed limits where the cases keep their labels", () => {
	const { old } = stored({ labels: { logits: [1] } });
	const before = {
		...old,
		outputs: { logits: { comparators: [{ kind: "cosine" }, { kind: "accuracy", tolerance: 0.9 }] } },
	} as GoldenManifest;
	const proposed: GoldenManifest["outputs"] = {
		logits: { comparators: [{ kind: "kl" }] },
		other: { comparators: [{ kind: "kl" }] },
	};
	expect(withAccuracy(proposed, before)).toEqual({
		logits: { comparators: [{ kind: "kl" }, { kind: "accuracy", tolerance: 0.9 }] },
		other: { comparators: [{ kind: "kl" }] },
	});
});

it("mustMatch marks the outputs that were named, and keeps all else of them", () => {
	const outputs = { y: { comparators: [{ kind: "kl" as const }] as [{ kind: "kl" }] }, z: {} };
	expect(mustMatch(outputs, ["y"])).toEqual({
		y: { comparators: [{ kind: "kl" }], nonFinite: "must-match" },
		z: {},
	});
	expect(mustMatch(outputs, [])).toEqual(outputs);
});

it.each(["x", "__proto__"])("mustMatch refuses %s, which is no output", (name) => {
	expect(() => mustMatch({ y: {} }, [name])).toThrow(`--non-finite: there is no output "${name}".`);
});
