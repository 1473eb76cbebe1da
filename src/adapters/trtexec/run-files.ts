// Files of a run: its work folder, its inputs, and the plan's digest.

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fillInput } from "../../core/fill.ts";
import type { TimedInput } from "../../ports/backend.ts";
import { classifyWriteError } from "../process/write-error.ts";
import type { BuiltPlan } from "./context.ts";

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

/** Files are numbered: tensor names come from users. */
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

export async function describePlan(path: string): Promise<Omit<BuiltPlan, "weightsBytes">> {
	const { size, mtimeMs } = await stat(path);
	return { sha256: await hashFile(path), bytes: size, modifiedMs: mtimeMs };
}

/**
 * A digest to compare with the build's; absent where nothing is known of this plan. Large plans are read again only
 * when the file system shows that they changed.
 */
export async function checkPlan(path: string, built: BuiltPlan | undefined): Promise<{ plan?: { builtSha256: string; sha256: string } }> {
	const found = await stat(path).catch(() => null);
	if (built === undefined || found === null) return {};
	const unchanged = found.size === built.bytes && found.mtimeMs === built.modifiedMs;
	return { plan: { builtSha256: built.sha256, sha256: unchanged ? built.sha256 : await hashFile(path) } };
}

async function hashFile(path: string): Promise<string> {
	const hash = createHash("sha256");
	await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash);
	return hash.digest("hex");
}
