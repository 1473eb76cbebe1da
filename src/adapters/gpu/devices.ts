// Asks nvidia-smi what GPUs there are, and which fields its driver knows.

import { type Gpu, parseGpus } from "../../formats/nvidia-smi/gpus.ts";
import {
	type AskedField,
	chooseFields,
	helpArgs,
	inventoryFields,
	listArgs,
	parseHelpFields,
	queryArgs,
	sampleFields,
} from "../../formats/nvidia-smi/query.ts";
import type { Processes } from "../process/processes.ts";
import type { ProcessRecord } from "../process/spawn.ts";

/** nvidia-smi, as it is started. */
export interface Smi {
	/** Program, with arguments of its own where a double needs them. */
	argv: readonly [string, ...string[]];
	processes: Processes;
	/** For answers that come once; without persistence mode the driver loads first, which takes seconds. */
	timeoutMs?: number;
}

export type Devices =
	| { state: "ok"; gpus: readonly Gpu[]; sampleFields: readonly AskedField[] }
	/** `sentence` says why there is nothing to watch. */
	| { state: "none"; sentence: string };

const answerTimeoutMs = 30_000;
const mostAnswerBytes = 1024 * 1024;

export async function listGpus(smi: Smi): Promise<Devices> {
	const help = await queryNvidiaSmi(smi, helpArgs);
	if (help.state !== "exited" || help.exitCode !== 0) return { state: "none", sentence: whyNot(help) };
	const offered = parseHelpFields(help.stdout);
	const fields = chooseFields(inventoryFields, offered);
	const inventory = await queryNvidiaSmi(smi, queryArgs(fields));
	const list = await queryNvidiaSmi(smi, listArgs);
	const gpus = parseGpus(inventory.stdout, fields, list.stdout);
	if (gpus.length === 0) return { state: "none", sentence: whyNot(inventory) };
	return { state: "ok", gpus, sampleFields: chooseFields(sampleFields, offered) };
}

export function queryNvidiaSmi(smi: Smi, args: readonly string[]): Promise<ProcessRecord> {
	return smi.processes.run({
		argv: [...smi.argv, ...args],
		timeoutMs: smi.timeoutMs ?? answerTimeoutMs,
		captureBytes: mostAnswerBytes,
		beside: true,
	});
}

export function whyNot(record: ProcessRecord): string {
	switch (record.state) {
		case "not-started":
			return "nvidia-smi is not installed, so clocks, power and neighbours of the GPU are unknown.";
		case "timed-out":
			return `nvidia-smi did not answer within ${Math.round(record.wallMs / 1000)} s, so clocks, power and neighbours of the GPU are unknown.`;
		case "aborted":
			return "nvidia-smi was interrupted.";
		default: {
			const said = record.tail.at(-1)?.slice(0, 200) ?? "nothing";
			const end = record.exitCode === null ? `signal ${record.signal}` : `exit code ${record.exitCode}`;
			return `nvidia-smi tells nothing of a GPU (${end}): ${said}`;
		}
	}
}
