// Checks that ONNX Runtime takes a model, and saves the optimised graph where it can.
import { existsSync, rmSync, statSync } from "node:fs";
import type { BuildTask, Reply } from "../protocol.ts";
import { loadRuntime, openSession, versionOf } from "./runtime.ts";

export async function runBuild(task: BuildTask): Promise<Reply> {
	const ort = await loadRuntime(task);
	const version = versionOf(ort);
	if (task.flavour === "native" && task.saveTo !== undefined) {
		const saved = await trySave(task, task.saveTo);
		if (!saved) await openSession(ort, task, { level: "all" });
		return { kind: "build", version, saved };
	}
	const session = await openSession(ort, task, { level: "all" });
	if (task.stays === true) await session.release();
	return { kind: "build", version, saved: false };
}

/** Saving fails where the graph passes 2 GiB or the disk is full; a model that does not load fails again without it. */
async function trySave(task: BuildTask, path: string): Promise<boolean> {
	try {
		await openSession(await loadRuntime(task), task, { level: "extended", saveTo: path });
		return existsSync(path) && statSync(path).size > 0;
	} catch {
		rmSync(path, { force: true });
		return false;
	}
}
