// Runs golden cases on TensorRT in one Python process, worker/tensorrt.py; whatever goes wrong comes back as a value.

import { describeFailure, orFailure } from "../../../adapters/process/failure.ts";
import type { Processes } from "../../../adapters/process/processes.ts";
import type { ProcessRecord } from "../../../adapters/process/spawn.ts";
import type { ToolCode } from "../../../core/errors.ts";
import type {
	GoldenWorker,
	GoldenWorkerJob,
	InferCase,
	InferResult,
	InferredCase,
} from "../../../ports/backend.ts";
import type { ToolFailure } from "../../../ports/world.ts";
import { createConversation, type Outcome } from "./conversation.ts";

export interface TensorRtWorkerOptions {
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
/** Importing TensorRT from a network disk takes tens of seconds. */
const probeTimeoutMs = 120_000;
const what = "TensorRT's Python worker";

export function tensorRtWorker(options: TensorRtWorkerOptions): TensorRtWorker {
	return {
		probe: () => probe(options),
		infer: (job) => orFailure(() => infer(job, options)),
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
		...(job.isStripped ? ["--stripped"] : []),
	];
	const run = { ...job, arguments: [...own, `--device=${job.device}`, ...plugins] };
	const { record, outcome } = await converse(run, options);
	const { wallMs } = record;
	const cases = outcome.cases.filter((answer): answer is InferredCase => answer !== null);
	if (outcome.ended && outcome.fault === null && cases.length === job.cases.length)
		return { state: "done", cases, wallMs };
	return { state: "failed", failure: describeStop(record, outcome, job), wallMs };
}

interface Run {
	arguments: readonly string[];
	cases: readonly InferCase[];
	timeoutMs: number;
	logPath?: string;
	onCase?(done: number): void;
}

async function converse(
	run: Run,
	options: TensorRtWorkerOptions,
): Promise<{ record: ProcessRecord; outcome: Outcome }> {
	const { python, workerPath, processes, payloadBytes = defaultPayloadBytes } = options;
	const stop = new AbortController();
	const conversation = createConversation({
		cases: run.cases,
		payloadBytes,
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
	run: { cases: readonly InferCase[]; timeoutMs: number },
): ToolFailure {
	// Cases are answered in order.
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
	memory: ["tool-crashed", "Free GPU memory: look for other processes with nvidia-smi."],
};
const otherError = [
	"tool-crashed",
	"Read the log. If it also crashes on another machine, the tool or the model is at fault.",
] as const;
