// The records of all parts in one list each, every one with the name of its part.
import type { Result, WorkloadResult } from "../schema/result.ts";
import { formatCount } from "../text/units.ts";

interface NamedResult {
	/** undefined: the only part, whose records need no name. */
	name: string | undefined;
	result: Result;
}

type Records = Pick<
	Result,
	"findings" | "builds" | "golden" | "interfaceChanges" | "goldenChanges" | "probes" | "bisections" | "workloads" | "gates" | "errors"
>;

/** Paths lead into folders that stayed with the parts, so they are left out. */
export function namedRecords(parts: readonly NamedResult[]): Records {
	const interfaces = collect(parts, ({ interfaceChanges }) => interfaceChanges ?? []);
	const changes = collect(parts, ({ goldenChanges }) => goldenChanges ?? []);
	const probes = collect(parts, ({ probes }) => probes ?? []);
	const bisections = collect(parts, ({ bisections }) => bisections ?? []);
	return {
		findings: collect(parts, ({ findings }) => findings),
		builds: collect(parts, ({ builds }) => builds).map(({ log: _log, enginePath: _path, ...build }) => build),
		golden: collect(parts, ({ golden }) => golden),
		...(interfaces.length === 0 ? {} : { interfaceChanges: interfaces }),
		...(changes.length === 0 ? {} : { goldenChanges: changes }),
		...(probes.length === 0 ? {} : { probes }),
		...(bisections.length === 0 ? {} : { bisections }),
		workloads: collect(parts, ({ workloads }) => workloads).map(withoutFiles),
		gates: collect(parts, ({ gates }) => gates),
		errors: collect(parts, ({ errors }) => errors).map(({ log: _log, ...error }) => error),
	};
}

/** `part` last, so that it overrides a record's own. */
function collect<Item extends { part?: string }>(parts: readonly NamedResult[], list: (result: Result) => readonly Item[]): Item[] {
	return parts.flatMap(({ name, result }) => list(result).map((item) => renamed(item, name)));
}

function renamed<Item extends { part?: string }>(item: Item, name: string | undefined): Item {
	if (name !== undefined) return { ...item, part: name };
	const { part: _part, ...rest } = item;
	return rest as Item;
}

function withoutFiles(workload: WorkloadResult): WorkloadResult {
	return { ...workload, runs: workload.runs.map(({ samples: _samples, ...run }) => run) };
}

/** Of about 1.5 kB each with what the GPU did: some fifteen megabytes; a page shows the first few hundred rows. */
const maxRuns = 10_000;

/** Keeps the single runs of rows that changed, and of others as long as there is room; the figures of all rows stay. */
export function thinned(workloads: readonly WorkloadResult[]): { workloads: WorkloadResult[]; note: string | null } {
	const total = workloads.reduce((sum, { runs }) => sum + runs.length, 0);
	if (total <= maxRuns) return { workloads: [...workloads], note: null };
	let left = maxRuns;
	const kept = new Set<WorkloadResult>();
	const changedFirst = [...workloads].sort((a, b) => Number(a.verdict === "unchanged") - Number(b.verdict === "unchanged"));
	for (const workload of changedFirst) {
		if (workload.runs.length > left) break;
		left -= workload.runs.length;
		kept.add(workload);
	}
	const thin = (workload: WorkloadResult): WorkloadResult =>
		kept.has(workload) ? workload : { ...workload, runs: [], distribution: null };
	const count = formatCount(workloads.length - kept.size);
	return {
		workloads: workloads.map(thin),
		note: `The single runs of ${count} of ${formatCount(workloads.length)} workloads are left out here to keep this result readable; the parts' own results hold them.`,
	};
}
