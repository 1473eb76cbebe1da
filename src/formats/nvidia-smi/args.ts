// Spells nvidia-smi's command lines. Standard output is `csv,noheader,nounits`: columns are known by their place.
import type { AskedField } from "./fields.ts";

const format = "--format=csv,noheader,nounits";

/** GPM metric numbers (nvmlGpmMetricId_t): SM utilisation, SM occupancy, any tensor pipe, DRAM bandwidth. */
const gpmMetrics = "2,3,5,10";

export const helpArgs: readonly string[] = ["--help-query-gpu"];
export const listArgs: readonly string[] = ["-L"];

export function queryArgs(fields: readonly AskedField[], options: { gpu?: string; everyMs?: number } = {}): string[] {
	return [
		...(options.gpu === undefined ? [] : ["-i", options.gpu]),
		`--query-gpu=${fields.map(({ name }) => name).join(",")}`,
		format,
		...loop(options.everyMs),
	];
}

/** The columns of `parseAppLine`, in its order. */
export function appsArgs(options: { gpu?: string; everyMs?: number } = {}): string[] {
	return [
		...(options.gpu === undefined ? [] : ["-i", options.gpu]),
		"--query-compute-apps=timestamp,gpu_uuid,pid,process_name,used_gpu_memory",
		format,
		...loop(options.everyMs),
	];
}

/** Hardware counters, once a second: dmon knows no shorter time. Offered from Hopper on. */
export function gpmArgs(gpu: string): string[] {
	return ["dmon", "-i", gpu, "-s", "u", "-d", "1", `--gpm-metrics=${gpmMetrics}`];
}

function loop(everyMs: number | undefined): string[] {
	return everyMs === undefined ? [] : ["-lms", String(everyMs)];
}
