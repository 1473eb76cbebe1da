// Watches the processes on one GPU.
import { readFile, readlink } from "node:fs/promises";
import { basename } from "node:path";
import type { GpuProcess, ProcessSample } from "../../core/telemetry/sample.ts";
import { type AppRow, parseAppLine } from "../../formats/nvidia-smi/rows.ts";
import { groupOf } from "../process/owner.ts";
import type { Processes } from "../process/processes.ts";

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
async function findOwner(pid: number, name: string, processes: Processes): Promise<GpuProcess["owner"]> {
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
