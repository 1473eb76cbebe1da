// Lets one job at a time use a GPU.
import { chmod, utimes } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ToolError } from "../../core/errors.ts";
import { describeOwner, type Lock, tryLock } from "../process/lock-file.ts";
import { makeFolders } from "../process/write-error.ts";

interface GpuLockOptions {
	folder: string;
	/** Of the whole GPU, even for a slice, because slices share its clocks and its heat. */
	gpuUuid: string;
	waitMs: number;
	/** At the start, and about every ten seconds. */
	onWait?(owner: string, waitedMs: number): void;
	signal?: AbortSignal;
}

const pollMs = 500;
const reportEveryMs = 10_000;
const renewMs = 10_000;
export const staleMs = 120_000;

export async function lockGpu(options: GpuLockOptions): Promise<Lock> {
	await makeFolders(options.folder);
	// Others' jobs write here too, but only delete what is theirs, as in /tmp.
	await chmod(options.folder, 0o1777).catch(() => {});
	const path = lockPath(options);
	const started = performance.now();
	let reportedMs = -Infinity;
	for (;;) {
		const attempt = await tryLock(path, staleMs);
		if (attempt.state === "held") return renewed(attempt.lock, path);
		const waitedMs = performance.now() - started;
		const owner = describeOwner(attempt.owner);
		if (waitedMs >= options.waitMs) throw busy(options, owner);
		if (waitedMs - reportedMs >= reportEveryMs) {
			reportedMs = waitedMs;
			options.onWait?.(owner, waitedMs);
		}
		await pause(Math.min(pollMs, options.waitMs - waitedMs), options.signal);
	}
}

export function lockPath({ folder, gpuUuid }: Pick<GpuLockOptions, "folder" | "gpuUuid">): string {
	return join(folder, `${gpuUuid.replace(/[^\w-]/g, "_")}.lock`);
}

function renewed(lock: Lock, path: string) {
	const renew = () => {
		const now = new Date();
		// A lock file that is gone or not accessible shows when the lock is taken.
		utimes(path, now, now).catch(() => {});
	};
	const timer = setInterval(renew, renewMs);
	timer.unref();
	return {
		release() {
			clearInterval(timer);
			return lock.release();
		},
	};
}

async function pause(ms: number, signal: AbortSignal | undefined) {
	await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch((cause) => {
		const message = "The wait for the GPU was interrupted.";
		throw new ToolError({ code: "interrupted", message, cause });
	});
}

function busy(options: GpuLockOptions, owner: string) {
	return new ToolError({
		code: "gpu-busy",
		message: `The GPU ${options.gpuUuid} was in use by ${owner} for the ${Math.round(options.waitMs / 1000)} s that this job waited.`,
		fix: `Wait for the other job to finish, or allow a longer wait. If no job is running, delete ${lockPath(options)}.`,
	});
}
