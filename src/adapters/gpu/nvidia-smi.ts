// Runs nvidia-smi.
import { findGpu, type Gpu, parseGpus } from "../../formats/nvidia-smi/gpus.ts";
import {
	chooseFields,
	helpArgs,
	inventoryFields,
	listArgs,
	parseHelpFields,
	type QueryField,
	queryArgs,
	sampleFields,
} from "../../formats/nvidia-smi/rows.ts";
import type { DeviceRead } from "../../formats/tegra/tegrastats.ts";
import type { Processes } from "../process/processes.ts";
import type { ProcessRecord } from "../process/spawn.ts";

export interface Smi {
	argv: readonly [string, ...string[]];
	name?: string;
	processes: Processes;
	/** Without persistence mode the driver loads first, which takes seconds. */
	timeoutMs?: number;
}

type Devices =
	| { state: "ok"; gpus: readonly Gpu[]; sampleFields: readonly QueryField[] }
	| { state: "none"; answers: boolean; sentence: string };

const answerTimeoutMs = 30_000;
const maxAnswerBytes = 1024 * 1024;

export async function listGpus(smi: Smi): Promise<Devices> {
	const help = await queryNvidiaSmi(smi, helpArgs);
	if (help.state !== "exited" || help.exitCode !== 0)
		return { state: "none", answers: false, sentence: whyNot(help) };
	const offered = parseHelpFields(help.stdout);
	const fields = chooseFields(inventoryFields, offered);
	const inventory = await queryNvidiaSmi(smi, queryArgs(fields));
	const list = await queryNvidiaSmi(smi, listArgs);
	const gpus = parseGpus(inventory.stdout, fields, list.stdout);
	if (gpus.length === 0) return { state: "none", answers: true, sentence: whyNot(inventory) };
	return { state: "ok", gpus, sampleFields: chooseFields(sampleFields, offered) };
}

export async function readDevice(processes: Processes, wanted?: string): Promise<DeviceRead> {
	const smi = { argv: ["nvidia-smi"] as const, processes, timeoutMs: 20_000 };
	const [devices, versions] = await Promise.all([listGpus(smi), queryNvidiaSmi(smi, ["--version"])]);
	if (devices.state === "none") return { state: devices.answers ? "none" : "unknown" };
	const choice = findGpu(devices.gpus, wanted);
	if (choice === null) return { state: "none" };
	// Driver 610 calls it `CUDA UMD version`, and prints `Deprecated` in the old place.
	const cuda = /^CUDA (?:UMD )?version\s*:\s*(\d+(?:\.\d+)*)\s*$/im.exec(versions.stdout)?.[1] ?? null;
	return { state: "found", device: { choice, cuda } };
}

export function queryNvidiaSmi(smi: Smi, args: readonly string[]): Promise<ProcessRecord> {
	return smi.processes.run({
		argv: [...smi.argv, ...args],
		timeoutMs: smi.timeoutMs ?? answerTimeoutMs,
		captureBytes: maxAnswerBytes,
		beside: true,
	});
}

function whyNot(record: ProcessRecord) {
	const { state, wallMs, exitCode, signal, tail } = record;
	const unknown = "so the GPU's clocks, power and foreign processes are unknown.";
	if (state === "not-started") return `nvidia-smi is not installed, ${unknown}`;
	if (state === "timed-out")
		return `nvidia-smi did not answer within ${Math.round(wallMs / 1000)} s, ${unknown}`;
	if (state === "aborted") return "nvidia-smi was interrupted.";
	const end = exitCode === null ? `signal ${signal}` : `exit code ${exitCode}`;
	return `nvidia-smi reports no GPU (${end}): ${tail.at(-1)?.slice(0, 200) ?? "no output"}`;
}

interface StreamOptions {
	args: readonly string[];
	/** A longer silence is a hang; absent if silence is normal. */
	silenceMs?: number;
	onLine(line: string): void;
	onEnd(why: string): void;
}

export interface Stream {
	stop(): Promise<void>;
}

/** nvidia-smi in a loop never ends by itself. */
const dayMs = 24 * 60 * 60 * 1000;
const graceMs = 500;
/** Per silence limit; a blocked event loop accounts for one only. */
const looks = 4;

export function openStream(smi: Smi, options: StreamOptions): Stream {
	const stop = new AbortController();
	let stopping = false;
	let silentLooks = 0;
	const { silenceMs } = options;
	const look = () => {
		silentLooks += 1;
		if (silentLooks > looks) stop.abort();
	};
	const timer = silenceMs === undefined ? undefined : setInterval(look, silenceMs / looks);
	timer?.unref();
	const ended = smi.processes
		.run({
			argv: [...smi.argv, ...options.args],
			timeoutMs: dayMs,
			graceMs,
			beside: true,
			signal: stop.signal,
			onLine(line) {
				silentLooks = 0;
				options.onLine(line);
			},
		})
		.then((record) => {
			clearInterval(timer);
			const silent = silentLooks > looks ? silenceMs : undefined;
			if (!stopping) options.onEnd(describeEnd(record, smi.name ?? "nvidia-smi", silent));
		});
	return {
		stop() {
			stopping = true;
			clearInterval(timer);
			stop.abort();
			return ended;
		},
	};
}

export function untilFirst(firstMs: number, open: (settle: () => void) => void): Promise<void> {
	return new Promise((resolve) => {
		const timer = setTimeout(resolve, firstMs);
		open(() => {
			clearTimeout(timer);
			resolve();
		});
	});
}

function describeEnd(record: ProcessRecord, name: string, silenceMs: number | undefined) {
	if (silenceMs !== undefined) return `${name} printed nothing for ${silenceMs / 1000} s and was stopped`;
	if (record.state === "aborted") return `${name} was interrupted`;
	if (record.state === "not-started") return `${name} is not installed`;
	const end = record.exitCode === null ? (record.signal ?? record.problem) : `exit code ${record.exitCode}`;
	return `${name} ended (${end}); its last output: ${record.tail.at(-1)?.slice(0, 200) ?? "none"}`;
}
