// Takes turns on the GPU with the other jobs of this machine, and says whom it waits for.
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../../adapters/github/env.ts";
import { lockGpu } from "../../adapters/gpu/lock.ts";
import { ConfigError } from "../../core/errors.ts";
import type { GpuLease, Progress } from "../../ports/world.ts";
import type { Machine } from "../choose-backend.ts";

export interface GpuLeaseOptions {
	gpu(): Promise<Machine["gpu"]>;
	/** Absolute folder that all jobs of the machine share. */
	folder: string;
	progress: Progress;
	signal: AbortSignal;
	waitMs?: number;
}

/** Two long jobs before this one; a job of GitHub's own may last six hours. */
const longestWaitMs = 60 * 60_000;

/** Nothing is taken where no GPU is at work, or none that has a name. */
export function gpuLease(options: GpuLeaseOptions): GpuLease {
	return {
		async take() {
			const gpu = await options.gpu();
			if (typeof gpu === "string") return { release: () => Promise.resolve() };
			try {
				return await takeLock(gpu.choice.gpu.uuid, options);
			} catch (error) {
				if (!(error instanceof ConfigError)) throw error;
				const note = `The GPU is not locked, so another job may use it meanwhile: ${error.message}`;
				return { note, release: () => Promise.resolve() };
			}
		},
	};
}

function takeLock(gpuUuid: string, { folder, progress, signal, waitMs = longestWaitMs }: GpuLeaseOptions) {
	let waits = false;
	return lockGpu({
		folder,
		gpuUuid,
		waitMs,
		signal,
		onWait(owner, waitedMs) {
			if (!waits) progress.stage("wait for the GPU", 0);
			waits = true;
			progress.item(`in use by ${owner}; waited ${Math.round(waitedMs / 1000)} s`);
		},
	});
}

export function lockFolderOf({ lockFolder }: Environment): string {
	return lockFolder ?? join(tmpdir(), "trtgate-locks");
}
