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
		const stays = isHosted ? { stays: true } : {};
		await orWriteError(writeFile(jobPath, JSON.stringify({ ...task, ...stays, resultPath })), jobPath);
		const { isAlone: _, ...rest } = limits;
		const job = {
			argv: [place.nodePath, place.workerPath, jobPath] as const,
			env: workerEnvironment,
			...rest,
		};
		const record = isHosted
			? await runHosted(
					{ ...job, kind: [place.workerPath, task.folder, task.threads].join() },
					place.processes,
				)
			: await place.processes.run(job);
		return judgeEnd(record, await readReply(resultPath), {
			kind: task.kind as K,
			timeoutMs: limits.timeoutMs,
		});
	});
}

const workerEnvironment = { NODE_OPTIONS: "" };

async function readReply(path: string): Promise<Reply | null> {
	try {
		const bytes = await readFile(path);
		return bytes.length > longestReply ? null : parseReply(bytes.toString("utf8"));
	} catch {
		return null;
	}
}

function judgeEnd<K extends Task["kind"]>(
	record: ProcessRecord,
	reply: Reply | null,
	task: { kind: K; timeoutMs: number },
): WorkerResult<K> {
	const { wallMs } = record;
	// A worker that has replied ends itself by a signal.
	const answer = record.state === "exited" || record.state === "signalled" ? reply : null;
	if (answer?.kind === "failed")
		return { state: "refused", message: answer.message, record: { ...record, state: "exited" }, wallMs };
	if (answer?.kind === task.kind)
		return { state: "done", reply: answer as Extract<Reply, { kind: K }>, wallMs };
	const failure = describeFailure(record, {
		what: "ONNX Runtime's worker process",
		timeoutMs: task.timeoutMs,
		...(record.exitCode === 0
			? { output: reply === null ? "left no result that can be read" : "left the result of another job" }
			: {}),
	});
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
