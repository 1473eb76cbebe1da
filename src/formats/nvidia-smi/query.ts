// Command lines of nvidia-smi, and names of its fields.

/** Names, newest first: the first that the driver lists is queried. */
type SmiField = readonly [key: string, ...names: string[]];

/** `clocks_throttle_reasons` became `clocks_event_reasons` with driver 530. */
export const sampleFields: readonly SmiField[] = [
	["clocks.sm", "clocks.sm", "clocks.current.sm"],
	["clocks.mem", "clocks.mem", "clocks.current.memory"],
	["power.draw"],
	["temperature.gpu"],
	["memory.used"],
	["utilization.gpu"],
	["utilization.memory"],
	["reasons", "clocks_event_reasons.active", "clocks_throttle_reasons.active"],
];

export const inventoryFields: readonly SmiField[] = [
	["index"],
	["uuid", "uuid", "gpu_uuid"],
	["name", "name", "gpu_name"],
	["driver_version"],
	["compute_cap"],
	["memory.total"],
	["power.limit"],
	["enforced.power.limit"],
	["mig.mode.current"],
	["ecc.mode.current"],
	["display_active"],
];

export interface QueryField {
	key: string;
	name: string;
}

/** Lines of `"name"` or `"name" or "alias"`. */
export function parseHelpFields(help: string): ReadonlySet<string> {
	const lines = help.split(/\r?\n/).filter((line) => /^"[^"\s]+"(\s+or\s+"[^"\s]+")*\s*$/.test(line));
	return new Set(lines.flatMap((line) => [...line.matchAll(/"([^"\s]+)"/g)].map(([, name = ""]) => name)));
}

/** A single unknown field would fail the whole query. */
export function chooseFields(wanted: readonly SmiField[], offered: ReadonlySet<string>): QueryField[] {
	return wanted.flatMap(([key, ...names]) => {
		const name = (names.length === 0 ? [key] : names).find((candidate) => offered.has(candidate));
		return name === undefined ? [] : [{ key, name }];
	});
}

export const helpArgs: readonly string[] = ["--help-query-gpu"];
export const listArgs: readonly string[] = ["-L"];

interface ListOptions {
	gpu?: string;
	everyMs?: number;
}

export function queryArgs(fields: readonly QueryField[], options: ListOptions = {}): string[] {
	return listing(`--query-gpu=${fields.map(({ name }) => name).join(",")}`, options);
}

export function appsArgs(options: ListOptions = {}): string[] {
	return listing("--query-compute-apps=timestamp,gpu_uuid,pid,process_name,used_gpu_memory", options);
}

/** From Hopper on: SM utilisation, SM occupancy, any tensor pipe and DRAM bandwidth (nvmlGpmMetricId_t). */
export function gpmArgs(gpu: string): string[] {
	return ["dmon", "-i", gpu, "-s", "u", "-d", "1", "--gpm-metrics=2,3,5,10"];
}

function listing(query: string, { gpu, everyMs }: ListOptions) {
	return [
		...(gpu === undefined ? [] : ["-i", gpu]),
		query,
		"--format=csv,noheader,nounits",
		...(everyMs === undefined ? [] : ["-lms", String(everyMs)]),
	];
}
