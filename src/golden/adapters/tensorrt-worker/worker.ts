// Runs golden cases on TensorRT in one Python process, worker/tensorrt.py; whatever goes wrong comes back as a value.

import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { describeFailure, orFailure } from "../../../adapters/process/failure.ts";
import type { Processes } from "../../../adapters/process/processes.ts";
import type { ProcessRecord } from "../../../adapters/process/spawn.ts";
import { orWriteError } from "../../../adapters/process/write-error.ts";
import { ConfigError, type ToolCode, ToolError } from "../../../core/errors.ts";
import type {
	CalibrationJob,
	GoldenWorker,
	GoldenWorkerJob,
	InferResult,
	WorkerCase,
} from "../../../ports/backend.ts";
import type { ToolFailure } from "../../../ports/world.ts";
import { encodeHeader } from "../../formats/worker/frames.ts";
import { createConversation, encodeFitting, type Outcome } from "./conversation.ts";

interface TensorRtWorkerOptions {
	python: string;
	workerPath: string;
	processes: Processes;
	/** Bytes that the inputs or the outputs of one case may have; 2 GiB by default. */
	payloadBytes?: number;
}

type Probed = { tensorrt: string; device: string } | { absent: string };

export interface TensorRtWorker extends GoldenWorker {
	probe(): Promise<Probed>;
}

const defaultPayloadBytes = 2 * 1024 ** 3;
/** Packed files may become much larger. */
const maxCasesBytes = 32 * 1024 ** 3;
/** Importing TensorRT from a network disk takes tens of seconds. */
const probeTimeoutMs = 120_000;
const what = "TensorRT's Python worker";

export function tensorRtWorker(options: TensorRtWorkerOptions): TensorRtWorker {
	return {
		probe: () => probe(options),
		infer: (job) => orFailure(() => infer(job, options)),
		calibrate: (job) => calibrate(job, options),
	};
}

async function probe(options: TensorRtWorkerOptions): Promise<Probed> {
	const run = { arguments: ["--probe"], cases: [], timeoutMs: probeTimeoutMs };
	const { record, outcome } = await converse(run, options);
	const { hello, error } = outcome;
	if (hello === null || error !== null) return { absent: describeStop(record, outcome, run).message };
	return { tensorrt: hello.tensorrt, device: hello.device };
}

async function infer(job: GoldenWorkerJob, options: TensorRtWorkerOptions): Promise<InferResult> {
	const plugins = job.plugins.map((path) => `--plugin=${path}`);
	const own = [
		`--engine=${job.enginePath}`,
		`--onnx=${job.onnxPath}`,
		...(job.besidePath === undefined ? [] : [`--beside=${job.besidePath}`]),
		...(job.isStripped ? ["--stripped"] : []),
		...(job.mode === undefined ? [] : [`--mode=${job.mode}`]),
	];
	const run = { ...job, arguments: [...own, `--device=${job.device}`, ...plugins] };
	const { record, outcome } = await converse(run, options);
	const { wallMs } = record;
	const cases = outcome.cases.filter((answer) => answer !== null);
	if (outcome.ended && outcome.fault === null && cases.length === job.cases.length)
		return { state: "done", cases, wallMs };
	return { state: "failed", failure: describeStop(record, outcome, job), wallMs };
}

/** The cases go through a file, since nothing answers them. */
async function calibrate(job: CalibrationJob, options: TensorRtWorkerOptions) {
	const { cachePath, modelPath, method, device, plugins } = job;
	const casesPath = `${cachePath}.cases`;
	try {
		const frames = framesOf(job, options.payloadBytes ?? defaultPayloadBytes);
		await orWriteError(pipeline(frames, createWriteStream(casesPath)), casesPath);
		const files = [`--calibrate=${modelPath}`, `--cases=${casesPath}`, `--cache=${cachePath}`];
		const settings = [
			`--method=${method}`,
			`--device=${device}`,
			...plugins.map((path) => `--plugin=${path}`),
		];
		const run = { ...job, arguments: [...files, ...settings], cases: [] };
		const { record, outcome } = await converse(run, options);
		if (outcome.ended && outcome.hello !== null) return outcome.hello;
		const failure = describeStop(record, outcome, run);
		// The cases are at fault, and stay so on another runner.
		if (/^(?:input|shape)$/.test(outcome.error?.code ?? ""))
			throw new ConfigError({ ...failure, code: "tensor-invalid" });
		throw new ToolError(failure);
	} finally {
		await rm(casesPath, { force: true });
	}
}

async function* framesOf({ cases, narrowsIntegers }: CalibrationJob, payloadBytes: number) {
	const type = narrowsIntegers ? "int32" : undefined;
	let left = maxCasesBytes;
	for await (const { id, inputs } of cases) {
		const limits = { dtypes: { get: () => type }, payloadBytes: Math.min(left, payloadBytes) };
		const pieces = encodeFitting([id], { inputs }, limits);
		if (typeof pieces === "string") {
			const message = `TensorRT cannot be given calibration case ${JSON.stringify(id)}: ${pieces}.`;
			throw new ConfigError({ code: "tensor-invalid", message, fix: "Use fewer or smaller cases." });
		}
		for (const piece of pieces) left -= piece.length;
		yield* pieces;
	}
	yield encodeHeader({ kind: "end" });
}

interface Run {
	arguments: readonly string[];
	cases: readonly WorkerCase[];
	sequence?: GoldenWorkerJob["sequence"];
	timeoutMs: number;
	logPath?: string;
	onCase?(done: number): void;
}

async function converse(run: Run, options: TensorRtWorkerOptions) {
	const { python, workerPath, processes, payloadBytes = defaultPayloadBytes } = options;
	const stop = new AbortController();
	const conversation = createConversation({
		cases: run.cases,
		payloadBytes,
		sequence: run.sequence,
		onCase: run.onCase,
		onFault: () => stop.abort(),
	});
	const record = await processes.run({
		argv: [python, workerPath, ...run.arguments, `--max-payload-bytes=${payloadBytes}`],
		timeoutMs: run.timeoutMs,
		logPath: run.logPath,
		signal: stop.signal,
		talk: conversation.talk,
	});
	return { record, outcome: conversation.outcome() };
}

function describeStop(
	record: ProcessRecord,
	outcome: Outcome,
	run: { cases: readonly WorkerCase[]; timeoutMs: number },
): ToolFailure {
	const current = outcome.hello === null ? undefined : run.cases[outcome.cases.indexOf(null)];
	const where = current === undefined ? "" : ` at case ${JSON.stringify(current.id)}`;
	const output = record.exitCode === 0 ? "ended before it had answered" : undefined;
	const ended = describeFailure(record, { what: `${what}${where}`, timeoutMs: run.timeoutMs, output });
	if (outcome.fault !== null)
		return {
			...ended,
			code: "tool-output",
			message: `${what}${where} wrote invalid output: ${outcome.fault}.`,
			fix: "Read the log; if it happens again, report it as a bug.",
		};
	if (outcome.error === null || record.state === "timed-out") return ended;
	const known = Object.hasOwn(errors, outcome.error.code) ? errors[outcome.error.code] : undefined;
	const [code, fix] = known ?? otherError;
	const message = `${what}${where} stopped: ${outcome.error.message.replace(/\.$/, "")}.`;
	return { ...ended, code, message, fix };
}

const fixOfCases = "Give calibration data of the model's types, all cases in one shape.";
const errors: Readonly<Record<string, readonly [code: ToolCode, fix: string]>> = {
	"tensorrt-missing": [
		"tool-missing",
		"Install TensorRT's Python package, of the same version as trtexec, for this Python.",
	],
	"cuda-missing": [
		"tool-missing",
		"Run on a machine with an NVIDIA GPU and its driver; in a container, pass the GPU through.",
	],
	plan: ["tool-output", "Build the engine with the TensorRT version that Python has, on this kind of GPU."],
	plugin: ["tool-output", "Check the path of the plugin library and the libraries that it needs."],
	format: ["tool-output", "Build the engine with linear memory formats of its inputs and outputs."],
	input: ["tool-output", fixOfCases],
	shape: ["tool-output", fixOfCases],
	calibration: ["tool-output", "Read the log. A model with Q/DQ nodes has its ranges and is not calibrated."],
	memory: ["tool-crashed", "Free GPU memory: look for other processes with nvidia-smi."],
};
const otherError = [
	"tool-crashed",
	"Read the log. If it also crashes on another machine, the tool or the model is at fault.",
] as const;
