// Runs one job in a worker process and reads its reply; whatever goes wrong comes back as a value.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ToolFailure } from "../../ports/world.ts";
import { describeFailure } from "../process/failure.ts";
import type { Processes } from "../process/processes.ts";
import type { ProcessRecord } from "../process/spawn.ts";
import { inNewFolder, orWriteError } from "../process/write-error.ts";
import { parseReply, type Reply, type Task } from "./protocol.ts";
import { runHosted } from "./worker-hosts.ts";

export interface WorkerPlace {
	processes: Processes;
	nodePath: string;
	workerPath: string;
}

export interface WorkerLimits {
	logPath: string;
	timeoutMs: number;
	onLine?(line: string): void;
	isAlone?: boolean;
}

/** refused: the worker is alive, and ONNX Runtime refused with this message. */
export type WorkerResult<K extends Task["kind"]> =
	| { state: "done"; reply: Extract<Reply, { kind: K }>; wallMs: number }
	| { state: "refused"; message: string; record: ProcessRecord; wallMs: number }
	| { state: "failed"; failure: ToolFailure; record: ProcessRecord; wallMs: number };

/** A reply holds names and sizes only; what is longer is not one of ours. */
const longestReply = 256 * 1024 * 1024;

export type TaskOf<K extends Task["kind"]> = Omit<Extract<Task, { kind: K }>, "resultPath">;

/** @throws ConfigError output-unwritable, ToolError disk-full where the log or the job file cannot be written. */
export async function runWorker<K extends Task["kind"]>(
	task: TaskOf<K>,
	place: WorkerPlace,
	limits: WorkerLimits,
): Promise<WorkerResult<K>> {
	return inNewFolder("trtgate-job-", async (folder) => {
		const [jobPath, resultPath] = [join(folder, "job.json"), join(folder, "reply.json")];
		const isHosted =
			task.flavour === "wasm" && task.kind !== "count" && task.kind !== "profile" && limits.isAlone !== true;
		const stays = isHosted || undefined;
		await orWriteError(writeFile(jobPath, JSON.stringify({ ...task, stays, resultPath })), jobPath);
		const { logPath, timeoutMs, onLine } = limits;
		const { nodePath, workerPath, processes } = place;
		// Node's options of the user are not for this process.
		const env = { NODE_OPTIONS: "" };
		const job = { argv: [nodePath, workerPath, jobPath] as const, env, logPath, timeoutMs, onLine };
		const kind = [workerPath, task.folder, task.threads].join();
		const record = isHosted ? await runHosted({ ...job, kind }, processes) : await processes.run(job);
		return judgeEnd<K>(record, await readReply(resultPath), task.kind as K, timeoutMs);
	});
}

async function readReply(path: string): Promise<Reply | null> {
	const bytes = await readFile(path).catch(() => null);
	return bytes === null || bytes.length > longestReply ? null : parseReply(bytes.toString("utf8"));
}

function judgeEnd<K extends Task["kind"]>(
	record: ProcessRecord,
	reply: Reply | null,
	kind: K,
	timeoutMs: number,
): WorkerResult<K> {
	const { wallMs } = record;
	// A worker that has replied ends itself by a signal.
	const answer = record.state === "exited" || record.state === "signalled" ? reply : null;
	if (answer?.kind === "failed")
		return { state: "refused", message: answer.message, record: { ...record, state: "exited" }, wallMs };
	if (answer?.kind === kind) return { state: "done", reply: answer as Extract<Reply, { kind: K }>, wallMs };
	const left = reply === null ? "left no result that can be read" : "left the result of another job";
	const output = record.exitCode === 0 ? left : undefined;
	const failure = describeFailure(record, { what: "ONNX Runtime's worker process", timeoutMs, output });
	return { state: "failed", failure, record, wallMs };
}

export function badOutput(what: string, record: { logPath: string }): ToolFailure {
	return {
		code: "tool-output",
		message: `ONNX Runtime's worker process wrote an invalid result: ${what}.`,
		fix: "Read the log; if it happens again, report it as a bug.",
		log: record.logPath,
	};
}
