// Prints how fast and in how much memory our ONNX reader inspects large models, compared with the onnx package and protobufjs; how fast a deep
// graph is judged; and how long the whole command takes, of dist/, beside its limit. `node bench/preflight.ts [PROCESSES [MODEL.onnx …]]`
import { execFileSync, spawnSync } from "node:child_process";
import {
	closeSync,
	ftruncateSync,
	mkdtempSync,
	openSync,
	rmSync,
	statSync,
	writeFileSync,
	writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { build } from "rolldown";
import { preflight } from "../src/core/onnx/preflight.ts";
import { memorySource } from "../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../src/formats/onnx/reader.ts";
import {
	bytesField as bytes,
	fieldHeader as header,
	integerField as integer,
	joinBytes as joined,
	textField as text,
} from "../src/formats/onnx/write.ts";
import {
	attribute,
	graph,
	int64s,
	model as modelFile,
	node,
	opset,
	tensor,
	value,
} from "../test/support/onnx-writer.ts";

const weightBytes = 10 * 2 ** 20;
const weightDims = [1, weightBytes / 4];
const processes = Number(process.argv[2] ?? 7);

/** Writes `weights` initialisers as holes in a sparse file: Mul nodes in a row, then an If with two subgraphs. */
function writeModel(path: string, weights: number): void {
	const names = Array.from({ length: weights }, (_, index) => `layers.${index}.weight`);
	const heads = names.map((name) => joined(tensor({ name, dims: weightDims }), header(9, weightBytes)));
	const entries = heads.map((head) => joined(header(5, head.length + weightBytes), head));
	const branch = (name: string, op: string): Uint8Array =>
		attribute.graph(
			name,
			graph({
				name,
				inputs: [],
				nodes: [node({ op, inputs: [`t${weights}`], outputs: [name] })],
				outputs: [value(name, null)],
			}),
		);
	const nodes = names.map((name, index) =>
		node({
			op: "Mul",
			name: `/layers.${index}/Mul`,
			inputs: [`t${index}`, name],
			outputs: [`t${index + 1}`],
		}),
	);
	const gate = node({
		op: "If",
		name: "/gate",
		inputs: ["flag"],
		attributes: [branch("then_branch", "Relu"), branch("else_branch", "Neg")],
	});
	const inputs = [value("t0", ["batch", weightBytes / 4]), value("flag", [], 9)];
	const body = graph({ nodes: [...nodes, gate], inputs, outputs: [value("y", null)] });
	const graphBytes = body.length + entries.reduce((sum, entry) => sum + entry.length + weightBytes, 0);
	const file = openSync(path, "w");
	let position = writeSync(
		file,
		joined(integer(1, 8), text(2, "bench"), header(7, graphBytes), body),
		0,
		undefined,
		0,
	);
	for (const entry of entries) position += writeSync(file, entry, 0, undefined, position) + weightBytes;
	position += writeSync(file, bytes(8, opset("", 17)), 0, undefined, position);
	ftruncateSync(file, position);
	closeSync(file);
}

/** Each is measured in a separate process; each prints `{ ms, peakMb }` or fails. */
const ours = `
import { closeSync, openSync, statSync } from "node:fs";
import { fileSource, readOnnx } from "./reader.mjs";
const start = performance.now();
const file = openSync(process.argv[2], "r");
const model = readOnnx(fileSource(file, statSync(process.argv[2]).size), process.argv[2]);
closeSync(file);
const ms = performance.now() - start;
if (model.graph.subgraphs.length !== 2) throw new Error("misread");
console.log(JSON.stringify({ ms, peakMb: process.resourceUsage().maxRSS / 1024 }));
`;
const bareNode = "console.log(JSON.stringify({ ms: 0, peakMb: process.resourceUsage().maxRSS / 1024 }));";
const protobufjs = `
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
const protobuf = createRequire(process.argv[3])("protobufjs");
const type = protobuf.parse(readFileSync(process.argv[4], "utf8")).root.lookupType("onnx.ModelProto");
const start = performance.now();
const model = type.decode(readFileSync(process.argv[2]));
const ms = performance.now() - start;
if (model.graph.node.length < 50) throw new Error("misread");
console.log(JSON.stringify({ ms, peakMb: process.resourceUsage().maxRSS / 1024 }));
`;
const python = `
import json, resource, sys, time
import onnx
start = time.perf_counter()
model = onnx.load(sys.argv[1])
ms = (time.perf_counter() - start) * 1000
print(json.dumps({"ms": ms, "peakMb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
`;

interface Sample {
	ms: number;
	peakMb: number;
}

function sample(argv: readonly [string, ...string[]]): Sample | string {
	const [program, ...rest] = argv;
	const { status, stdout, stderr } = spawnSync(program, rest, { encoding: "utf8" });
	if (status === 0) return JSON.parse(stdout) as Sample;
	const lines = (stderr ?? "").split("\n").filter((line) => /\w*(Error|Exception)\b.*:/.test(line));
	return (lines.at(-1) ?? `exit ${status}`).trim().slice(0, 90);
}

function median(values: readonly number[]): number {
	return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function line(label: string, samples: readonly (Sample | string)[]): void {
	const good = samples.filter((each) => typeof each !== "string");
	if (good.length === 0) {
		console.log(`  ${label.padEnd(28)} ${samples[0] ?? "not installed"}`);
		return;
	}
	const times = good.map((each) => each.ms);
	const [least, most] = [Math.min(...times), Math.max(...times)].map((ms) => ms.toFixed(1));
	const peak = Math.max(...good.map((each) => each.peakMb)).toFixed(0);
	console.log(
		`  ${label.padEnd(28)} ${median(times).toFixed(1).padStart(8)} ms (${least} to ${most}), peak memory ${peak.padStart(5)} MB`,
	);
}

/** The proto file of Python's onnx, or null where it is not installed. */
function findProto(): string | null {
	const script = "import onnx, os; print(os.path.join(os.path.dirname(onnx.__file__), 'onnx.proto'))";
	const { status, stdout } = spawnSync("python3", ["-c", script], { encoding: "utf8" });
	return status === 0 ? stdout.trim() : null;
}

function measureAll(folder: string, model: string, proto: string | null): void {
	const script = (name: string): string => join(folder, name);
	const repeat = (argv: readonly [string, ...string[]]): (Sample | string)[] =>
		Array.from({ length: processes }, () => sample(argv));
	line("bare Node", repeat([process.execPath, script("bare.mjs")]));
	line("trtgate", repeat([process.execPath, script("ours.mjs"), model]));
	line("Python onnx.load", proto === null ? [] : repeat(["python3", script("peer.py"), model]));
	line(
		"protobufjs",
		proto === null
			? []
			: repeat([process.execPath, script("protobufjs.mjs"), model, import.meta.filename, proto]),
	);
}

/** A chain of Conv, Relu, TopK, ReduceSum and MatMul nodes, each with its own weight: every rule has something to read. */
function deepModel(nodes: number): Uint8Array {
	const operators = ["Conv", "Relu", "TopK", "ReduceSum", "MatMul"];
	const names = Array.from({ length: nodes }, (_, index) => `w${index}`);
	return modelFile({
		inputs: [value("t0", ["batch", 64, 56, 56])],
		nodes: names.map((name, index) =>
			node({
				op: operators[index % operators.length] ?? "Relu",
				name: `n${index}`,
				inputs: [`t${index}`, name],
				outputs: [`t${index + 1}`],
			}),
		),
		initializers: names.map((name) => tensor({ name, dims: [2], dtype: 7, raw: int64s(1, 2) })),
		outputs: [value(`t${nodes}`, null)],
	});
}

/** In this process; the first call includes compilation. */
function measureJudgement(nodes: number): void {
	const onnx = readOnnx(memorySource(deepModel(nodes)), "deep.onnx");
	const times = Array.from({ length: 20 }, () => {
		const start = performance.now();
		preflight(
			{ path: "deep.onnx", onnx, sha256: "", external: [] },
			{ backend: "tensorrt", tensorrt: "10.6", precision: "fp16" },
		);
		return performance.now() - start;
	});
	console.log(
		`${nodes} nodes judged for TensorRT: first ${(times[0] ?? 0).toFixed(1)} ms, then median ${median(times.slice(1)).toFixed(1)} ms`,
	);
}

/** What a user waits for at most, on a quiet core. */
const limitMs = 100;

/** The least of several: other work on the machine only adds. */
function leastMs(argv: readonly string[]): number {
	const times = Array.from({ length: 2 * processes }, () => {
		const start = performance.now();
		spawnSync(process.execPath, argv);
		return performance.now() - start;
	});
	return Math.min(...times);
}

function measureCommand(models: readonly string[]): void {
	const bareMs = leastMs(["-e", "0"]);
	console.log(
		`\`trtgate preflight\`, least of ${2 * processes} processes; bare Node takes ${bareMs.toFixed(0)} ms:`,
	);
	for (const model of models) {
		const ms = leastMs([join(import.meta.dirname, "../dist/cli.js"), "preflight", model]);
		const verdict = ms <= limitMs ? "within" : "BEYOND";
		console.log(
			`  ${basename(model).padEnd(28)} ${ms.toFixed(0)} ms, ${(ms / bareMs).toFixed(1)} times bare Node, ${verdict} ${limitMs} ms`,
		);
	}
}

const folder = mkdtempSync(join(tmpdir(), "trtgate-bench-"));
try {
	// Bundled, as it ships: otherwise Node's own TypeScript loader would be measured too.
	writeFileSync(
		join(folder, "entry.ts"),
		`export { readOnnx } from ${JSON.stringify(join(import.meta.dirname, "../src/formats/onnx/reader.ts"))};\n` +
			`export { fileSource } from ${JSON.stringify(join(import.meta.dirname, "../src/adapters/process/input-file.ts"))};\n`,
	);
	await build({
		input: join(folder, "entry.ts"),
		platform: "node",
		output: { file: join(folder, "reader.mjs"), minify: true },
		logLevel: "silent",
	});
	const scripts = { "ours.mjs": ours, "bare.mjs": bareNode, "protobufjs.mjs": protobufjs, "peer.py": python };
	for (const [name, content] of Object.entries(scripts)) writeFileSync(join(folder, name), content);
	const proto = findProto();
	const cpu = execFileSync("uname", ["-m"], { encoding: "utf8" }).trim();
	console.log(
		`ONNX inspection, ${processes} fresh processes each, Node ${process.version}, ${cpu}, files in the page cache`,
	);
	for (const weights of [50, 220]) {
		const model = join(folder, `model-${weights}.onnx`);
		writeModel(model, weights);
		console.log(`${(statSync(model).size / 1e6).toFixed(0)} MB, ${weights + 1} nodes, 2 subgraphs:`);
		measureAll(folder, model, proto);
		rmSync(model);
	}
	for (const nodes of [5_000, 50_000]) measureJudgement(nodes);
	const [heavy, deep] = [join(folder, "20-mb.onnx"), join(folder, "1500-nodes.onnx")];
	writeModel(heavy, 2);
	writeFileSync(deep, deepModel(1_500));
	measureCommand([heavy, deep, ...process.argv.slice(3)]);
} finally {
	rmSync(folder, { recursive: true, force: true });
}
