import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { GoldenManifest, TensorFile } from "../../generated/golden.ts";
import { decodeNpy, encodeNpy } from "../../src/formats/tensor/npy.ts";
import { parseManifest } from "../../src/golden/core/manifest/parse-manifest.ts";
import type { Tensor } from "../../src/golden/core/tensor/tensor.ts";
import { changeHead } from "../support/detector-heads.ts";
import { float32 } from "../support/golden-tensors.ts";
import { attribute, floats, model, node, tensor, value } from "../support/onnx-writer.ts";
import { type CliRun, expectExit, runCli, temporaryFolder, writeProject } from "../support/project.ts";

function golden(argv: readonly string[], cwd: string): Promise<CliRun> {
	return runCli(["golden", ...argv], { cwd });
}

function read(cwd: string): GoldenManifest {
	const path = join(cwd, "golden/golden.json");
	return parseManifest(readFileSync(path, "utf8"), path);
}

const classes = 6;
const anchors = 200;

function weights(rows: number, scale: number): Uint8Array {
	return floats(...Array.from({ length: rows * 8 }, (_, at) => scale * Math.sin(1 + 2.3 * at)));
}

/** head [batch, 4 + classes, anchors] = boxes of hundreds beside sigmoid(scores − shift). */
function headModel(shift: number): Uint8Array {
	return model({
		nodes: [
			node({ op: "MatMul", inputs: ["boxWeights", "x"], outputs: ["boxes"] }),
			node({ op: "MatMul", inputs: ["scoreWeights", "x"], outputs: ["raw"] }),
			node({ op: "Sub", inputs: ["raw", "shift"], outputs: ["logits"] }),
			node({ op: "Sigmoid", inputs: ["logits"], outputs: ["scores"] }),
			node({
				op: "Concat",
				inputs: ["boxes", "scores"],
				outputs: ["head"],
				attributes: [attribute.integer("axis", 1)],
			}),
		],
		initializers: [
			tensor({ name: "boxWeights", dims: [4, 8], raw: weights(4, 150) }),
			tensor({ name: "scoreWeights", dims: [classes, 8], raw: weights(classes, 2) }),
			tensor({ name: "shift", dims: [1], raw: floats(shift) }),
		],
		inputs: [value("x", ["batch", 8, anchors])],
		outputs: [value("head", ["batch", 4 + classes, anchors])],
	});
}

function input(seed: number, scale = 1): Tensor {
	return float32(
		Array.from(
			{ length: 8 * anchors },
			(_, at) => scale * Math.sin(seed + 12.9898 * at) * Math.cos(seed * at),
		),
		[1, 8, anchors],
	);
}

function record(cwd: string, model: string): Promise<CliRun> {
	const argv = ["record", model, "--inputs", "inputs", "--out", "golden", "--time-limit", "10m", "--quiet"];
	return golden(argv, cwd);
}

let cwd: string;
let run: CliRun;
beforeAll(async () => {
	cwd = temporaryFolder(afterAll);
	const inputs = Object.fromEntries(
		[1, 2, 3].map((seed) => [`inputs/case-${seed}/x.npy`, encodeNpy(input(seed, 1.5))]),
	);
	writeProject(cwd, { "head.onnx": headModel(9), ...inputs });
	run = await record(cwd, "head.onnx");
});

it("a golden of boxes beside scores has a limit and a noise floor for each part, and explains why", async () => {
	expectExit(run, 0);
	expect(run.stdout).toMatch(/head: Compared part by part.*channels 0…3 about .*, channels 4…9 about/);
	const { outputs, noiseFloor } = read(cwd);
	const slices = [
		{ axis: 1, from: 0, to: 4 },
		{ axis: 1, from: 4, to: 10 },
	];
	const comparators = slices.map((slice) => ({ kind: "relative-l2", slice }));
	expect(outputs["head"]?.comparators).toMatchObject(comparators);
	expect(noiseFloor?.outputs["head"]?.parts).toMatchObject(slices.map((slice) => ({ slice })));
	const inspect = await golden(["inspect", "golden/golden.json"], cwd);
	expect(inspect).toMatchObject({
		exit: 0,
		stdout: expect.stringMatching(/relative-l2 of channels 0…3: relative L2: fp32 ≤/),
	});
});

type Change = (channel: number, value: (channel: number) => number) => number;

it.each<[string, Change, number, RegExp]>([
	[
		"permuted",
		(channel, value) => value(channel < 4 ? channel : 4 + ((channel - 3) % classes)),
		1,
		/✗ head: relative-l2 of channels 4…9/,
	],
	[
		"weak",
		(channel, value) => value(channel) * (channel < 4 ? 1 : 0.1),
		1,
		/✗ head: relative-l2 of channels 4…9/,
	],
	[
		"shifted",
		(channel, value) => value(channel) + (channel < 4 ? 20 : 0),
		1,
		/✗ head: relative-l2 of channels 0…3/,
	],
	[
		"rounded",
		(channel, value) => value(channel) * (1 + 1e-4 * Math.sin(channel)),
		0,
		/✓ head: relative-l2 of channels 4…9 \S+ \(≤/,
	],
])("golden check at fp16 judges a head that is %s by its parts", async (name, change, exit, words) => {
	for (const { id, outputs } of read(cwd).cases) {
		const file = outputs["head"] as TensorFile;
		const stored = decodeNpy(new Uint8Array(readFileSync(join(cwd, "golden", file.path))), file);
		const changed = changeHead(stored, { channels: "first" }, (channel, _, at) => change(channel, at));
		writeProject(cwd, { [`${name}/${id}/head.npy`]: encodeNpy(changed) });
	}
	const argv = ["check", "golden/golden.json", "--outputs", name, "--precision", "fp16"];
	expect(await golden(argv, cwd)).toMatchObject({ exit, stdout: expect.stringMatching(words) });
});

/** map [batch, 1, anchors] = sigmoid(weights · x − 15): of an input near zero nothing but 3e-7. */
function mapModel(): Uint8Array {
	return model({
		nodes: [
			node({ op: "MatMul", inputs: ["weights", "x"], outputs: ["raw"] }),
			node({ op: "Sub", inputs: ["raw", "shift"], outputs: ["logits"] }),
			node({ op: "Sigmoid", inputs: ["logits"], outputs: ["map"] }),
		],
		initializers: [
			tensor({ name: "weights", dims: [1, 8], raw: weights(1, 12) }),
			tensor({ name: "shift", dims: [1], raw: floats(15) }),
		],
		inputs: [value("x", ["batch", 8, anchors])],
		outputs: [value("map", ["batch", 1, anchors])],
	});
}

it("cases that are noise are left out with the reason, and set no limit", async () => {
	const folder = writeProject(temporaryFolder(), {
		"map.onnx": mapModel(),
		"inputs/blank/x.npy": encodeNpy(input(1, 1e-3)),
		"inputs/dark/x.npy": encodeNpy(input(4, 1e-3)),
		"inputs/first/x.npy": encodeNpy(input(2, 3)),
		"inputs/second/x.npy": encodeNpy(input(3, 3)),
	});
	const recorded = await record(folder, "map.onnx");
	expectExit(recorded, 0);
	expect(recorded.stderr).toMatch(
		/Case "blank" was left out, because it is noise: the largest value of output "map" is [\d.e-]+, where other cases reach 1\. 1 other case too\./,
	);
	const { cases, noiseFloor } = read(folder);
	expect(cases.map(({ id }) => id)).toEqual(["first", "second"]);
	expect(noiseFloor?.outputs["map"]?.relativeL2).toBeLessThan(1e-5);
});
