// Command lines of nvidia-smi, and the fields to query by the names that its versions use.

/** One quantity and its names, newest first: the first that the driver lists is queried. */
export interface SmiField {
	key: string;
	names: readonly string[];
}

function field(key: string, ...names: string[]): SmiField {
	return { key, names: names.length === 0 ? [key] : names };
}

/** Ten times a second. `clocks_throttle_reasons` became `clocks_event_reasons` with driver 530; 535 and later support both. */
export const sampleFields: readonly SmiField[] = [
	field("clocks.sm", "clocks.sm", "clocks.current.sm"),
	field("clocks.mem", "clocks.mem", "clocks.current.memory"),
	field("power.draw"),
	field("temperature.gpu"),
	field("memory.used"),
	field("utilization.gpu"),
	field("utilization.memory"),
	field("reasons", "clocks_event_reasons.active", "clocks_throttle_reasons.active"),
];

export const inventoryFields: readonly SmiField[] = [
	field("index"),
	field("uuid", "uuid", "gpu_uuid"),
	field("name", "name", "gpu_name"),
	field("driver_version"),
	field("compute_cap"),
	field("memory.total"),
	field("power.limit"),
	field("enforced.power.limit"),
	field("mig.mode.current"),
	field("ecc.mode.current"),
	field("display_active"),
];

/** A queried field: the columns of the answer have this order, whatever its header calls them. */
export interface QueryField {
	key: string;
	name: string;
}

/** Names in the answer to `--help-query-gpu`: lines of `"name"` or `"name" or "alias"`. */
export function parseHelpFields(help: string): ReadonlySet<string> {
	const names = new Set<string>();
	for (const line of help.split(/\r?\n/)) {
		if (!/^"[^"\s]+"(\s+or\s+"[^"\s]+")*\s*$/.test(line)) continue;
		for (const match of line.matchAll(/"([^"\s]+)"/g)) if (match[1] !== undefined) names.add(match[1]);
	}
	return names;
}

/** One field that a driver does not know would fail the whole query, so only those that it lists are queried. */
export function chooseFields(wanted: readonly SmiField[], offered: ReadonlySet<string>): QueryField[] {
	return wanted.flatMap(({ key, names }) => {
		const name = names.find((candidate) => offered.has(candidate));
		return name === undefined ? [] : [{ key, name }];
	});
}

/** GPM metric numbers (nvmlGpmMetricId_t): SM utilisation, SM occupancy, any tensor pipe, DRAM bandwidth. */
const gpmMetrics = "2,3,5,10";

export const helpArgs: readonly string[] = ["--help-query-gpu"];
export const listArgs: readonly string[] = ["-L"];

export function queryArgs(
	fields: readonly QueryField[],
	options: { gpu?: string; everyMs?: number } = {},
): string[] {
	return listing(`--query-gpu=${fields.map(({ name }) => name).join(",")}`, options);
}

export function appsArgs(options: { gpu?: string; everyMs?: number } = {}): string[] {
	return listing("--query-compute-apps=timestamp,gpu_uuid,pid,process_name,used_gpu_memory", options);
}

/** Hardware counters, once a second: dmon has no shorter interval. Offered from Hopper on. */
export function gpmArgs(gpu: string): string[] {
	return ["dmon", "-i", gpu, "-s", "u", "-d", "1", `--gpm-metrics=${gpmMetrics}`];
}

function listing(query: string, { gpu, everyMs }: { gpu?: string; everyMs?: number }): string[] {
	return [
		...(gpu === undefined ? [] : ["-i", gpu]),
		query,
		"--format=csv,noheader,nounits",
		...(everyMs === undefined ? [] : ["-lms", String(everyMs)]),
	];
}
