// The plan on disk: its digest, and whether it is still the one that was built.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import type { BuiltPlan } from "./context.ts";

export async function describePlan(path: string): Promise<Omit<BuiltPlan, "weightsBytes">> {
	const { size, mtimeMs } = await stat(path);
	return { sha256: await hashFile(path), bytes: size, modifiedMs: mtimeMs };
}

/**
 * A digest to compare with the build's; absent where nothing is known of this plan. Large plans are read again only
 * when the file system says that they changed.
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
