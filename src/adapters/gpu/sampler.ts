// Watches one GPU during a job: clocks and power ten times a second, counters and processes once a second.
import { readFile, readlink } from "node:fs/promises";
import { basename } from "node:path";
import { foreignProcessesOf } from "../../core/telemetry/conditions.ts";
import {
	between,
	type GpuProcess,
	gpuWindow,
	type ProcessSample,
	type TelemetrySample,
	type UseSample,
} from "../../core/telemetry/window.ts";
import { findGpu, type GpuChoice } from "../../formats/nvidia-smi/gpus.ts";
import {
	type AppRow,
	appsArgs,
	dmonParser,
	gpmArgs,
	hasGpm,
	parseAppLine,
	parseSampleLine,
	type QueryField,
	queryArgs,
	useSampleOf,
} from "../../formats/nvidia-smi/rows.ts";
import type { Clock, Telemetry } from "../../ports/world.ts";
import { groupOf } from "../process/lock-file.ts";
import type { Processes } from "../process/processes.ts";
import { listGpus, openStream, queryNvidiaSmi, type Smi, type Stream, untilFirst } from "./nvidia-smi.ts";

interface GpuTelemetryOptions {
	smi: Smi;
	clock: Clock;
	/** Index, UUID, or a list as in CUDA_VISIBLE_DEVICES; absent: the first GPU. */
	device?: string;
	/** The driver updates its figures about ten times a second. */
	everyMs?: number;
	silenceMs?: number;
	firstMs?: number;
}

const defaults = { everyMs: 100, silenceMs: 5_000, firstMs: 5_000 };
const appsEveryMs = 1_000;
/** Two hours at ten a second, some 20 MB. */
const maxSamples = 72_000;
/** nvidia-smi's utilisation looks back for up to one second. */
const settleMs = 1_200;
/** A GPU busier than this before the start is used by another process. */
const busyShare = 0.1;
const maxMisfits = 3;

interface Watch {
	options: GpuTelemetryOptions;
	samples: Ring<TelemetrySample>;
	use: Ring<UseSample>;
	processes: Ring<ProcessSample>;
	sentences: Set<string>;
	streams: Stream[];
}

export function gpuTelemetry(options: GpuTelemetryOptions): Telemetry {
	const watch: Watch = {
		options,
		samples: createRing(maxSamples),
		use: createRing(maxSamples / 10),
		processes: createRing(maxSamples / 10),
		sentences: new Set(),
		streams: [],
	};
	let started: Promise<void> | undefined;
	return {
		start() {
			started ??= begin(watch);
			return started;
		},
		window(fromMs, toMs) {
			const [samples, use] = [watch.samples.entries(), watch.use.entries()];
			return gpuWindow({ samples, use, processes: watch.processes.entries() }, fromMs, toMs);
		},
		foreignProcesses: (fromMs, toMs) => foreignProcessesOf(between(watch.processes.entries(), fromMs, toMs)),
		degradations: () => [...watch.sentences],
		async stop() {
			await Promise.all(watch.streams.splice(0).map((stream) => stream.stop()));
		},
	};
}

async function begin(watch: Watch) {
	const { options, sentences } = watch;
	const devices = await listGpus(options.smi);
	if (devices.state === "none") return void sentences.add(devices.sentence);
	const choice = findGpu(devices.gpus, options.device);
	const none = `No GPU on this machine matches ${JSON.stringify(options.device)}, so none is monitored.`;
	if (choice === null) return void sentences.add(none);
	const { gpu, slice } = choice;
	if (slice !== null)
		sentences.add(
			`A MIG slice (${slice.profile}) of ${gpu.name} is measured; clocks, power and memory are those of the whole GPU.`,
		);
	if (gpu.displayActive === "Enabled")
		sentences.add(`${gpu.name} also drives a display, which affects the timings.`);
	await watchSamples(choice, devices.sampleFields, watch);
	watchCounters(choice, watch);
	await watchForeignProcesses(choice, watch);
}

function watchSamples({ gpu }: GpuChoice, fields: readonly QueryField[], watch: Watch) {
	const { clock, smi, everyMs, silenceMs, firstMs } = { ...defaults, ...watch.options };
	return untilFirst(firstMs, (settle) => {
		let misfits = 0;
		const stream = openStream(smi, {
			args: queryArgs(fields, { gpu: gpu.uuid, everyMs }),
			silenceMs,
			onLine(line) {
				if (line.trim() === "") return;
				const read = parseSampleLine(line, fields, clock.now());
				if (read.state === "sample") {
					watch.samples.push(read.sample);
					misfits = 0;
					settle();
					return;
				}
				const { sentences } = watch;
				if (read.state === "lost") sentences.add(`The GPU was lost during monitoring: ${read.why}.`);
				misfits += 1;
				if (misfits === maxMisfits)
					sentences.add(`nvidia-smi's rows could not be parsed: ${read.why}. Later samples are unknown.`);
			},
			onEnd(why) {
				watch.sentences.add(`${why}; from then on, the GPU's clocks and power are unknown.`);
				settle();
			},
		});
		watch.streams.push(stream);
	});
}

/** Without these counters, dmon ends or leaves their columns out; that is no fault. */
function watchCounters({ gpu }: GpuChoice, watch: Watch) {
	const { clock, smi } = watch.options;
	const parser = dmonParser();
	const missing = `${gpu.name} offers no hardware counters (GPM), so utilisation is nvidia-smi's: the share of time in which any kernel ran.`;
	const stream = openStream(smi, {
		args: gpmArgs(gpu.uuid),
		onLine(line) {
			const row = parser.push(line);
			if (row === null) return;
			if (!hasGpm(parser.columns())) watch.sentences.add(missing);
			const sample = useSampleOf(row, clock.now());
			if (sample !== null) watch.use.push(sample);
		},
		onEnd: () => watch.sentences.add(missing),
	});
	watch.streams.push(stream);
}

async function watchForeignProcesses({ gpu }: GpuChoice, watch: Watch) {
	const { clock, smi } = watch.options;
	const list = watchProcesses(gpu.uuid, smi.processes, (reading) => {
		watch.processes.push(reading);
		if (reading.processes.some(({ pid }) => pid === null)) {
			watch.sentences.add(
				"The driver does not list the processes on the GPU, so a foreign process shows only in the share of compute time.",
			);
		}
	});
	const present = await queryNvidiaSmi(smi, appsArgs({ gpu: gpu.uuid }));
	const rows = present.stdout.split(/\r?\n/).flatMap((line) => parseAppLine(line) ?? []);
	if (rows.length > 0) await new Promise((resolve) => setTimeout(resolve, settleMs));
	const idle = (watch.samples.entries().at(-1)?.kernelTime ?? 0) <= busyShare;
	for (const { name, pid } of await list.begin(rows, idle)) {
		const who = `${name || "A process"}${pid === null ? "" : ` (process ${pid})`}`;
		watch.sentences.add(
			`${who} was on the GPU before the measurements, ${idle ? "idle" : "while the GPU was busy"}.`,
		);
	}
	const stream = openStream(smi, {
		args: appsArgs({ gpu: gpu.uuid, everyMs: appsEveryMs }),
		onLine: (line) => list.push(line, clock.now()),
		onEnd: (why) => watch.sentences.add(`${why}; from then on, foreign processes on the GPU are unknown.`),
	});
	watch.streams.push(stream);
}

type Ring<Entry> = ReturnType<typeof createRing<Entry>>;

export function createRing<Entry>(capacity: number) {
	let kept: Entry[] = [];
	return {
		push(entry: Entry) {
			kept.push(entry);
			// Cuts many entries at once, so that each costs the same whatever the capacity.
			if (kept.length >= capacity * 2) kept = kept.slice(-capacity);
		},
		entries: () => (kept.length > capacity ? kept.slice(-capacity) : kept),
	};
}

export function noTelemetry(): Telemetry {
	const nothing = () => Promise.resolve();
	return {
		start: nothing,
		window: () => null,
		foreignProcesses: () => [],
		degradations: () => [],
		stop: nothing,
	};
}

interface ProcessWatch {
	push(line: string, atMs: number): void;
	/** Processes that were there before; `idle` ones may stay. */
	begin(rows: readonly AppRow[], idle: boolean): Promise<readonly GpuProcess[]>;
}

const gatherMs = 150;

export function watchProcesses(
	gpuUuid: string,
	processes: Processes,
	onReading: (reading: ProcessSample) => void,
): ProcessWatch {
	const owners = new Map<number, GpuProcess["owner"]>();
	let rows: AppRow[] = [];
	const ownerOf = async (row: AppRow): Promise<GpuProcess["owner"]> => {
		if (row.pid === null) return "unknown";
		const known = owners.get(row.pid);
		if (known !== undefined && known !== "unknown") return known;
		const owner = await findOwner(row.pid, row.name, processes);
		owners.set(row.pid, owner);
		return owner;
	};
	const describe = async (row: AppRow): Promise<GpuProcess> => ({
		pid: row.pid,
		name: basename(row.name),
		memoryBytes: row.memoryBytes,
		owner: await ownerOf(row),
	});
	const flush = async (atMs: number) => {
		const read = lastOfEach(rows);
		rows = [];
		onReading({ atMs, processes: await Promise.all(read.map(describe)) });
	};
	return {
		push(line, atMs) {
			const row = parseAppLine(line);
			if (row === null || row.gpuUuid !== gpuUuid) return;
			rows.push(row);
			if (rows.length === 1) setTimeout(() => void flush(atMs), gatherMs).unref();
		},
		async begin(present, idle) {
			const others = present.filter(
				(row) => row.gpuUuid === gpuUuid && (row.pid === null || !processes.owns(row.pid)),
			);
			for (const { pid } of others) if (pid !== null) owners.set(pid, idle ? "resident" : "foreign");
			return Promise.all(others.map(describe));
		},
	};
}

function lastOfEach(rows: readonly AppRow[]) {
	const numbered = new Map(rows.flatMap((row) => (row.pid === null ? [] : [[row.pid, row] as const])));
	return [...numbered.values(), ...rows.filter(({ pid }) => pid === null)];
}

/** In a container the number is the host's; here it may belong to another process. */
async function findOwner(pid: number, name: string, processes: Processes) {
	const group = await groupOf(pid);
	if (processes.owns(pid) || (group !== null && processes.owns(group))) return "ours";
	return (await programsOf(pid)).includes(basename(name)) ? "foreign" : "unknown";
}

/** As called and as on disk (`python3`, `python3.12`); none for a process that is not here. */
async function programsOf(pid: number) {
	const paths = [
		readFile(`/proc/${pid}/cmdline`, "utf8").then((text) => text.split("\0")[0] ?? ""),
		readlink(`/proc/${pid}/exe`),
	];
	const found = await Promise.allSettled(paths);
	return found.flatMap((result) =>
		result.status === "fulfilled" && result.value !== "" ? [basename(result.value)] : [],
	);
}
