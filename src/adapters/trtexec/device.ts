// Asks nvidia-smi once what GPU the engines run on.

import { findGpu, type GpuChoice, parseGpus } from "../../formats/nvidia-smi/gpus.ts";
import { chooseFields, helpArgs, inventoryFields, listArgs, parseHelpFields, queryArgs } from "../../formats/nvidia-smi/query.ts";
import type { Processes } from "../process/processes.ts";

export interface Device {
	choice: GpuChoice;
	/** Newest CUDA that the driver runs; null where it does not tell. */
	cuda: string | null;
}

const timeoutMs = 20_000;
const mostBytes = 1024 * 1024;

/** none: nvidia-smi answers and shows no such GPU. unknown: it is not there, or does not answer. */
export type DeviceRead = { state: "found"; device: Device } | { state: "none" } | { state: "unknown" };

/** `wanted` is an index or a UUID as in CUDA_VISIBLE_DEVICES. */
export async function readDevice(processes: Processes, wanted?: string): Promise<DeviceRead> {
	const ask = async (args: readonly string[]): Promise<string> => {
		const record = await processes.run({ argv: ["nvidia-smi", ...args], timeoutMs, captureBytes: mostBytes });
		return record.state === "exited" && record.exitCode === 0 ? record.stdout : "";
	};
	const fields = chooseFields(inventoryFields, parseHelpFields(await ask(helpArgs)));
	if (fields.length === 0) return { state: "unknown" };
	const [csv, list, versions] = await Promise.all([ask(queryArgs(fields)), ask(listArgs), ask(["--version"])]);
	const choice = findGpu(parseGpus(csv, fields, list), wanted);
	if (choice === null) return { state: "none" };
	return { state: "found", device: { choice, cuda: cudaOf(versions) } };
}

/** Driver 610 calls it `CUDA UMD version`, and says `Deprecated` where it stood before. */
function cudaOf(versions: string): string | null {
	return /^CUDA (?:UMD )?version\s*:\s*(\d+(?:\.\d+)*)\s*$/im.exec(versions)?.[1] ?? null;
}
