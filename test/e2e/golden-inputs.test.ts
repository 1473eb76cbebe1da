// Sound, bytes, text and pictures as real inputs through the built bundle, and what is asked for where the model says nothing.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";
import type { GoldenManifest, TensorFile } from "../../src/core/schema/golden.ts";
import { attribute, type Bytes, type Dim, floats, int64s, model, node, tensor, value } from "../support/onnx-writer.ts";
import { runCli, temporaryFolder } from "../support/project.ts";

const dist = process.env["TRTGATE_DIST"];
const [float, int32, int64] = [1, 6, 7];
const oracle = JSON.parse(readFileSync("test/oracles/golden-inputs.json", "utf8"));

function cli(argv: readonly string[], cwd: string) {
	return runCli(["golden", ...argv], { cwd, ...(dist === undefined ? {} : { dist: resolve(dist) }) });
}

const record = (...more: readonly string[]) => ["record", "net.onnx", "--out", "golden", "--quiet", "--time-limit", "6s", ...more];

/** Weights without a pattern. */
function weight(name: string, ...dims: readonly number[]): Bytes {
	const count = dims.reduce((product, size) => product * size, 1);
	return tensor({ name, dims, raw: floats(...Array.from({ length: count }, (_, at) => Math.sin(12.9898 * (at + 1)) * 2)) });
}

const constant = (name: string, dims: readonly number[], ...numbers: readonly number[]) =>
	tensor({ name, dtype: int64, dims, raw: int64s(...numbers) });
const meanOfRows = (input: string) =>
	node({
		op: "ReduceMean",
		inputs: [input],
		outputs: ["y"],
		attributes: [attribute.integers("axes", [1]), attribute.integer("keepdims", 0)],
	});

/** A folder with the model, and files in the folder `in`. */
function workspace(bytes: Bytes, files: Readonly<Record<string, string | Uint8Array>>): string {
	const cwd = temporaryFolder();
	writeFileSync(join(cwd, "net.onnx"), bytes);
	mkdirSync(join(cwd, "in"));
	for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
	return cwd;
}

function manifestOf(cwd: string): GoldenManifest {
	return JSON.parse(readFileSync(join(cwd, "golden/golden.json"), "utf8"));
}

function valuesOf(cwd: string, file: TensorFile | undefined): number[] {
	const npy = readFileSync(join(cwd, "golden", file?.path ?? ""));
	const data = Uint8Array.from(npy.subarray(10 + npy.readUInt16LE(8))).buffer;
	if (file?.dtype === "float32") return [...new Float32Array(data)];
	return file?.dtype === "int32" ? [...new Int32Array(data)] : [...new BigInt64Array(data)].map(Number);
}

/** Looks bytes up by comparing them with 0 to 256. */
const classes = tensor({
	name: "classes",
	dtype: int32,
	dims: [1, 1, 257],
	raw: new Uint8Array(Int32Array.from({ length: 257 }, (_, at) => at).buffer),
});
const fileTypes = model({
	nodes: [
		node({ op: "Unsqueeze", inputs: ["bytes", "last"], outputs: ["column"] }),
		node({ op: "Equal", inputs: ["column", "classes"], outputs: ["hits"] }),
		node({ op: "Cast", inputs: ["hits"], outputs: ["hot"], attributes: [attribute.integer("to", float)] }),
		node({ op: "MatMul", inputs: ["hot", "table"], outputs: ["rows"] }),
		meanOfRows("rows"),
	],
	inputs: [value("bytes", ["n", 12], int32)],
	outputs: [value("y", ["n", 4])],
	initializers: [classes, constant("last", [1], -1), weight("table", 257, 4)],
});

describe("bytes as inputs", () => {
	const how = { kind: "bytes", strip: true, head: 8, tail: 4, padding: 256 };
	it("become the first and last bytes of each file, named after it, and the golden says so", async () => {
		const cwd = workspace(fileTypes, {
			"in/a.py": "  import os\nprint(1)\n",
			"in/b.json": "{}",
			"in/c": "plain text",
			"how.json": JSON.stringify(how),
		});
		const run = await cli(record("--inputs", "in", "--preprocess", "how.json"), cwd);
		expect(run, run.stderr).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^Inputs: 3 real files \(in\/\*\)\.\n/) });
		const manifest = manifestOf(cwd);
		expect(manifest.producer).toMatchObject({ inputs: { bytes: "given as files (in/*)" }, preprocess: { bytes: how } });
		expect(manifest.cases.map(({ id }) => id)).toEqual(["a.py", "b.json", "c"]);
		expect(valuesOf(cwd, manifest.cases[1]?.inputs["bytes"])).toEqual([123, 125, 256, 256, 256, 256, 256, 256, 256, 256, 123, 125]);
		const inspected = await cli(["inspect", "golden/golden.json"], cwd);
		expect(inspected.stdout).toContain("Inputs: 3 real files (in/*).\n");
		const again = await cli(record("--reason", "Again.", "--author", "Ann"), cwd);
		expect(again, again.stderr).toMatchObject({ exit: 0, stdout: expect.stringContaining("Nothing was written") });
	});

	it("are all of 0 to 256 where they are made up, since the model compares them with that", async () => {
		const cwd = workspace(fileTypes, {});
		const run = await cli(record("--dims", "n=1", "--cases", "8"), cwd);
		expect(run, run.stderr).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^Inputs: random whole numbers\. They show/) });
		const manifest = manifestOf(cwd);
		expect(manifest.producer.inputs).toEqual({ bytes: "tokens:0..256, SplitMix64 (the model compares it with 257 numbers)" });
		expect(Math.max(...manifest.cases.flatMap(({ inputs }) => valuesOf(cwd, inputs["bytes"])))).toBeGreaterThan(200);
	});

	it.each([
		[{ ...how, head: 9 }, 'Input "bytes" takes 12 values, and --preprocess makes 13 of'],
		[{ kind: "bytes", heads: 9 }, 'expected one of the keys kind, strip, head, tail, padding, got the key "heads"'],
		[{ kind: "byte" }, 'expected one of image, audio, bytes, text, got "byte"'],
		[{ inputs: { data: how } }, 'expected one of the model\'s inputs "bytes"'],
		[[], "expected an object"],
	])("are refused with preprocessing %j", async (wrong, words) => {
		const cwd = workspace(fileTypes, { "in/a": "a", "how.json": JSON.stringify(wrong) });
		const run = await cli(record("--inputs", "in", "--preprocess", "how.json"), cwd);
		expect(run).toMatchObject({ exit: 2, stderr: expect.stringContaining(words) });
	});
});

/** Sound, a state and the sampling rate, which chooses between two weights. */
const detector = model({
	nodes: [
		node({ op: "MatMul", inputs: ["input", "wide"], outputs: ["a"] }),
		node({ op: "MatMul", inputs: ["input", "narrow"], outputs: ["b"] }),
		node({ op: "Equal", inputs: ["sr", "rate"], outputs: ["isWide"] }),
		node({ op: "Where", inputs: ["isWide", "a", "b"], outputs: ["c"] }),
		node({ op: "Add", inputs: ["c", "state"], outputs: ["y"] }),
	],
	inputs: [value("input", [null, null]), value("state", [1, 4]), value("sr", [], int64)],
	outputs: [value("y", [1, 4])],
	initializers: [weight("wide", 32, 4), weight("narrow", 32, 4), constant("rate", [], 16_000)],
});

describe("sound as input", () => {
	const sounds: { name: string; file: string }[] = oracle.sounds;
	const wavs = Object.fromEntries(sounds.slice(0, 2).map(({ name, file }) => [`in/${name}.wav`, Buffer.from(file, "base64")]));

	it("is resampled and padded, beside a state of zeros and the rate that the model compares with", async () => {
		const cwd = workspace(detector, { ...wavs, "how.yml": "kind: audio\nrate: 16000\nlength: 32\n" });
		const run = await cli(record("--inputs", "in", "--preprocess", "how.yml"), cwd);
		expect(run, run.stderr).toMatchObject({
			exit: 0,
			stdout: expect.stringMatching(/^Inputs: 2 real recordings \(in\/\*\.wav\); state zeros, sr const:16000\.\n/),
		});
		const manifest = manifestOf(cwd);
		expect(manifest.producer.preprocess).toEqual({ input: { kind: "audio", rate: 16_000, length: 32 } });
		const stereo = manifest.cases.find(({ id }) => id === "pcm16-stereo")?.inputs;
		expect(valuesOf(cwd, stereo?.["sr"])).toEqual([16_000]);
		expect(valuesOf(cwd, stereo?.["state"])).toEqual([0, 0, 0, 0]);
		const samples = valuesOf(cwd, stereo?.["input"]);
		expect([samples.length, samples.slice(0, 15).every((sample) => sample !== 0), samples.slice(15)]).toEqual([
			32,
			true,
			Array.from({ length: 17 }, () => 0),
		]);
	});

	it("goes in at its own rate without preprocessing, which is said, and other values may be given by hand", async () => {
		const cwd = workspace(detector, wavs);
		const given = ["--shape", "input=1,32", "--generator", "sr=const:8000", "--generator", "state=ones"];
		const run = await cli(record("--inputs", "in", ...given), cwd);
		expect(run, run.stderr).toMatchObject({ exit: 0, stdout: expect.stringContaining("; state ones, sr const:8000.") });
		expect(run.stderr).toMatch(/note: Sound goes in at its own rate, 8000 Hz/);
		const [first] = manifestOf(cwd).cases;
		expect([valuesOf(cwd, first?.inputs["sr"]), valuesOf(cwd, first?.inputs["state"])]).toEqual([[8000], [1, 1, 1, 1]]);
	});

	it("that is cut short is refused", async () => {
		const cwd = workspace(detector, { "in/a.wav": Buffer.from(sounds[0]?.file ?? "", "base64").subarray(0, 50) });
		const run = await cli(record("--inputs", "in"), cwd);
		expect(run).toMatchObject({
			exit: 2,
			stderr: expect.stringMatching(/a\.wav: expected 20 bytes in chunk "data", got 6.*\[tensor-invalid\]/s),
		});
	});
});

const encoder = model({
	nodes: [
		node({ op: "Gather", inputs: ["words", "input_ids"], outputs: ["a"] }),
		node({ op: "Gather", inputs: ["kinds", "token_type_ids"], outputs: ["b"] }),
		node({ op: "Add", inputs: ["a", "b"], outputs: ["c"] }),
		node({ op: "Cast", inputs: ["attention_mask"], outputs: ["m"], attributes: [attribute.integer("to", float)] }),
		node({ op: "Unsqueeze", inputs: ["m", "last"], outputs: ["n"] }),
		node({ op: "Mul", inputs: ["c", "n"], outputs: ["d"] }),
		meanOfRows("d"),
	],
	inputs: ["input_ids", "attention_mask", "token_type_ids"].map((name) => value(name, ["batch", "seq"] satisfies Dim[], int64)),
	outputs: [value("y", ["batch", 4])],
	initializers: [weight("words", 30, 4), weight("kinds", 2, 4), constant("last", [1], -1)],
});

describe("text as input", () => {
	const tokenizer = JSON.stringify(oracle.texts.tokenizers["word-piece"]);
	const lines = "the quick fox\n\nA lazy dog jumps over the brown fox.\r\nunhappy cafe\n";

	it("is a case a line, as ids, mask and types by the inputs' names, padded to a length", async () => {
		const cwd = workspace(encoder, {
			"in/s.txt": lines,
			"tok.json": tokenizer,
			"how.json": '{ "kind": "text", "tokenizer": "tok.json", "length": 8 }',
		});
		const run = await cli(record("--inputs", "in", "--preprocess", "how.json"), cwd);
		expect(run, run.stderr).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^Inputs: 3 real texts \(in\/\*\.txt\)\.\n/) });
		const manifest = manifestOf(cwd);
		expect(manifest.cases.map(({ id }) => id)).toEqual(["s-1", "s-2", "s-3"]);
		const first = manifest.cases[0]?.inputs;
		expect(["input_ids", "attention_mask", "token_type_ids"].map((name) => valuesOf(cwd, first?.[name]))).toEqual([
			[2, 4, 5, 7, 3, 0, 0, 0],
			[1, 1, 1, 1, 1, 0, 0, 0],
			[0, 0, 0, 0, 0, 0, 0, 0],
		]);
		expect(valuesOf(cwd, manifest.cases[1]?.inputs["input_ids"]).at(-1)).toBe(3);
		expect(manifest.producer.preprocess).toMatchObject({
			input_ids: { kind: "text", tokenizer: "tok.json", length: 8, padding: 0, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
		});
	});

	it("uses the tokenizer.json beside the model, with a note", async () => {
		const cwd = workspace(encoder, { "in/s.txt": lines, "tokenizer.json": tokenizer });
		const run = await cli(record("--inputs", "in/s.txt"), cwd);
		expect(run, run.stderr).toMatchObject({
			exit: 0,
			stderr: expect.stringContaining("note: Text goes through the tokenizer.json beside the model."),
		});
		expect(manifestOf(cwd).cases.map(({ inputs }) => inputs["input_ids"]?.shape)).toEqual([
			[1, 5],
			[1, 12],
			[1, 5],
		]);
	});

	it.each<[string, Record<string, string | Uint8Array>, string]>([
		["no tokenizer", { "in/s.txt": "fox" }, "There is no tokenizer for text among --inputs"],
		["a tokenizer of another kind", { "in/s.txt": "fox", "tokenizer.json": '{"model":{"type":"Magic"}}' }, "[tokenizer-invalid]"],
		[
			"bytes that are no UTF-8",
			{ "in/s.txt": Buffer.from("fox\nd\xe9j\xe0", "latin1"), "tokenizer.json": tokenizer },
			"got other bytes in line 2",
		],
		[
			"a line too long",
			{ "in/s.txt": "a".repeat(20_001), "tokenizer.json": tokenizer },
			"expected at most 20000 characters in a line, got 20001 in line 1",
		],
		["no lines", { "in/s.txt": " \n\n", "tokenizer.json": tokenizer }, "got 0"],
	])("is refused with %s", async (_, files, words) => {
		const run = await cli(record("--inputs", "in/s.txt"), workspace(encoder, files));
		expect(run).toMatchObject({ exit: 2, stderr: expect.stringContaining(words) });
	});
});

describe("pictures of one height", () => {
	it("keep their proportions, each in a case of its own width", async () => {
		const reader = model({
			nodes: [
				node({ op: "Conv", inputs: ["x", "w"], outputs: ["c"] }),
				node({
					op: "ReduceMean",
					inputs: ["c"],
					outputs: ["y"],
					attributes: [attribute.integers("axes", [2, 3]), attribute.integer("keepdims", 0)],
				}),
			],
			inputs: [value("x", [null, 3, "?", null])],
			outputs: [value("y", [null, 4])],
			initializers: [weight("w", 4, 3, 3, 3)],
		});
		const drawn = (width: number): Buffer => {
			const png = new PNG({ width, height: 16 });
			for (let at = 0; at < width * 16; at += 1) png.data.set([(at * 7) % 256, (at * at) % 256, width, 255], 4 * at);
			return PNG.sync.write(png);
		};
		const how = { layout: "nchw", colour: "bgr", resize: [8, null], mean: [0.5], std: [0.5] };
		const cwd = workspace(reader, { "in/a.png": drawn(40), "in/b.png": drawn(64), "how.json": JSON.stringify(how) });
		const run = await cli(record("--inputs", "in", "--preprocess", "how.json"), cwd);
		expect(run, run.stderr).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^Inputs: 2 real pictures \(in\/\*\.png\)\.\n/) });
		expect(manifestOf(cwd).cases.map(({ inputs }) => inputs["x"]?.shape)).toEqual([
			[1, 3, 8, 20],
			[1, 3, 8, 32],
		]);
	});
});

describe("inputs whose values nothing tells", () => {
	it("are asked for by name, all at once", async () => {
		const counter = model({
			nodes: [
				node({ op: "Cast", inputs: ["steps"], outputs: ["a"], attributes: [attribute.integer("to", float)] }),
				node({ op: "Cast", inputs: ["codes"], outputs: ["b"], attributes: [attribute.integer("to", float)] }),
				node({ op: "Mul", inputs: ["a", "b"], outputs: ["c"] }),
				node({ op: "MatMul", inputs: ["c", "w"], outputs: ["y"] }),
			],
			inputs: [value("steps", [], int64), value("codes", [1, 8], int64)],
			outputs: [value("y", [1, 4])],
			initializers: [weight("w", 8, 4)],
		});
		const cwd = workspace(counter, {});
		const run = await cli(record(), cwd);
		expect(run).toMatchObject({
			exit: 2,
			stderr: expect.stringMatching(/which values the inputs "steps" \(one int64\), "codes" \(int64 \[1, 8\]\) take\. \[usage\]/),
		});
		expect(run.stderr).toContain("--generator steps=const:1 --generator codes=tokens:0..99");
		const given = await cli(record("--generator", "steps=const:3", "--generator", "codes=tokens:0..99"), cwd);
		expect(given, given.stderr).toMatchObject({ exit: 0 });
		expect(manifestOf(cwd).producer.inputs).toEqual({ steps: "const:3", codes: "tokens:0..99, SplitMix64" });
	});
});
