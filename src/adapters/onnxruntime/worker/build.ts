// Checks that ONNX Runtime takes a model, and saves the optimised graph where it can.
import { existsSync, rmSync, statSync } from "node:fs";
import type { BuildTask, Reply } from "../protocol.ts";
import { loadRuntime, openSession, versionOf } from "./runtime.ts";

export async function runBuild(task: BuildTask): Promise<Reply> {
	const ort = await loadRuntime(task);
	const version = versionOf(ort);
	if (task.flavour === "native" && task.saveTo !== undefined) {
		const note = await trySave(task, task.saveTo);
		if (note === "") return { kind: "build", version, saved: true, note };
		await openSession(ort, task, { level: "all" });
		return { kind: "build", version, saved: false, note };
	}
	const session = await openSession(ort, task, { level: "all" });
	if (task.stays === true) await session.release();
	return { kind: "build", version, saved: false, note: "" };
}

/** Saving fails where the graph passes 2 GiB or the disk is full; a model that does not load fails again without it. */
async function trySave(task: BuildTask, path: string): Promise<string> {
	try {
		await openSession(await loadRuntime(task), task, { level: "extended", saveTo: path });
		if (existsSync(path) && statSync(path).size > 0) return "";
		return "ONNX Runtime saved nothing.";
	} catch (error) {
		rmSync(path, { force: true });
		return error instanceof Error ? error.message : String(error);
	}
}
