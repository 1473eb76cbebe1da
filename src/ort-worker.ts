// Entry point of the process that runs ONNX Runtime: one job file in, one reply file out. Exit 0: done; 1: failed, and the reply explains why.
import { readFileSync } from "node:fs";
import type { Reply, Task } from "./adapters/onnxruntime/protocol.ts";
import { runBuild } from "./adapters/onnxruntime/worker/build.ts";
import { runDefects } from "./adapters/onnxruntime/worker/defects.ts";
import { writeAtomic } from "./adapters/onnxruntime/worker/files.ts";
import { runInfer } from "./adapters/onnxruntime/worker/infer.ts";
import { runMeasure } from "./adapters/onnxruntime/worker/measure.ts";

function runTask(task: Task): Promise<Reply> {
	if (task.kind === "build") return runBuild(task);
	if (task.kind === "defects") return runDefects(task);
	return task.kind === "infer" ? runInfer(task) : runMeasure(task);
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

const task = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as Task;
const reply = await replyTo(task);
writeAtomic(task.resultPath, JSON.stringify(reply));
// WebAssembly threads would keep the process alive.
process.exit(reply.kind === "failed" ? 1 : 0);
