// Runs one job in a worker process and reads its reply; whatever goes wrong comes back as a value.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ToolError } from "../../core/errors.ts";
import type { OnnxGraph, OnnxModel } from "../../core/onnx/model.ts";
import { diagnoseOrt, explainRun } from "../../formats/onnxruntime/failures.ts";
import type { ToolFailure } from "../../ports/world.ts";
import { describeFailure } from "../process/failure.ts";
import { cutLines, lastLines, openLog } from "../process/log.ts";
import type { Processes } from "../process/processes.ts";
import type { Pipes, ProcessRecord } from "../process/spawn.ts";
import { inNewFolder, orWriteError } from "../process/write-error.ts";
import { idleLine, parseReply, type Reply, type Task } from "./protocol.ts";

export interface WorkerPlace {
	processes: Processes;
	workerPath: string;
}

interface WorkerLimits {
	logPath: string;
	timeoutMs: number;
	onLine?(line: string): void;
	isAlone?: boolean;
}

/** `refused`: what ONNX Runtime said, if the worker lives and the model is at fault. */
type WorkerResult<K extends Task["kind"]> =
	| { state: "done"; reply: Extract<Reply, { kind: K }>; wallMs: number }
	| { state: "failed"; failure: ToolFailure; refused?: string; wallMs: number };

/** A reply has only names and sizes, so anything longer is not ours. */
const longestReply = 256 * 1024 * 1024;

export type TaskOf<K extends Task["kind"]> = Omit<Extract<Task, { kind: K }>, "resultPath">;

export async function runWorker<K extends Task["kind"]>(
	task: TaskOf<K>,
	{ workerPath, processes }: WorkerPlace,
	{ isAlone, ...limits }: WorkerLimits,
): Promise<WorkerResult<K>> {
	return inNewFolder("trtgate-job-", async (folder) => {
		const [jobPath, resultPath] = [join(folder, "job.json"), join(folder, "reply.json")];
		const stays = (task.flavour === "wasm" && isAlone !== true) || undefined;
		await orWriteError(writeFile(jobPath, JSON.stringify({ ...task, stays, resultPath })), jobPath);
		// The user's Node options must not affect this process.
		const job: Job = { argv: [process.execPath, workerPath, jobPath], env: { NODE_OPTIONS: "" }, ...limits };
		const kind = [workerPath, task.folder].join();
		const record = stays ? await runHosted(job, kind, processes) : await processes.run(job);
		const bytes = await readFile(resultPath).catch(() => null);
		const isReply = bytes !== null && bytes.length <= longestReply;
		const reply = isReply ? parseReply(bytes.toString("utf8")) : null;
		return judgeEnd<K>(record, reply, task.kind as K, limits.timeoutMs);
	});
}

function judgeEnd<K extends Task["kind"]>(
	record: ProcessRecord,
	reply: Reply | null,
	kind: K,
	timeoutMs: number,
): WorkerResult<K> {
	const { wallMs } = record;
	// A worker that has replied ends itself with a signal.
	const answer = record.state === "exited" || record.state === "signalled" ? reply : null;
	if (answer?.kind === "failed")
		return { state: "failed", failure: refusal(answer.message, record), refused: answer.message, wallMs };
	if (answer?.kind === kind) return { state: "done", reply: answer as Extract<Reply, { kind: K }>, wallMs };
	const left = reply === null ? "left no result that can be read" : "left the result of another job";
	const output = record.exitCode === 0 ? left : undefined;
	const failure = describeFailure(record, { what: "ONNX Runtime's worker process", timeoutMs, output });
	return { state: "failed", failure, wallMs };
}

function refusal(message: string, record: ProcessRecord): ToolFailure {
	const { code, fix, excerpt } = diagnoseOrt(message);
	const output = `cannot run this engine: ${explainRun(message).replace(/\.$/, "")}`;
	const texts = { what: "ONNX Runtime", timeoutMs: 0, fix, output };
	const isRun = code === "ort-run-failed" || code === "ort-input-mismatch";
	const failure = describeFailure({ ...record, state: "exited" }, texts);
	return { ...failure, excerpt, ...(isRun ? { refusal: code } : {}) };
}

export function badOutput(what: string, { logPath }: { logPath: string }): ToolError {
	return new ToolError({
		code: "tool-output",
		message: `ONNX Runtime's worker process wrote an invalid result: ${what}.`,
		fix: "Read the log; if it happens again, report it as a bug.",
		log: logPath,
	});
}

// Worker processes that live on for the next job: starting ONNX Runtime in WebAssembly takes a quarter of a second of CPU, one more
// session in a process that has it a few milliseconds. Only if an earlier job cannot change a later one: never for a model that draws
// random numbers (the generator is seeded once a copy of the runtime), or after a job that failed. Counting loads a copy of its own.

interface Job extends Omit<WorkerLimits, "isAlone"> {
	argv: readonly [string, string, string];
	env: Readonly<Record<string, string>>;
}

interface Host {
	kind: string;
	run(job: Job): Promise<ProcessRecord>;
}

const foreverMs = 2 ** 31 - 1;
const logCapBytes = 64 * 1024 * 1024;
const tailLines = 40;

const waiting = new WeakMap<Processes, Set<Host>>();

function runHosted(job: Job, kind: string, processes: Processes) {
	const hosts = waiting.get(processes) ?? new Set();
	waiting.set(processes, hosts);
	const host = [...hosts].find((each) => each.kind === kind) ?? createHost(kind, processes, hosts);
	hosts.delete(host);
	return processes.busy(host.run(job));
}

function createHost(kind: string, processes: Processes, hosts: Set<Host>) {
	const stop = new AbortController();
	let pipes: Pipes | null = null;
	let onLine: (line: string) => void = () => {};
	let life: Promise<ProcessRecord> | null = null;
	const start = ({ argv, env }: Job) =>
		processes.run({
			...{ argv, env, timeoutMs: foreverMs, signal: stop.signal, beside: true, background: true },
			talk(its) {
				pipes = its;
				its.output.on("data", cutLines((line) => onLine(line)).push);
			},
			onLine: (line) => onLine(line),
		});
	const run = async (job: Job): Promise<ProcessRecord> => {
		const { argv, logPath, timeoutMs } = job;
		const [, , jobPath] = argv;
		const started = performance.now();
		const log = await openLog(logPath, logCapBytes);
		const tail = lastLines(tailLines);
		let isLate = false;
		// Holds this process open, which a host in the background does not.
		const timer = setTimeout(() => {
			isLate = true;
			stop.abort();
		}, timeoutMs);
		const done = new Promise<null>((resolve) => {
			onLine = (line) => {
				if (line === `${idleLine}${jobPath}`) return resolve(null);
				tail.add(line);
				if (pipes !== null) log.write(Buffer.from(`${line}\n`), pipes.output);
				job.onLine?.(line);
			};
		});
		if (life === null) life = start(job).finally(() => hosts.delete(host));
		else pipes?.input.write(`${jobPath}\n`);
		const ended = await Promise.race([done, life]);
		clearTimeout(timer);
		onLine = () => {};
		await log.close();
		const shared = { wallMs: performance.now() - started, tail: tail.lines(), logPath, argv };
		if (ended !== null) return { ...ended, ...shared, state: isLate ? "timed-out" : ended.state };
		hosts.add(host);
		return { state: "exited", exitCode: 0, signal: null, stdout: "", problem: "", ...shared };
	};
	const host: Host = { kind, run };
	return host;
}

const drawing = /Random|Bernoulli|Multinomial|Dropout/;

/** Whether outputs may depend on a process's random seed; if in doubt, they do. */
export function drawsRandomly({ graph, functions }: OnnxModel): boolean {
	const draws = ({ nodes, subgraphs }: Pick<OnnxGraph, "nodes" | "subgraphs">): boolean =>
		nodes.some(({ op }) => drawing.test(op)) || subgraphs.some((inner) => draws(inner.graph));
	return draws(graph) || functions.some(draws);
}
