// Checks that ONNX Runtime takes a model.
import type { BuildTask, Reply } from "../protocol.ts";
import { loadRuntime, openSession, versionOf } from "./runtime.ts";

export async function runBuild(task: BuildTask): Promise<Reply> {
	const ort = await loadRuntime(task);
	const session = await openSession(ort, task, { level: "all" });
	if (task.stays === true) await session.release();
	return { kind: "build", version: versionOf(ort) };
}
