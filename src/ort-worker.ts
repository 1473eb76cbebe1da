// Entry point of the process that runs ONNX Runtime: reads job files, writes replies.
import fs from "node:fs";
import { createInterface } from "node:readline";
import { idleLine, type Reply, type Task } from "./adapters/onnxruntime/protocol.ts";
import { runCount, runProfile } from "./adapters/onnxruntime/worker/count.ts";
import { runDefects } from "./adapters/onnxruntime/worker/defects.ts";
import { runBuild, runInfer } from "./adapters/onnxruntime/worker/infer.ts";

function runTask(task: Task): Promise<Reply> {
	if (task.kind === "build") return runBuild(task);
	if (task.kind === "defects") return runDefects(task);
	if (task.kind === "count") return runCount(task);
	return task.kind === "profile" ? runProfile(task) : runInfer(task);
}

async function replyTo(task: Task): Promise<Reply> {
	try {
		return await runTask(task);
	} catch (error) {
		const message = error instanceof Error ? error.message : String(error);
		process.stderr.write(`${message}\n`);
		return { kind: "failed", message };
	}
}

/** A larger process may lack the memory for the next job. */
const mostBytes = 512 * 1024 * 1024;

/** It may have broken the runtime for the next job. */
function mayStay(task: Task, reply: Reply): boolean {
	if (reply.kind === "defects") return false;
	const isClean =
		reply.kind === "infer" ? reply.cases.every(({ state }) => state === "done") : reply.kind !== "failed";
	return task.stays === true && isClean && process.memoryUsage.rss() < mostBytes;
}

/** All lines then keep their order. */
function joinStreams(): void {
	const { writeSync } = fs;
	const joined = (fd: number, ...rest: [string]) => writeSync(fd === 2 ? 1 : fd, ...rest);
	fs.writeSync = joined as typeof writeSync;
	process.stderr.write = process.stdout.write.bind(process.stdout);
}

/** ONNX Runtime writes its log synchronously, and a full pipe refuses more. */
function waitForReaders(): void {
	const { writeSync } = fs;
	const patient = (...written: Parameters<typeof writeSync>) => {
		for (;;) {
			try {
				return writeSync(...written);
			} catch (error) {
				if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
			}
		}
	};
	fs.writeSync = patient as typeof writeSync;
}

waitForReaders();
let jobs: AsyncIterator<string> | null = null;
for (let path: string | undefined = process.argv[2]; path !== undefined; ) {
	const task = JSON.parse(fs.readFileSync(path, "utf8")) as Task;
	if (task.stays === true && jobs === null) {
		joinStreams();
		jobs = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
	}
	const reply = await replyTo(task);
	const temporary = `${task.resultPath}.tmp`;
	fs.writeFileSync(temporary, JSON.stringify(reply));
	fs.renameSync(temporary, task.resultPath);
	if (jobs === null || !mayStay(task, reply)) break;
	process.stdout.write(`${idleLine}${path}\n`);
	path = (await jobs.next()).value;
}
// `process.exit` would wait for V8 to optimise what is no longer called: a second for ONNX Runtime's largest function.
process.kill(process.pid, "SIGKILL");
