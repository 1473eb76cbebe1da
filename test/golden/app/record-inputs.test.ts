import { createHash } from "node:crypto";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";
import type { GoldenCase, GoldenManifest } from "../../../generated/golden.ts";
import { fileStore } from "../../../src/adapters/files/store.ts";
import { fileTensorReader } from "../../../src/adapters/files/tensor-reader.ts";
import { onnxRuntimeReference } from "../../../src/adapters/onnxruntime/reference.ts";
import type { Processes } from "../../../src/adapters/process/processes.ts";
import { progressFor } from "../../../src/app/terminal.ts";
import type { ConfigError } from "../../../src/core/errors.ts";
import type { OnnxDim, OnnxModel } from "../../../src/core/onnx/model.ts";
import { encodeNpy } from "../../../src/formats/tensor/npy.ts";
import { withGoldenPorts } from "../../../src/golden/app/compose.ts";
import { findRecordInputs, previousCases, type RecordInputs } from "../../../src/golden/app/record-inputs.ts";
import { parseRecordOptions } from "../../../src/golden/app/record-options.ts";
import { describeWorth } from "../../../src/golden/core/record/generators/defaults.ts";
import { elementCount } from "../../../src/golden/core/tensor/tensor.ts";
import { float64Reader } from "../../../src/golden/core/tensor/values.ts";
import { recordBudget } from "../../../src/golden/stages/budget.ts";
import { float32, float64, manifestOf, type Tensor } from "../../support/golden-tensors.ts";
import { attribute, type Bytes, model, node, value } from "../../support/onnx-writer.ts";
import { wasmSource } from "../../support/ort-jobs.ts";
import { temporaryFolder, writeProject } from "../../support/project.ts";
import { digitReader, lineReader } from "../../support/sized-models.ts";
import { testTerminal } from "../../support/test-terminal.ts";
import { constant, encoder, oracle, weight } from "../../support/text-encoder.ts";

const int64 = 7;
const classifier = readFileSync(resolve("examples/quickstart/base/models/classifier.onnx"));

const workspace = (bytes: Bytes, files: Record<string, string | Uint8Array> = {}) =>
	writeProject(temporaryFolder(), { "net.onnx": bytes, ...files });

/** ONNX Runtime from the sources, where no bundle is built. */
const referenceOf = (processes: Processes) =>
	onnxRuntimeReference({
		flavour: "wasm",
		workerPath: resolve("src/ort-worker.ts"),
		wasmFolder: wasmSource,
		cacheFolder: "/nowhere",
		processes,
		threads: 1,
	});

async function inputsOf(cwd: string, ...argv: string[]): Promise<RecordInputs & { worth: string }> {
	const terminal = testTerminal(cwd);
	const what = argv.includes("--model") ? [] : ["net.onnx", "--out", "golden"];
	const options = await parseRecordOptions([...what, ...argv], terminal);
	const how = { terminal, progress: progressFor(terminal, { quiet: true }), onnxruntime: "wasm" } as const;
	const found = await withGoldenPorts(how, async (ports, scratchFolder) => {
		const reference = { ...ports.reference, ...referenceOf(ports.processes) };
		return findRecordInputs(
			{
				...{ options, reused: null, scratchFolder, budget: recordBudget(600_000, ports.clock) },
				model: await ports.models.read(options.model),
			},
			{ ...ports, reference },
		);
	});
	return { ...found, worth: describeWorth(found.how, found.cases.length) };
}

async function refusalOf(cwd: string, ...argv: string[]) {
	return inputsOf(cwd, ...argv).then(
		() => expect.fail("nothing was refused"),
		({ message, code, fix }: ConfigError) => `${message} [${code}] ${fix}`,
	);
}

const valuesOf = (one: Tensor) => [...float64Reader(one)(0, elementCount(one.shape))];

const signal = (shape: number[], scale = 1) =>
	encodeNpy(
		float32(
			Array.from({ length: elementCount(shape) }, (_, at) => Math.sin(at * scale)),
			shape,
		),
	);

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

it.each([
	["unk__214", 1],
	["sequence", 4],
])("a generated case is one row where the first axis counts rows: %s has the size %d", async (axis, size) => {
	const net = model({
		nodes: [node({ op: "MatMul", inputs: ["x", "w"], outputs: ["y"] })],
		inputs: [value("x", [axis, 3])],
		outputs: [value("y", [axis, 2])],
		initializers: [weight("w", 3, 2)],
	});
	const config = `version: 1\nmodels:\n  net: { onnx: net.onnx, dims: { ${axis}: { min: 1, opt: 4, max: 8 } } }\n`;
	const cwd = workspace(net, { "trtgate.yml": config });
	const { cases } = await inputsOf(cwd, "--model", "net", "--cases", "2");
	expect(cases.slice(0, 2).map(({ inputs }) => inputs["x"]?.shape)).toEqual([
		[size, 3],
		[size, 3],
	]);
});

it("a signal comes with a state of zeros and the rate that the model compares with", async () => {
	const found = await inputsOf(workspace(detector, { "in/a.npy": signal([1, 32]) }), "--inputs", "in");
	expect(found.worth).toBe("Inputs: 1 real case; state zeros, sr const:16000.");
	const { sr, state } = found.cases[0]!.inputs;
	expect([valuesOf(sr!), valuesOf(state!)]).toEqual([[16_000], [0, 0, 0, 0]]);
});

const tokenizer = JSON.stringify(oracle.texts.tokenizers["word-piece"]);
const lines = "the quick fox\n\nA lazy dog jumps over the brown fox.\r\nunhappy cafe\n";

it("text goes through the tokenizer.json beside the model, with a note", async () => {
	const cwd = workspace(encoder, { "in/s.txt": lines, "tokenizer.json": tokenizer });
	const found = await inputsOf(cwd, "--inputs", "in/s.txt");
	expect(found.notes).toContain("Text goes through the tokenizer.json beside the model.");
	expect(found.cases.map(({ inputs }) => inputs["input_ids"]?.shape)).toEqual([
		[1, 5],
		[1, 12],
		[1, 5],
	]);
});

it.each([
	[[1, 10 ** 9], "3.73 GiB"],
	[[10 ** 9, 10 ** 9], "3553 PiB"],
])("an input of the size %j is refused before it is drawn", async (shape, size) => {
	const net = { inputs: [value("x", shape)], outputs: [value("y", shape)] };
	const cwd = workspace(model({ ...net, nodes: [node({ op: "Relu", inputs: ["x"], outputs: ["y"] })] }));
	expect(await refusalOf(cwd)).toContain(`takes ${size}; expected at most 1.00 GiB. [usage]`);
});

it.each([
	[{ kind: "text", lengths: 9 }, 'got the key "lengths"'],
	[{ kind: "byte" }, 'expected one of image, text, got "byte"'],
	[{ inputs: { data: { kind: "text" } } }, 'expected one of the model\'s inputs "input_ids"'],
	[[], "expected an object"],
])("text is refused with preprocessing %j", async (wrong, words) => {
	const cwd = workspace(encoder, { "s.txt": "a", "how.json": JSON.stringify(wrong) });
	expect(await refusalOf(cwd, "--inputs", "s.txt", "--preprocess", "how.json")).toContain(words);
});

const magic = '{"model":{"type":"Magic"}}';
it.each<[string, string | Uint8Array, string | null, string]>([
	["no tokenizer", "fox", null, "There is no tokenizer for text among --inputs"],
	["a tokenizer of another kind", "fox", magic, "[tokenizer-invalid]"],
	["other bytes", Buffer.from("fox\nd\xe9j\xe0", "latin1"), tokenizer, "got other bytes in line 2"],
	[
		"a line too long",
		"a".repeat(20_001),
		tokenizer,
		"at most 20000 characters in a line, got 20001 in line 1",
	],
	["no lines", " \n\n", tokenizer, "got 0"],
])("text is refused with %s", async (_, text, definition, words) => {
	const files = { "s.txt": text, ...(definition === null ? {} : { "tokenizer.json": definition }) };
	expect(await refusalOf(workspace(encoder, files), "--inputs", "s.txt")).toContain(words);
});

it("pictures of one height keep their proportions, each in a case of its own width", async () => {
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
		for (let at = 0; at < width * 16; at += 1)
			png.data.set([(at * 7) % 256, (at * at) % 256, width, 255], 4 * at);
		return PNG.sync.write(png);
	};
	const how = { layout: "nchw", colour: "bgr", resize: [8, null], mean: [0.5], std: [0.5] };
	const cwd = workspace(reader, {
		"in/a.png": drawn(40),
		"in/b.png": drawn(64),
		"how.json": JSON.stringify(how),
	});
	const found = await inputsOf(cwd, "--inputs", "in", "--preprocess", "how.json");
	expect(found.worth).toBe("Inputs: 2 real pictures (in/*.png).");
	expect(found.cases.map(({ inputs }) => inputs["x"]?.shape)).toEqual([
		[1, 3, 8, 20],
		[1, 3, 8, 32],
	]);
});

/** A TensorProto of [1, 1, 48, 48] floats: dims (field 1), data type 1 (field 2), raw data (field 9). */
const protoOf = (set: number) => {
	const bytes = new Uint8Array(Float32Array.from({ length: 48 * 48 }, (_, at) => Math.sin(at + set)).buffer);
	const head = [8, 1, 8, 1, 8, 48, 8, 48, 16, 1, 0x4a, (bytes.length & 127) | 128, bytes.length >> 7];
	return Uint8Array.from([...head, ...bytes]);
};

it("test data sets beside an ONNX model are a case each, and sizes that they do not have are refused", async () => {
	const sets = Object.fromEntries(
		[0, 1].map((set) => [`sets/test_data_set_${set}/input_0.pb`, protoOf(set)]),
	);
	const cwd = workspace(classifier, sets);
	const found = await inputsOf(cwd, "--inputs", "sets");
	expect(found.cases.map(({ id, inputs }) => [id, inputs["image"]?.shape])).toEqual([
		["test_data_set_0", [1, 1, 48, 48]],
		["test_data_set_1", [1, 1, 48, 48]],
	]);
	expect(await refusalOf(cwd, "--inputs", "sets", "--dims", "batch=2")).toMatch(
		/--dims asks for batch=2, and the stored input "image" of case "test_data_set_0" has 1\..* or give inputs of this size\./s,
	);
});

it("a folder of ONNX's test data is one case, and its outputs are no inputs", async () => {
	const set = Object.fromEntries(["input_0", "output_0"].map((name) => [`set_0/${name}.pb`, protoOf(0)]));
	const found = await inputsOf(workspace(classifier, set), "--inputs", "set_0");
	expect(found.cases.map(({ id }) => id)).toEqual(["set_0"]);
});

it("a link to a folder is a case, and values of another type are refused by input and file", async () => {
	const cwd = workspace(classifier, { "elsewhere/image.pb": protoOf(0), "sets/own/image.pb": protoOf(1) });
	symlinkSync(join(cwd, "elsewhere"), join(cwd, "sets/linked"));
	const found = await inputsOf(cwd, "--inputs", "sets");
	expect(found.cases.map(({ id }) => id)).toEqual(["linked", "own"]);
	writeProject(cwd, { "wide/a.npy": encodeNpy(float64(Array(2304).fill(0.5), [1, 1, 48, 48])) });
	expect(await refusalOf(cwd, "--inputs", "wide")).toMatch(
		/wide\/a\.npy gives float64 for input "image", and the model takes float32\..*Save it as float32/s,
	);
});

it("sizes that were not given are tried out on the model, each axis without a name by itself", async () => {
	const found = await inputsOf(workspace(lineReader([null, 3, "?", "?"])));
	expect(found.notes.join("\n")).toMatch(
		/sizes chosen: x:0_0 1 \(a batch\), x:0_2 48 .*ONNX Runtime runs them.*--shape x:0=1,3,48,320/i,
	);
	expect(found.cases[0]?.inputs["x:0"]?.shape).toEqual([1, 3, 48, 320]);
	expect(found.sizes).toMatch(/x:0_3 320 \(the width of a line of text\)/);
});

it("sizes that were not given follow what the weights ask for, which needs no run to find out", async () => {
	const found = await inputsOf(workspace(digitReader()));
	expect(found).toMatchObject({
		dims: { batch: 1, height: 28, width: 28 },
		sizes: expect.stringContaining("28"),
	});
});

it("sizes that were not given come from real inputs if there are any", async () => {
	const shape = [1, 3, 16, 40];
	const files = { "one.npy": signal(shape), "two.npy": signal(shape, 2) };
	const cwd = workspace(lineReader([null, 3, "?", "?"]), files);
	const found = await inputsOf(cwd, "--inputs", "one.npy", "--inputs", "two.npy");
	expect(found.notes).toEqual([]);
	expect(found.cases[0]?.inputs["x:0"]?.shape).toEqual(shape);
});

describe("inputs whose values nothing in the model says", () => {
	const counter = model({
		nodes: [
			...["steps", "codes"].map((name) =>
				node({ op: "Cast", inputs: [name], outputs: [`${name}F`], attributes: [attribute.integer("to", 1)] }),
			),
			node({ op: "Mul", inputs: ["stepsF", "codesF"], outputs: ["c"] }),
			node({ op: "MatMul", inputs: ["c", "w"], outputs: ["y"] }),
		],
		inputs: [value("steps", [], int64), value("codes", [1, 8], int64)],
		outputs: [value("y", [1, 4])],
		initializers: [weight("w", 8, 4)],
	});

	it("are refused by name, all at once, with the options to give", async () => {
		const refusal = await refusalOf(workspace(counter));
		expect(refusal).toMatch(
			/these inputs take: "steps" \(one int64\), "codes" \(int64 \[1, 8\]\)\. .*\[usage\]/,
		);
		expect(refusal).toContain("--generator steps=const:1 --generator codes=tokens:0..99");
	});

	it("are generated as the options say", async () => {
		const given = ["--generator=steps=const:3", "--generator=codes=tokens:0..99"];
		const found = await inputsOf(workspace(counter), ...given);
		expect(found.how).toEqual({ steps: "const:3", codes: "tokens:0..99, SplitMix64" });
	});
});

it.each([
	["engines: { a: { precision: fp32 } }", [], { fp32: 1 }],
	["engines: { a: { precision: fp16 } }", [], { fp32: 1, fp16: 0.95 }],
	[
		"engines: { a: { precision: fp32 } }, golden-notice: { fp16: 0.5 }",
		["--notice", "fp32=0.9"],
		{ fp32: 0.9, fp16: 0.5 },
	],
])(
	"golden record judges fp32, the precisions of engines, and those named: %s %j",
	async (engines, more, shares) => {
		const config = `version: 1\nmodels: { net: { onnx: net.onnx, ${engines} } }\n`;
		const terminal = testTerminal(workspace(classifier, { "trtgate.yml": config }));
		const sharesOf = async (...argv: string[]) => (await parseRecordOptions(argv, terminal)).leastShares;
		expect(await sharesOf("--model", "net", ...more)).toEqual(shares);
		expect(await sharesOf("net.onnx", "--out", "golden")).toEqual({ fp32: 1, fp16: 0.95 });
	},
);

describe("the stored inputs of a golden, recorded again", () => {
	const ports = { files: fileStore(), tensors: fileTensorReader() };
	const image = float32([1, 2, 3, 4], [2, 2]);

	function modelOf(dims: OnnxDim[], name = "image") {
		const port = { kind: "tensor", name, dtype: "float", dims };
		return { graph: { inputs: [port], outputs: [], initializers: [], nodes: [] } } as unknown as OnnxModel;
	}

	function stored(change: Partial<GoldenCase> = {}) {
		const folder = temporaryFolder();
		const bytes = encodeNpy(image);
		writeFileSync(join(folder, "image.npy"), bytes);
		const sha256 = createHash("sha256").update(bytes).digest("hex");
		const manifest = manifestOf({ logits: float32([1, 2]) });
		const file = { path: "image.npy", sha256, dtype: "float32" as const, shape: [2, 2] };
		const golden = { ...manifest.cases[0], inputs: { image: file }, ...change };
		return { folder, old: { ...manifest, goldenId: "net@3", cases: [golden] } as GoldenManifest };
	}

	it("keep names, tags and labels", async () => {
		const facts: Partial<GoldenCase> = { id: "night", tags: ["dark"], labels: { logits: [1] } };
		const given = { dims: { batch: 2 }, inputs: {} };
		const found = await previousCases({ ...stored(facts), model: modelOf(["batch", 2]), given }, ports);
		expect(found.cases).toEqual([{ ...facts, inputs: { image } }]);
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
			/cannot be recorded again: .* shape \[2, 2\]; the model's is/,
		],
		["a model of another input", modelOf([2, 2], "picture"), {}, /the model's inputs are "picture"/],
	])("are refused for %s", async (_, model, dims, says) => {
		const given = { dims, inputs: {} };
		const fix = expect.stringContaining("--cases 8");
		const refusal = { code: "usage", message: expect.stringMatching(says), fix };
		await expect(previousCases({ ...stored(), model, given }, ports)).rejects.toMatchObject(refusal);
	});
});
