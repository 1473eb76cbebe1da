import { readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it, test } from "vitest";
import type { GoldenManifest, TensorFile } from "../../generated/golden.ts";
import { validate as validateGolden } from "../../generated/golden-validator.js";
import { loadConfig } from "../../src/core/config/parse.ts";
import { floatWeights, scaled, type Weight } from "./onnx-weights.ts";
import {
	type ArmName,
	errorsOf,
	type ModelName,
	models,
	quickstart,
	readBytes,
	readManifest,
	readValues,
	relativeL2,
	relativeL2Limit,
	sha256,
} from "./quickstart-runner.ts";

function modelBytes(arm: ArmName, model: ModelName): Uint8Array {
	return readBytes(`${arm}/models/${model}.onnx`);
}

function goldenOf(model: ModelName, output: string): (Float32Array | Int32Array)[] {
	return readManifest(model).cases.map(({ outputs }) => readValues(model, outputs[output]!));
}

function tensorFiles({ cases }: GoldenManifest): TensorFile[] {
	return cases.flatMap((golden) => [...Object.values(golden.inputs), ...Object.values(golden.outputs)]);
}

function argmaxOfRows(values: ArrayLike<number>, width: number): number[] {
	const rows = Array.from({ length: values.length / width }, (_, row) =>
		Array.from(values).slice(row * width, (row + 1) * width),
	);
	return rows.map((row) => row.indexOf(Math.max(...row)));
}

function filesBelow(folder: string): string[] {
	const all = readdirSync(new URL(folder, quickstart), { recursive: true, withFileTypes: true });
	return all.filter((entry) => entry.isFile()).map((entry) => `${entry.parentPath}/${entry.name}`);
}

it("the quickstart has a config without a fault, the same on both sides", () => {
	const text = new TextDecoder().decode(readBytes("base/trtgate.yml"));
	const loaded = loadConfig(text, { path: "trtgate.yml" });
	if (loaded.state === "invalid") throw loaded.errors[0];
	expect(new TextDecoder().decode(readBytes("head/trtgate.yml"))).toBe(text);
	expect(loaded.config.models.map(({ name }) => name)).toEqual([...models]);
	expect(
		loaded.config.models.flatMap(({ engines }) => engines.map(({ onnx, golden }) => [onnx, golden])),
	).toEqual(models.map((model) => [`models/${model}.onnx`, `golden/${model}/golden.json`]));
});

test.each(models)(
	"the quickstart has a manifest of %s that the schema takes, with true hashes, the same on both sides",
	(model) => {
		const manifest = readManifest(model);
		expect(validateGolden(manifest), JSON.stringify(validateGolden.errors)).toBe(true);
		expect(manifest.model.sha256).toBe(sha256(modelBytes("base", model)));
		expect(readBytes(`head/golden/${model}/golden.json`)).toEqual(
			readBytes(`base/golden/${model}/golden.json`),
		);
		for (const file of tensorFiles(manifest)) {
			expect(sha256(readBytes(`base/golden/${model}/${file.path}`)), file.path).toBe(file.sha256);
			expect(sha256(readBytes(`head/golden/${model}/${file.path}`)), file.path).toBe(file.sha256);
		}
	},
);

it("the quickstart has nothing in the golden folders that no manifest names", () => {
	const named = models.flatMap((model) => tensorFiles(readManifest(model))).length + models.length;
	for (const arm of ["base", "head"]) expect(filesBelow(`${arm}/golden`)).toHaveLength(named);
});

it("the quickstart stays below 1.6 MB", () => {
	const bytes = ["base", "head"].flatMap(filesBelow).map((path) => statSync(path).size);
	expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(1_600_000);
	expect(fileURLToPath(quickstart)).toMatch(/quickstart\/$/);
});

test.each(models)("no output of %s is constant, and no two cases agree", (model) => {
	for (const output of Object.keys(readManifest(model).outputs)) {
		const cases = goldenOf(model, output);
		let compared = 0;
		for (const [index, values] of cases.entries()) {
			expect(new Set(values).size, `${model} ${output}`).toBeGreaterThan(3);
			const others = cases.slice(index + 1).filter((other) => other.length === values.length);
			compared += others.length;
			for (const other of others)
				expect(relativeL2(other, values), `${model} ${output}`).toBeGreaterThan(
					output === "boxes" ? 0.005 : 0.1,
				);
		}
		expect(compared, `${model} ${output}`).toBeGreaterThan(0);
	}
});

it("the quickstart has all eight classes of the classifier", () => {
	const best = goldenOf("classifier", "logits").flatMap((values) => argmaxOfRows(values, 8));
	expect([...new Set(best)].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

it("the quickstart shows as many blobs as each case of the detector has", () => {
	const shown = goldenOf("detector", "scores").map((scores) => scores.filter((score) => score > 0.5).length);
	const drawn = readManifest("detector").cases.map(({ id }) => Number.parseInt(id, 10));
	expect(shown).toEqual(drawn);
});

it("the quickstart has all four labels in each mask of the segmenter", () => {
	for (const mask of goldenOf("segmenter", "mask")) expect([...new Set(mask)].sort()).toEqual([0, 1, 2, 3]);
});

function overLimit(model: ModelName, errors: Record<string, number>): number {
	return Math.max(
		...Object.entries(errors).map(
			([output, error]) => error / (relativeL2Limit(model, output) ?? Number.POSITIVE_INFINITY),
		),
	);
}

test.each(models)(
	"on ONNX Runtime's WebAssembly build, the base's %s gives its goldens again",
	async (model) => {
		const errors = await errorsOf(model, modelBytes("base", model));
		for (const error of Object.values(errors)) expect(error).toBeLessThan(1e-5);
		expect(overLimit(model, errors)).toBeLessThan(0.3);
	},
);

test.each(["classifier", "detector", "superres"] as const)(
	"on ONNX Runtime's WebAssembly build, the head's %s matches them",
	async (model) => {
		expect(overLimit(model, await errorsOf(model, modelBytes("head", model)))).toBeLessThan(0.3);
	},
);

it("on ONNX Runtime's WebAssembly build, the head's segmenter is wrong in logits and mask by far", async () => {
	const errors = await errorsOf("segmenter", modelBytes("head", "segmenter"));
	expect(errors["logits"]).toBeGreaterThan(3 * (relativeL2Limit("segmenter", "logits") ?? Number.NaN));
	// Relative L2 of labels: 0 where each pixel has its label.
	expect(errors["mask"]).toBeGreaterThan(0);
});

it("the change left the superres alone", () => {
	expect(sha256(modelBytes("head", "superres"))).toBe(sha256(modelBytes("base", "superres")));
});

it("the change wrote other bytes of the classifier and detector with the same weights", () => {
	for (const model of ["classifier", "detector"] as const) {
		const [base, head] = [modelBytes("base", model), modelBytes("head", model)];
		const values = (bytes: Uint8Array): string[] =>
			floatWeights(bytes).map(({ offset, values: count }) =>
				sha256(bytes.subarray(offset, offset + 4 * count)),
			);
		expect(sha256(head)).not.toBe(sha256(base));
		expect(values(head)).toEqual(values(base));
	}
});

it("the change changed one weight tensor of the segmenter and nothing else", () => {
	const [base, head] = [modelBytes("base", "segmenter"), modelBytes("head", "segmenter")];
	const changed = Array.from(base).flatMap((byte, index) => (byte === head[index] ? [] : [index]));
	const [weight] = floatWeights(base).filter(({ name }) => name === "/smooth.weight");
	expect(head).toHaveLength(base.length);
	expect(changed[0]).toBeGreaterThanOrEqual(weight?.offset ?? Number.NaN);
	expect(changed.at(-1)).toBeLessThan((weight?.offset ?? Number.NaN) + 4 * (weight?.values ?? 0));
});

/** Constants that are no weights: scales of Resize, and a limit of 0 that no factor changes. */
const noWeights = ["/resize.scales", "/clip.low"];

function weightsOf(model: ModelName): Weight[] {
	return floatWeights(modelBytes("base", model)).filter(({ name }) => !noWeights.includes(name));
}

/** Three sixteenths of a tensor: at its start, in its middle, at its end. */
function sixteenths(weight: Weight): Weight[] {
	const values = Math.ceil(weight.values / 16);
	return [0, 0.5, 1].map((place) => ({
		...weight,
		values,
		offset: weight.offset + 4 * Math.floor((weight.values - values) * place),
	}));
}

test.each(models)(
	"the quickstart's goldens notice an error of 1 % in any weight tensor of the %s",
	async (model) => {
		const bytes = modelBytes("base", model);
		for (const weight of weightsOf(model)) {
			const errors = await errorsOf(model, scaled(bytes, weight, 1.01));
			expect(overLimit(model, errors), weight.name).toBeGreaterThan(2);
		}
	},
);

test.each(models)(
	"the quickstart's goldens notice an error of 1 % in most sixteenths of a weight tensor of the %s",
	async (model) => {
		const bytes = modelBytes("base", model);
		const ratios: number[] = [];
		for (const part of weightsOf(model).flatMap(sixteenths))
			ratios.push(overLimit(model, await errorsOf(model, scaled(bytes, part, 1.01))));
		expect(ratios.filter((ratio) => ratio > 1).length / ratios.length).toBeGreaterThan(0.9);
	},
);
