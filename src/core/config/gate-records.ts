// What `gates` of trtgate.yml may set, one record each: reading, merging, judging, comparing and showing derive from these.
import type { Precision } from "../../../generated/config.ts";
import type { ArmStats } from "../../../generated/result.ts";
import { formatBytes, formatCount, formatLimit, formatMs, formatTimes } from "../text/units.ts";

/** What a run is for, where some defaults are stricter than those for a change under review. */
export type Occasion = "release" | "nightly";

export interface Threshold {
	warn?: number;
	fail?: number;
}

export type Unit = "duration" | "size" | "rate";

export interface GateRecord {
	/** Its key below `gates`, with dots. Where the gate has results of its own, they have this name too. */
	name: string;
	/** Shares or multiples of the base that warn and fail; a largest error by precision; an absolute limit; a word. */
	kind: "shares" | "factors" | "precisions" | "setting" | Unit;
	level: "workload" | "engine";
	byDefault?: Threshold | Readonly<Record<Precision, number>> | string;
	options?: readonly string[];
	/** Stricter defaults: a release must be known to be good, and a nightly run reports faults of any cause. */
	occasions?: Readonly<Partial<Record<Occasion, string>>>;
	label?: string;
	/** Whether it judges speed, of which some backends say little. */
	isSpeed?: true;
	/** A change for the worse of this figure can be accepted once. */
	isAcceptable?: true;
	/** The head's figure that an absolute limit bounds. A smaller limit is the stricter, unless it is the least allowed. */
	bounds?: { figure: keyof ArmStats | "engineBytes"; label: string; isLeast?: true };
}

const ofWorkload = { kind: "shares", level: "workload" } as const;
const ofEngine = { kind: "shares", level: "engine" } as const;
const reviewed = { kind: "setting", level: "engine", options: ["fail", "warn", "off"] } as const;
const accepted = { isAcceptable: true } as const;
const speed = { isSpeed: true } as const;

export const gateRecords = {
	// Warns at the smallest change that five to eight pairs detect on a quiet GPU (run noise up to 1 %). The limit that fails is
	// far above the variation between builds (about 1 %) and noise: certainly a real change.
	latency: {
		...ofWorkload,
		...speed,
		...accepted,
		name: "latency",
		label: "latency",
		byDefault: { warn: 0.02, fail: 0.1 },
	},
	// Executed instructions. The count is exact; what it says about a GPU is not, so by default it only warns.
	work: { ...ofWorkload, ...speed, ...accepted, name: "work", label: "work", byDefault: { warn: 0.02 } },
	// A tail estimated from one run of 3 s scatters by 3 to 5 %, so its limits lie wider than those of the median.
	p99: {
		...ofWorkload,
		...speed,
		...accepted,
		name: "p99",
		label: "P99 latency",
		byDefault: { warn: 0.1, fail: 0.2 },
	},
	// Memory is counted, not sampled; 5 % is more than the allocator's rounding.
	memory: {
		...ofWorkload,
		...speed,
		...accepted,
		name: "memory",
		label: "peak memory",
		byDefault: { fail: 0.05 },
	},
	// The share by which throughput falls. Off by default: it follows the latency, except with several streams.
	throughput: { ...ofWorkload, ...speed, name: "throughput", label: "throughput", byDefault: {} },
	// Two builds of one model differ by less; a lost fusion or a fallback to fp32 weights adds more.
	engineSize: {
		...ofEngine,
		...accepted,
		name: "engine-size",
		label: "engine size",
		byDefault: { fail: 0.1 },
	},
	// Build time depends on caches and other processes, so it only warns.
	buildTime: {
		...ofEngine,
		...speed,
		...accepted,
		name: "build-time",
		label: "build time",
		byDefault: { warn: 0.5 },
	},
	// A GPU that keeps its clocks drifts by about 1 % (measured on an H200); one that throttles by more than the latency may.
	soakDrift: {
		...ofWorkload,
		...speed,
		name: "soak-drift",
		label: "drift under load",
		byDefault: { warn: 0.02, fail: 0.1 },
	},
	maxLatencyMs: {
		...speed,
		name: "max-latency",
		label: "latency limit",
		kind: "duration",
		level: "workload",
		bounds: { figure: "medianMs", label: "Median" },
	},
	maxMemory: {
		...speed,
		name: "max-memory",
		label: "memory limit",
		kind: "size",
		level: "workload",
		bounds: { figure: "peakMemoryBytes", label: "Peak memory" },
	},
	minThroughput: {
		...speed,
		name: "min-throughput",
		label: "throughput limit",
		kind: "rate",
		level: "workload",
		bounds: { figure: "throughputPerSecond", label: "Throughput", isLeast: true },
	},
	maxEngineSize: {
		name: "max-engine-size",
		label: "engine size limit",
		kind: "size",
		level: "engine",
		bounds: { figure: "engineBytes", label: "Engine" },
	},
	// An inconclusive comparison is shown, but does not block a pull request.
	inconclusive: {
		name: "inconclusive",
		kind: "setting",
		level: "workload",
		options: ["fail", "neutral"],
		byDefault: "neutral",
		occasions: { release: "fail" },
	},
	// A change must not pass by preventing the comparison of a workload that the base's engine runs.
	notComparable: {
		name: "not-comparable",
		kind: "setting",
		level: "workload",
		options: ["fail", "neutral"],
		byDefault: "fail",
	},
	// Largest relative L2 error to an fp32 reference, for outputs whose golden names no comparator. fp32 engines may compute in
	// TF32 (5e-4 measured on real engines), fp16 stays below 2.5e-3, a weight tensor that is 4 % wrong shows as 3.3e-2.
	relativeL2: {
		name: "golden.relative-l2",
		kind: "precisions",
		level: "engine",
		byDefault: {
			fp32: 1e-3,
			tf32: 5e-3,
			fp16: 5e-3,
			// Three mantissa bits fewer than fp16.
			bf16: 2e-2,
			int8: 5e-2,
			// Three mantissa bits, as e4m3: the rounding alone may reach 0.1.
			fp8: 1e-1,
			// Four bits: beyond gross errors, only a task metric in the golden manifest is meaningful.
			int4: 2e-1,
			fp4: 2e-1,
		},
	},
	// A change is not blocked for a golden that the base fails too, since it did not cause that.
	existing: {
		name: "golden.existing",
		kind: "setting",
		level: "engine",
		options: ["fail", "warn"],
		byDefault: "warn",
		occasions: { release: "fail", nightly: "fail" },
	},
	// Different kernel choices change the error by less than a factor of two; ten times is another computation.
	errorGrowth: {
		name: "golden.error-growth",
		kind: "factors",
		level: "engine",
		byDefault: { warn: 2, fail: 10 },
	},
	// A probe has no reference: some models read their neighbours on purpose, as with per-tensor dynamic quantisation.
	probes: { ...reviewed, name: "probes", byDefault: "warn" },
	// Whatever feeds and reads the engine breaks when its inputs or outputs change.
	interface: { ...reviewed, name: "interface", label: "interface", byDefault: "fail" },
	// Whether a changed golden blocks is decided by branch protection and the team.
	goldenChange: { ...reviewed, name: "golden-change", label: "changed golden", byDefault: "warn" },
	// Looser rules in the head's config hold only after the merge.
	limitChange: { ...reviewed, name: "limit-change", label: "loosened limits", byDefault: "warn" },
	// A person decides whether a model, engine, workload, golden or case that the base checks may go.
	coverage: { ...reviewed, name: "coverage", label: "coverage", byDefault: "warn" },
	vanished: { ...reviewed, name: "vanished", label: "vanished figures", byDefault: "warn" },
} as const satisfies Readonly<Record<string, GateRecord>>;

type Records = typeof gateRecords;
export type GateKey = keyof Records;
type ValueOf<Gate extends GateRecord> = Gate extends { options: readonly (infer Option)[] }
	? Option
	: Gate extends { kind: "precisions" }
		? Readonly<Record<Precision, number>>
		: Gate extends { kind: Unit }
			? number | undefined
			: Threshold;

export type GateValues = { -readonly [Key in GateKey]: ValueOf<Records[Key]> };

type NamesWith<Facts> = Extract<Records[GateKey], Facts>["name"];
export type BoundName = NamesWith<{ kind: Unit }>;
export type AcceptableName = NamesWith<{ isAcceptable: true }>;

export const gateEntries = Object.entries(gateRecords) as readonly (readonly [GateKey, GateRecord])[];
const records = gateEntries.map(([, gate]) => gate);

export const absoluteGates = gateEntries.flatMap(([key, { name, kind, level, bounds }]) =>
	bounds === undefined
		? []
		: [{ ...bounds, key: key as "maxMemory", name: name as BoundName, kind: kind as Unit, level }],
);

export const acceptableNames = records
	.filter(({ isAcceptable }) => isAcceptable)
	.map(({ name }) => name) as readonly AcceptableName[];

export const speedNames: readonly string[] = records.filter(({ isSpeed }) => isSpeed).map(({ name }) => name);

export const resultLabels = Object.fromEntries(
	records.flatMap(({ name, label }) => (label === undefined ? [] : [[name, label]])),
) as Record<NamesWith<{ label: string }>, string>;

export const formatGate: Readonly<Record<GateRecord["kind"], (value: number) => string>> = {
	shares: formatLimit,
	factors: formatTimes,
	precisions: String,
	duration: formatMs,
	size: formatBytes,
	rate: (value) => `${formatCount(Number(value.toPrecision(4)))} / s`,
	setting: String,
};
