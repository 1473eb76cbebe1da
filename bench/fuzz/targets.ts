// Every reader of outside data, with files that it reads.
import { readFileSync } from "node:fs";
import { gunzipSync, inflateRawSync } from "node:zlib";
import type { TensorFile } from "../../generated/golden.ts";
import { preprocessFile } from "../../src/adapters/files/tensor-reader.ts";
import { loadConfig } from "../../src/core/config/parse.ts";
import { ConfigError } from "../../src/core/errors.ts";
import { preflight } from "../../src/core/onnx/preflight.ts";
import { parseMatrix } from "../../src/core/plan/matrix.ts";
import { parseResult } from "../../src/core/report/parse-result.ts";
import { diagnoseNcu, parseKernelTable } from "../../src/engine/formats/nsys/nsight.ts";
import { memorySource } from "../../src/formats/bytes/byte-source.ts";
import { decodePng } from "../../src/formats/image/png.ts";
import { parseGpus } from "../../src/formats/nvidia-smi/gpus.ts";
import {
	chooseFields,
	dmonParser,
	inventoryFields,
	parseAppLine,
	parseHelpFields,
	parseSampleLine,
	sampleFields,
	useSampleOf,
} from "../../src/formats/nvidia-smi/rows.ts";
import { findWeights, readOnnx } from "../../src/formats/onnx/reader.ts";
import { diagnoseOrt } from "../../src/formats/onnxruntime/failures.ts";
import {
	gpuPowerOf,
	parsePowerMode,
	parseTegraRelease,
	parseTegrastats,
} from "../../src/formats/tegra/tegrastats.ts";
import { decodeMember, decodeTensor } from "../../src/formats/tensor/decode.ts";
import { encodeNpy } from "../../src/formats/tensor/npy.ts";
import { describeTensorProto } from "../../src/formats/tensor/tensor-proto.ts";
import { parseDeviceSection } from "../../src/formats/trtexec/banner.ts";
import { createBuildLog, createPerfLog } from "../../src/formats/trtexec/build-log.ts";
import { diagnose } from "../../src/formats/trtexec/diagnose.ts";
import { createTimesParser } from "../../src/formats/trtexec/export-times.ts";
import { parseProfile } from "../../src/formats/trtexec/layer-profile.ts";
import { parseLayerInfo } from "../../src/formats/trtexec/layers.ts";
import { parseDumpLine } from "../../src/formats/trtexec/output-dump.ts";
import { findZipEntries } from "../../src/formats/zip/zip.ts";
import { parseManifest } from "../../src/golden/core/manifest/parse-manifest.ts";
import { createFrameDecoder, encodeHeader } from "../../src/golden/formats/worker/frames.ts";
import { parseMessage } from "../../src/golden/formats/worker/messages.ts";
import { parseLog, recordedText } from "../../test/formats/trtexec/recorded.ts";
import { buildResult } from "../../test/support/build-result.ts";
import { writePng } from "../../test/support/png-writer.ts";
import { zipOf } from "../../test/support/zip-writer.ts";
import { randomSource } from "./damage.ts";

export interface Target {
	name: string;
	seeds: readonly Uint8Array[];
	read(bytes: Uint8Array): unknown;
}

const root = new URL("../../", import.meta.url);
const load = (path: string): Uint8Array => new Uint8Array(readFileSync(new URL(path, root)));
const fixture = (path: string): Uint8Array => load(`test/fixtures/${path}`);
const json = (path: string) => JSON.parse(new TextDecoder().decode(load(path)));
const base64 = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "base64"));
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const text = (read: (text: string) => unknown) => (input: Uint8Array) =>
	read(new TextDecoder().decode(input));
const lines = (read: (line: string) => unknown) => text((all) => all.split("\n").map(read));

const oracle = json("test/oracles/golden-formats.json");
const files = json("test/oracles/golden-files.json");
const file: TensorFile = { path: "y", sha256: "", dtype: "float32", shape: [2, 3], member: "y" };
const inflate = (packed: Uint8Array, most: number): Uint8Array =>
	inflateRawSync(packed, { maxOutputLength: Math.max(1, most) });
const place = { inflate, once: <Value>(parse: () => Value) => parse() };
const single = (format: NonNullable<TensorFile["format"]>) => (input: Uint8Array) =>
	decodeTensor(input, { ...file, format });
const member =
	(format: NonNullable<TensorFile["format"]>, name = "y") =>
	(input: Uint8Array) =>
		decodeMember(memorySource(input), { ...file, format, member: name }, place);

/** Refused where all refuse. */
function any(...readers: readonly ((input: Uint8Array) => unknown)[]): Target["read"] {
	return (input) => {
		const refusals: ConfigError[] = [];
		for (const read of readers) {
			try {
				read(input);
			} catch (error) {
				if (!(error instanceof ConfigError)) throw error;
				refusals.push(error);
			}
		}
		if (refusals.length === readers.length) throw refusals[0];
	};
}

function readRunner(input: Uint8Array): unknown {
	return decodeMember(
		memorySource(input),
		{ ...file, format: "polygraphy", runner: "onnxrt", iteration: 0 },
		place,
	);
}

function readProto(input: Uint8Array): unknown {
	const { dtype, shape } = describeTensorProto(input, file);
	return decodeTensor(input, { ...file, format: "tensor-proto", dtype, shape });
}

const values = new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6).buffer);

const tensors: readonly Target[] = [
	{ name: "raw", seeds: [values], read: single("raw") },
	{ name: "npy", seeds: [encodeNpy({ dtype: "float32", shape: [2, 3], data: values })], read: single("npy") },
	{
		name: "npz",
		seeds: oracle.npz.map((entry: { file: string }) => base64(entry.file)),
		read: member("npz"),
	},
	{ name: "safetensors", seeds: [base64(oracle.safetensors.file)], read: member("safetensors") },
	{
		name: "tensor-proto",
		seeds: files.proto.map((entry: { file: string }) => base64(entry.file)),
		read: readProto,
	},
	{
		name: "polygraphy",
		seeds: [base64(oracle.polygraphy.inputs), base64(oracle.polygraphy.results)],
		read: any(member("polygraphy", "x"), readRunner),
	},
];

const picture: TensorFile = {
	path: "y",
	sha256: "",
	dtype: "uint8",
	shape: [8, 8, 3],
	preprocess: { layout: "hwc", resize: [8, 8] },
};
const random = randomSource(7);
const pngs = [0, 2, 3, 4, 6].map((colour) =>
	writePng({ width: 9, height: 7, depth: 8, colour, interlaced: false }, () => random(256)),
);
/** Written by Pillow 12 from noise of 16 × 16. */
const jpegs = ["progressive", "grey", "cmyk", "restarts"].map((name) => load(`bench/fuzz/${name}.jpg`));
/** Without zlib's checksum, damaged pixels get through. */
const unchecked = (packed: Uint8Array, most: number): Uint8Array => inflate(packed.subarray(2), most);

const pictures: readonly Target[] = [
	{
		name: "PNG",
		seeds: [base64(oracle.images.png), ...pngs],
		read: (input) => preprocessFile(input, picture),
	},
	{
		name: "PNG, checksums ignored",
		seeds: pngs,
		read: (input) => refusable(() => decodePng(smallPng(input), unchecked)),
	},
	{
		name: "JPEG",
		seeds: [base64(oracle.images.jpeg), ...jpegs],
		read: (input) => preprocessFile(input, picture),
	},
];

/** The caller of decodePng has checked the size. */
function smallPng(input: Uint8Array): Uint8Array {
	const view = new DataView(input.buffer, input.byteOffset, input.length);
	if (input.length >= 24 && view.getUint32(16) * view.getUint32(20) > 2 ** 24) throw new Error("too large");
	return input;
}

/** For readers that throw a plain error, which their caller turns into a message. */
function refusable(read: () => unknown): unknown {
	try {
		return read();
	} catch (error) {
		if (error instanceof Error && error.constructor === Error) return null;
		if (error instanceof Error && "code" in error) return null;
		throw error;
	}
}

const onnxSeeds = [
	"onnx/structures",
	"onnx/number-types",
	"onnxruntime/hostile-names",
	"onnxruntime/external",
	"project/model",
].map((name) => fixture(`${name}.onnx`));

function readModel(input: Uint8Array): void {
	const onnx = readOnnx(memorySource(input), "y");
	const model = { path: "y", onnx, sha256: "", external: [] };
	preflight(model, { backend: "onnxruntime" });
	preflight(model, { backend: "tensorrt" });
	findWeights(memorySource(input), "y");
}

const models: readonly Target[] = [{ name: "ONNX and its preflight", seeds: onnxSeeds, read: readModel }];

const config = `version: 1
models:
  net: # one of two
    onnx: "net.onnx"
    dims: { batch: { min: 1, opt: 4, max: 8 } }
    engines:
      fp16: &fp16 { precision: fp16, flags: [--sparsity=enable] }
    prepare: |
      python export.py
  other: { onnx: other.onnx, engines: { fp16: *fp16 } }
gates: { latency: { warn: 2%, fail: 5% } }
measure: { pairs: [5, 9], warm-up: 200ms, duration: 1s }
`;
/** The large one in one of eight, as it takes ten times as long. */
const configs = [load("examples/quickstart/head/trtgate.yml"), ...Array<Uint8Array>(7).fill(bytes(config))];

const documents: readonly Target[] = [
	{ name: "trtgate.yml", seeds: configs, read: text((all) => loadConfig(all, { path: "y" })) },
	{ name: "golden.json", seeds: [smallGolden()], read: text((all) => parseManifest(all, "y")) },
	{
		name: "result.json",
		seeds: [bytes(JSON.stringify(buildResult()))],
		read: text((all) => parseResult(all, "y")),
	},
	{
		name: "matrix of a plan",
		seeds: [
			bytes('{"include":[{"name":"a","config":"trtgate.yml","only":"a/b","runs-on":["x"],"artifact":"a"}]}'),
		],
		read: text(parseMatrix),
	},
];

function smallGolden(): Uint8Array {
	const golden = json("test/fixtures/project/golden/golden.json");
	return bytes(JSON.stringify({ ...golden, cases: golden.cases.slice(0, 1) }));
}

const recordings = [
	"10.6/fail-bad-shape-mismatch",
	"11.2/fail-bad-shape-mismatch",
	"10.6/perf-build-and-run",
];
const logs = recordings.map((name) => {
	const whole = Buffer.from(recordedText(name));
	return whole.length < 4000 ? whole : Buffer.concat([whole.subarray(0, 2000), whole.subarray(-2000)]);
});

function readLog(all: string): void {
	const parsed = parseLog(all);
	const [build, perf] = [createBuildLog(), createPerfLog()];
	for (const line of parsed) {
		build.feed(line);
		perf.feed(line);
		parseDumpLine(line.text);
	}
	diagnose({ lines: parsed, exitCode: 1, signal: null });
}

function readTimes(input: Uint8Array): void {
	const parser = createTimesParser();
	for (let at = 0; at < input.length; at += 1000) parser.push(input.subarray(at, at + 1000));
	parser.end();
}

const trtexec: readonly Target[] = [
	{ name: "trtexec's log", seeds: logs, read: text(readLog) },
	{
		name: "exportTimes",
		seeds: [gunzipSync(fixture("trtexec-exports/times-encoder.json.gz")).subarray(0, 3000)],
		read: readTimes,
	},
	{
		name: "exportProfile",
		seeds: [fixture("trtexec-exports/profile-classifier-fp16.json")],
		read: text(parseProfile),
	},
	{
		name: "exportLayerInfo",
		seeds: [fixture("trtexec-exports/layers-quantised.json")],
		read: text(parseLayerInfo),
	},
];

const smiFields = parseHelpFields(new TextDecoder().decode(fixture("nvidia-smi/h200-help-query-gpu.txt")));
const [inventory, sampled] = [
	chooseFields(inventoryFields, smiFields),
	chooseFields(sampleFields, smiFields),
];
const smiCsv = ["load", "idle"].map((name) => fixture(`nvidia-smi/h200-query-${name}.csv`).subarray(0, 3000));

function readDmon(all: string): void {
	const parser = dmonParser();
	for (const line of all.split("\n")) {
		const row = parser.push(line);
		if (row !== null) useSampleOf(row, 0);
	}
}

const machine: readonly Target[] = [
	{ name: "nvidia-smi's samples", seeds: smiCsv, read: lines((line) => parseSampleLine(line, sampled, 0)) },
	{
		name: "nvidia-smi's GPUs",
		seeds: [Buffer.concat([fixture("nvidia-smi/h200-L.txt"), ...smiCsv])],
		read: text((all) => parseGpus(all, inventory, all)),
	},
	{
		name: "nvidia-smi's processes",
		seeds: [fixture("nvidia-smi/h200-compute-apps-load.csv").subarray(0, 3000)],
		read: lines(parseAppLine),
	},
	{
		name: "nvidia-smi's dmon",
		seeds: [fixture("nvidia-smi/h200-dmon-gpm.txt").subarray(0, 3000)],
		read: text(readDmon),
	},
	{
		name: "tegrastats",
		seeds: [fixture("tegra/tegrastats.json").subarray(0, 3000)],
		read: lines((line) => [parseTegrastats(line, 0), gpuPowerOf(line)]),
	},
	{
		name: "a Jetson's board",
		seeds: [fixture("tegra/trtexec-orin.txt")],
		read: text((all) => [parseDeviceSection(all), parseTegraRelease(all), parsePowerMode(all)]),
	},
	{
		name: "nsys' kernels",
		seeds: [fixture("nsys/encoder-fp16_cuda_gpu_kern_sum.csv")],
		read: text((all) => [parseKernelTable(all), diagnoseNcu(all)]),
	},
	{
		name: "ONNX Runtime's messages",
		seeds: [fixture("onnxruntime/messages.json").subarray(0, 3000)],
		read: text(diagnoseOrt),
	},
];

const outputs = [{ name: "y", dtype: "float32", shape: [2, 3], bytes: 24 }];
const frames = Buffer.concat([
	encodeHeader({ kind: "hello", protocol: 1, tensorrt: "10.6.0", device: "x", engine: null }, 0),
	encodeHeader({ kind: "result", id: "a", outputs }, values.length),
	values,
]);

function readFrames(input: Uint8Array): void {
	const decoder = createFrameDecoder({ payloadBytes: 1024 * 1024 });
	for (const one of decoder.push(input)) parseMessage(one);
}

function readZip(input: Uint8Array): unknown {
	const source = memorySource(input);
	const entries = findZipEntries(source, () => true);
	if (typeof entries === "string") return entries;
	return entries.map((entry) =>
		refusable(() =>
			inflate(source.read(entry.dataAt, entry.packedBytes), Math.min(entry.bytes, 1024 * 1024)),
		),
	);
}

const carried: readonly Target[] = [
	{
		name: "ZIP",
		seeds: [
			zipOf([
				{ name: "result.json", content: "{}".repeat(40) },
				{ name: "b", content: "b", method: 0 },
			]),
		],
		read: readZip,
	},
	{ name: "the worker's frames", seeds: [frames], read: readFrames },
];

export const targets: readonly Target[] = [
	...tensors,
	...pictures,
	...models,
	...documents,
	...trtexec,
	...machine,
	...carried,
];
