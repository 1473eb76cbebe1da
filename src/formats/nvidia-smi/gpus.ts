// Reads which GPUs a machine has, and chooses one.
import { cellMebibytes, cellNumber, cellText, type QueryField, splitCells } from "./rows.ts";

export interface Gpu {
	index: number;
	uuid: string;
	name: string;
	driver: string | null;
	computeCapability: string | null;
	memoryBytes: number | null;
	powerLimitW: number | null;
	/** Enabled, Disabled, or null if the GPU cannot be sliced. */
	mig: string | null;
	ecc: string | null;
	displayActive: string | null;
	slices: readonly MigSlice[];
}

interface MigSlice {
	uuid: string;
	profile: string;
}

/** Rows without index or UUID are left out. */
export function parseGpus(csv: string, fields: readonly QueryField[], list: string): Gpu[] {
	const slices = parseSlices(list);
	return csv.split(/\r?\n/).flatMap((line) => {
		const row = splitCells(line);
		if (row.length !== fields.length) return [];
		const cells = new Map(fields.map(({ key }, place) => [key, row[place]]));
		const text = (key: string) => cellText(cells.get(key));
		const value = (key: string) => cellNumber(cells.get(key));
		const [index, uuid] = [value("index"), text("uuid")];
		if (index === null || uuid === null) return [];
		return [
			{
				index,
				uuid,
				name: text("name") ?? "unknown GPU",
				driver: text("driver_version"),
				computeCapability: text("compute_cap"),
				memoryBytes: cellMebibytes(cells.get("memory.total")),
				powerLimitW: value("enforced.power.limit") ?? value("power.limit"),
				mig: text("mig.mode.current"),
				ecc: text("ecc.mode.current"),
				displayActive: text("display_active"),
				slices: slices.get(uuid) ?? [],
			},
		];
	});
}

function parseSlices(list: string) {
	const found = new Map<string, MigSlice[]>();
	let parent: MigSlice[] = [];
	for (const line of list.split(/\r?\n/)) {
		const gpu = /^GPU \d+: .*\(UUID: (GPU-[\w-]+)\)/.exec(line)?.[1];
		if (gpu !== undefined) {
			parent = [];
			found.set(gpu, parent);
		}
		const slice = /^\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (MIG-[^)\s]+)\)/.exec(line);
		if (slice?.[1] !== undefined && slice[2] !== undefined)
			parent.push({ profile: slice[1], uuid: slice[2] });
	}
	return found;
}

export interface GpuChoice {
	gpu: Gpu;
	slice: MigSlice | null;
}

/**
 * `wanted` is an index, a UUID or the start of one, or a slice's UUID; of a list, the first counts. Indexes are
 * nvidia-smi's, which CUDA shares only under CUDA_DEVICE_ORDER=PCI_BUS_ID.
 */
export function findGpu(gpus: readonly Gpu[], wanted?: string): GpuChoice | null {
	const named = wanted?.split(",")[0]?.trim();
	const whole = (gpu: Gpu | undefined) => (gpu === undefined ? null : { gpu, slice: null });
	if (named === undefined) return whole(gpus[0]);
	if (/^\d+$/.test(named)) return whole(gpus.find((gpu) => gpu.index === Number(named)));
	if (/^GPU-./.test(named)) {
		const matching = gpus.filter((gpu) => gpu.uuid.startsWith(named));
		return matching.length === 1 ? whole(matching[0]) : null;
	}
	const slices = gpus.flatMap((gpu) => gpu.slices.map((slice) => ({ gpu, slice })));
	return slices.find(({ slice }) => slice.uuid === named) ?? null;
}

/** For a slice, what its profile names (`1g.18gb`). A GPU in MIG mode has no memory for engines. */
export function memoryOf({ gpu, slice }: GpuChoice): number | null {
	if (slice === null) return gpu.mig === "Enabled" ? null : gpu.memoryBytes;
	const size = /\.(\d{1,4})gb\b/i.exec(slice.profile)?.[1];
	return size === undefined ? null : Number(size) * 1024 ** 3;
}

export function gpuFingerprint({ gpu, slice }: GpuChoice): Record<string, string> {
	return knownOnly({
		gpu: gpu.name,
		computeCapability: gpu.computeCapability,
		driverBranch: gpu.driver?.split(".")[0] ?? null,
		powerLimit: gpu.powerLimitW === null ? null : `${gpu.powerLimitW} W`,
		ecc: gpu.ecc,
		mig: slice === null ? gpu.mig : slice.profile,
	});
}

export function knownOnly(facts: Readonly<Record<string, string | null>>): Record<string, string> {
	const entries = Object.entries(facts).filter((entry): entry is [string, string] => entry[1] !== null);
	return Object.fromEntries(entries);
}
