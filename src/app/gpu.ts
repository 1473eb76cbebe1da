// The GPU of a run: lock, telemetry and visibility.
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockGpu } from "../adapters/gpu/lock.ts";
import { gpuTelemetry, noTelemetry } from "../adapters/gpu/sampler.ts";
import { tegraTelemetry } from "../adapters/gpu/tegra.ts";
import type { Processes } from "../adapters/process/processes.ts";
import { ConfigError } from "../core/errors.ts";
import type { Environment } from "../host/adapters/github/env.ts";
import type { Clock, GpuLease, Progress, Telemetry } from "../ports/world.ts";
import type { Machine } from "./choose-backend.ts";

interface GpuLeaseOptions {
	gpu(): Promise<Machine["gpu"]>;
	folder: string;
	progress: Progress;
	signal: AbortSignal;
	waitMs?: number;
}

/** Two long jobs; GitHub allows six hours. */
const longestWaitMs = 60 * 60_000;

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

interface GpuWatchOptions extends Pick<GpuLeaseOptions, "gpu"> {
	processes: Processes;
	clock: Clock;
	device: string | undefined;
}

export function gpuWatch({ gpu, processes, clock, device }: GpuWatchOptions): Telemetry {
	let chosen = noTelemetry();
	return {
		async start() {
			const machine = await gpu();
			if (typeof machine !== "string" && machine.board !== undefined) {
				chosen = tegraTelemetry({ tool: { argv: ["tegrastats"], name: "tegrastats", processes }, clock });
			} else if (machine !== "none") {
				const smi = { argv: ["nvidia-smi"] as const, processes };
				chosen = gpuTelemetry({ smi, clock, device });
			}
			await chosen.start();
		},
		window: (fromMs, toMs) => chosen.window(fromMs, toMs),
		foreignProcesses: (fromMs, toMs) => chosen.foreignProcesses(fromMs, toMs),
		degradations: () => chosen.degradations(),
		stop: () => chosen.stop(),
	};
}

/** An index counts among the visible GPUs; "" if there are not so many. */
export function narrowDevices(visible: string | undefined, wanted: string | undefined): string | undefined {
	if (wanted === undefined || visible === undefined || !/^\d+$/.test(wanted)) return wanted ?? visible;
	const inSight = visible.split(",").map((device) => device.trim());
	return inSight[Number(wanted)] ?? "";
}
