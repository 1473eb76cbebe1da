// The recordings behind the replayed trtexec: what one command line asks for, the files that it leaves and the lines that it says.
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

const fixtures = join(dirname(fileURLToPath(import.meta.url)), "../../fixtures");
/** Steps of each comparison, once read. */
const comparisons = new Map();

export let config;
export let flags;
let argv;
let cwd;
let folder;
let recorded;

/** All functions below speak of this command line until the next one is opened. */
export function openRecording(configPath, theirArgv, theirCwd) {
	[argv, cwd] = [theirArgv, theirCwd];
	config = JSON.parse(readFileSync(configPath, "utf8"));
	folder = join(fixtures, "comparisons", config.comparison);
	recorded =
		comparisons.get(folder) ??
		JSON.parse(gunzipSync(readFileSync(join(folder, "steps.json.gz"))).toString("utf8"));
	comparisons.set(folder, recorded);
	flags = new Map(
		argv.map((argument) => [argument.split("=", 1)[0], argument.slice(argument.indexOf("=") + 1)]),
	);
}

/** A path of the command line. */
const at = (path) => resolve(cwd, path);

/** How often this was asked before; one file a name. */
export function countUp(name) {
	mkdirSync(config.state, { recursive: true });
	const path = join(config.state, name);
	const before = existsSync(path) ? Number(readFileSync(path, "utf8")) : 0;
	writeFileSync(path, String(before + 1));
	return before;
}

/** A plan of ours begins with a line that says which recorded one it stands for. */
function planLoaded() {
	try {
		return JSON.parse(
			readFileSync(at(flags.get("--loadEngine")))
				.toString("utf8")
				.split("\n", 1)[0],
		);
	} catch {
		return { arm: "base", build: 0 };
	}
}

const armOfPlan = () => planLoaded().arm;

/** How much slower than the recorded engine this build of it is. */
function buildFactor() {
	const { arm, build } = planLoaded();
	return config.buildFactors?.[arm]?.[build] ?? 1;
}

/** Whose model it is; where both arms build the same one, or one of a test's own, the base is built first. */
function armOfModel() {
	if (config.as !== undefined) return config.as;
	const model = readFileSync(at(flags.get("--onnx")));
	const builds = countUp("build");
	const known = Object.entries(config.models).find(([, path]) => model.equals(readFileSync(path)));
	return known?.[0] ?? ["base", "head"][builds] ?? "head";
}

function stepAsked() {
	if (flags.has("--help")) return "help";
	if (flags.has("--onnx")) return "build";
	if (flags.has("--exportProfile")) return "profile";
	if (flags.has("--dumpRawBindingsToFile")) return "golden";
	// A run of no duration only warms the caches.
	return Number(flags.get("--duration")) === 0 ? "warm" : "perf";
}

function askedFor() {
	const step = stepAsked();
	if (step === "help") return { step };
	if (step === "build") return { step, arm: armOfModel() };
	const arm = armOfPlan();
	return step === "perf" ? { step, arm, n: countUp(`perf-${arm}`) } : { step, arm, n: 0 };
}

/** Whether this can be answered without a process that does it: it goes wrong in no way, takes no time and ends by itself. */
export function isPlain() {
	if ((config.scale ?? 0) !== 0) return false;
	const step = stepAsked();
	const arm = step === "help" || step === "build" ? null : armOfPlan();
	return !(config.faults ?? []).some(
		(one) => one.step === step && (arm === null || (one.arm ?? arm) === arm),
	);
}

/** What is asked for now; written down for the test to read. */
export function noteAsked(visible) {
	const asked = askedFor();
	mkdirSync(config.state, { recursive: true });
	appendFileSync(
		join(config.state, "asked.jsonl"),
		`${JSON.stringify({ step: asked.step, argv, visible })}\n`,
	);
	return asked;
}

/** Of one model where the recording has several. */
const modelAsked = () =>
	flags.has("--onnx") ? basename(flags.get("--onnx"), ".onnx") : (planLoaded().model ?? null);

export function find({ step, arm, n }) {
	const kind = step === "warm" ? "perf" : step;
	const model = modelAsked();
	const found = recorded.steps.filter(
		(one) => one.kind === kind && one.arm === arm && (one.model ?? model) === model,
	);
	const one = step === "golden" ? found[Math.max(0, caseOfInputs())] : found[(n ?? 0) % found.length];
	// What this side said of the model was not recorded; another refusal stands in.
	return one?.recording === undefined ? one : recordedCase(one.recording);
}

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Inputs that the command line names, by tensor. */
function loadedInputs() {
	const list = flags.get("--loadInputs");
	return new Map(
		(list ?? "")
			.split(",")
			.flatMap((part) =>
				part === "" ? [] : [[part.slice(0, part.lastIndexOf(":")), part.slice(part.lastIndexOf(":") + 1)]],
			),
	);
}

/** Which golden case has exactly these bytes; -1 where none has. */
function caseOfInputs() {
	const { cases } = JSON.parse(readFileSync(join(folder, "golden/golden.json"), "utf8"));
	const got = loadedInputs();
	return cases.findIndex(({ inputs }) =>
		Object.entries(inputs).every(
			([name, file]) => got.has(name) && sha256(readFileSync(at(got.get(name)))) === file.sha256,
		),
	);
}

function writePlan(step, path) {
	const build = Number(/-build(\d+)\//.exec(path)?.[1] ?? 1) - 1;
	const { arm, model } = step;
	const line = Buffer.from(`${JSON.stringify({ comparison: config.comparison, arm, build, model })}\n`);
	const plan = Buffer.alloc(step.wrote[`${arm}.plan`]?.bytes ?? 4096);
	line.copy(plan);
	writeFileSync(path, plan);
}

/** The columns back into the text that trtexec writes. */
export function renderTimes(times) {
	const factor = buildFactor();
	const slowed = (key, values) =>
		factor !== 1 && key === "computeMs" ? values.map((ms) => ms * factor) : values;
	const columns = new Map(times.map(([key, values]) => [key, slowed(key, values)]));
	const column = (key) =>
		typeof columns.get(key) === "string" ? columns.get(columns.get(key)) : columns.get(key);
	const keys = times.map(([key]) => key);
	const rows = column(keys[0]).map(
		(_, row) => `{ ${keys.map((key) => `"${key}" : ${column(key)[row]}`).join(", ")} }`,
	);
	return `[\n  ${rows.join("\n, ")}\n]\n`;
}

/** What the engine said: the reference and the recorded differences from it. */
function recordedOutput(key, n, name) {
	const reference = readFileSync(join(folder, "golden", `${name.split(".output.")[0]}-${n}.bin`));
	const answer = gunzipSync(readFileSync(join(folder, "outputs", recorded.outputs[key])));
	for (let byte = 0; byte < answer.length; byte += 4)
		answer.writeInt32LE((answer.readInt32LE(byte) + reference.readInt32LE(byte)) | 0, byte);
	return answer;
}

function rowsOf(bytes, count) {
	const size = bytes.length / count;
	return Array.from({ length: count }, (_, row) => bytes.subarray(row * size, (row + 1) * size));
}

/** Rows of the first case get its answers in any order; nobody recorded what the engine makes of others. */
function answerRows(answer) {
	const [path, ...others] = loadedInputs().values();
	const [{ inputs }] = JSON.parse(readFileSync(join(folder, "golden/golden.json"), "utf8")).cases;
	const [input, ...more] = Object.values(inputs);
	const given = path === undefined ? Buffer.alloc(0) : readFileSync(at(path));
	const stored = readFileSync(join(folder, "golden", input.path));
	if (others.length > 0 || more.length > 0 || given.length !== stored.length)
		return Buffer.alloc(answer.length);
	const count = input.shape[0];
	const [known, answers] = [rowsOf(stored, count), rowsOf(answer, count)];
	const rows = rowsOf(given, count).map((row) => {
		const place = known.findIndex((one) => one.equals(row));
		return place < 0 ? Buffer.alloc(answers[0].length) : answers[place];
	});
	return Buffer.concat(rows);
}

function writeOutputs(step) {
	const known = caseOfInputs();
	const n = Math.max(0, known);
	const prefix = `${step.arm}-${n}-`;
	for (const key of Object.keys(recorded.outputs)) {
		if (!key.startsWith(prefix)) continue;
		const name = key.slice(prefix.length);
		const answer = recordedOutput(key, n, name);
		writeFileSync(at(name), known < 0 ? answerRows(answer) : answer);
	}
}

/** Times of which the log states averages, spread evenly over the recorded wall time. */
function timesOf({ averagesMs = [], queries, wallMs, times }) {
	if (averagesMs.length === 0) return times;
	const rows = Array.from({ length: queries }, (_, row) => row);
	const computeMs = rows.map((row) => averagesMs[Math.floor(row / 10) % averagesMs.length]);
	const start = rows.map((row) => Number(((row * wallMs) / queries).toPrecision(6)));
	const end = rows.map((row) => Number((start[row] + computeMs[row]).toPrecision(6)));
	const columns = [
		["startEnqMs", start],
		["endEnqMs", start],
		["startH2dMs", start],
		["endH2dMs", start],
	];
	columns.push(["startComputeMs", start], ["endComputeMs", end], ["startD2hMs", end], ["endD2hMs", end]);
	const zeros = rows.map(() => 0);
	return [...columns, ["h2dMs", zeros], ["computeMs", computeMs], ["d2hMs", zeros], ["latencyMs", computeMs]];
}

export function writeFiles(step) {
	// A refused build leaves no plan.
	if (flags.has("--saveEngine") && (step.model === undefined || step.exitCode === 0))
		writePlan(step, at(flags.get("--saveEngine")));
	if (flags.has("--timingCacheFile"))
		writeFileSync(at(flags.get("--timingCacheFile")), `cache of ${step.step}\n`);
	const times = flags.has("--exportTimes") ? timesOf(step) : undefined;
	if (times) writeFileSync(at(flags.get("--exportTimes")), renderTimes(times));
	if (step.text["layers.json"] && flags.has("--exportLayerInfo"))
		writeFileSync(at(flags.get("--exportLayerInfo")), step.text["layers.json"]);
	if (step.text["profile.json"] && flags.has("--exportProfile"))
		writeFileSync(at(flags.get("--exportProfile")), step.text["profile.json"]);
	if (step.kind === "golden") writeOutputs(step);
}

/** A whole comparison can be another version's; a recorded failure speaks for its own. */
function asVersion(line, step) {
	if (config.version === undefined || step.kind === "failure") return line;
	const number = Number(config.version);
	const dotted = `${Math.floor(number / 10_000)}.${Math.floor(number / 100) % 100}.${number % 100}`;
	return line
		.replaceAll("TensorRT v100600", `TensorRT v${config.version}`)
		.replaceAll("TensorRT version: 10.6.0", `TensorRT version: ${dotted}`);
}

/** The recorded lines with the paths of this command line, and of the inputs that it really gives. */
export function spoken(step) {
	const swaps = step.argv.slice(1).flatMap((argument) => {
		const [name] = argument.split("=", 1);
		const value = argument.slice(name.length + 1);
		const ours = flags.get(name);
		return value.length > 3 &&
			value.includes(".") &&
			ours !== undefined &&
			ours !== value &&
			name !== "--loadInputs"
			? [[value, ours]]
			: [];
	});
	const inputs = loadedInputs();
	return step.transcript.map(([ms, stream, text]) => {
		let line = asVersion(
			swaps.reduce((said, [from, to]) => said.replaceAll(from, to), text),
			step,
		);
		for (const [name, path] of inputs)
			line = line.replace(
				new RegExp(`Using (?:random values|values loaded from .+) for input ${name}$`),
				`Using values loaded from ${path} for input ${name}`,
			);
		return [ms, stream, line];
	});
}

/** A recorded case beside the comparisons: a failure as it was. */
export function recordedCase(name) {
	const place = join(fixtures, "trtexec", name);
	const {
		argv: theirs,
		exitCode,
		signal,
		wrote,
	} = JSON.parse(readFileSync(join(place, "meta.json"), "utf8"));
	const file = join(place, "transcript.jsonl.gz");
	const transcript = existsSync(file)
		? gunzipSync(readFileSync(file))
				.toString("utf8")
				.trimEnd()
				.split("\n")
				.map((line) => JSON.parse(line))
		: [];
	const plan = theirs.find((argument) => argument.startsWith("--saveEngine="))?.slice("--saveEngine=".length);
	if (plan && wrote[plan] && flags.has("--saveEngine"))
		writeFileSync(at(flags.get("--saveEngine")), Buffer.alloc(Math.min(wrote[plan].bytes, 1 << 16), 1));
	return { argv: theirs, exitCode, signal, transcript, kind: "failure", text: {}, wrote: {} };
}

export function helpText() {
	const ofBase = recorded.steps.find(({ arm }) => arm === config.as)?.transcript?.[0]?.[2] ?? "";
	const digits = config.version ?? /TensorRT v(\d+)/.exec(ofBase)?.[1] ?? "100600";
	const banner = (word) => `&&&& ${word} TensorRT.trtexec [TensorRT v${digits}] [b26] # trtexec --help\n`;
	return `${banner("RUNNING")}=== Model Options ===\n  --onnx=<file>               ONNX model\n${banner("PASSED")}`;
}
