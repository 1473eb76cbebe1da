// A folder of a run's own, which goes with it: trtexec writes into the folder that it is started in.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fillInput } from "../../core/fill.ts";
import type { TimedInput } from "../../ports/backend.ts";
import { classifyWriteError } from "../process/write-error.ts";

export async function inWorkFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
	const folder = await mkdtemp(join(tmpdir(), "trtgate-run-")).catch((error: unknown) => {
		throw classifyWriteError(error, tmpdir());
	});
	try {
		return await work(folder);
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

export interface InputPlace {
	name: string;
	/** Relative to the run's folder: absolute ones may hold what trtexec's lists cannot. */
	path: string;
	bytes: number;
}

/** Names of files are numbers: those of tensors are users' words. */
export async function writeInput(folder: string, name: string, content: { index: number; data: Uint8Array }): Promise<InputPlace> {
	const path = `in${content.index}.bin`;
	await writeFile(join(folder, path), content.data).catch((error: unknown) => {
		throw classifyWriteError(error, join(folder, path));
	});
	return { name, path, bytes: content.data.length };
}

/** The same values for both arms; trtexec's own random integers are often no valid index. */
export async function writeFilled(folder: string, inputs: readonly TimedInput[], seed: number): Promise<InputPlace[]> {
	const places: InputPlace[] = [];
	for (const [index, input] of inputs.entries()) {
		places.push(await writeInput(folder, input.name, { index, data: fillInput(input, seed, index) }));
	}
	return places;
}
