// What `gates` of trtgate.yml may set, one record each: reading, merging, comparing, showing and labels all derive from these.
import type { Precision } from "../../../generated/config.ts";
import { formatLimit, formatMs, formatTimes } from "../text/units.ts";

/** What a run is for, where some defaults are stricter than those for a change under review. */
export type Occasion = "release" | "nightly";

/** Shares of the base: 0.1 is 10 %. An absent limit never fires. */
export interface Threshold {
	warn?: number;
	fail?: number;
}

export interface GateRecord {
	/** Its key below `gates`, with dots. Where the gate has results of its own, they have this name too. */
	name: string;
	/** Shares or multiples of the base that warn and fail; a largest error for each precision; a time; or one of some words. */
	kind: "shares" | "factors" | "precisions" | "duration" | "setting";
	/** What it is about. */
	level: "workload" | "engine";
	byDefault?: Threshold | Readonly<Record<Precision, number>> | string;
	/** Of a setting: the strictest first. */
	options?: readonly string[];
	/** Stricter defaults: a release must be known to be good, and a nightly run reports faults of any cause. */
	occasions?: Readonly<Partial<Record<Occasion, string>>>;
	/** Of its results in reports. */
	label?: string;
}

const reviewed = ["fail", "warn", "off"] as const;

export const gateRecords = {
	latency: {
		name: "latency",
		label: "latency",
		kind: "shares",
		level: "workload",
		// Warns at the smallest change that five to eight pairs detect on a quiet GPU (run noise up to 1 %). The limit that fails is
		// far above the variation between builds (about 1 %) and noise: certainly a real change.
		byDefault: { warn: 0.02, fail: 0.1 },
	},
	/** Executed instructions, where they are counted. The count is exact; what it says about a GPU is not, so by default it only warns. */
	work: { name: "work", label: "work", kind: "shares", level: "workload", byDefault: { warn: 0.02 } },
	// A tail estimated from one run of 3 s scatters by 3 to 5 %, so its limits lie wider than those of the median.
	p99: {
		name: "p99",
		label: "P99 latency",
		kind: "shares",
		level: "workload",
		byDefault: { warn: 0.1, fail: 0.2 },
	},
	// Memory is counted, not sampled; 5 % is more than the allocator's rounding.
	memory: {
		name: "memory",
		label: "peak memory",
		kind: "shares",
		level: "workload",
		byDefault: { fail: 0.05 },
	},
	// Two builds of one model differ by less; a lost fusion or a fallback to fp32 weights adds more.
	engineSize: {
		name: "engine-size",
		label: "engine size",
		kind: "shares",
		level: "engine",
		byDefault: { fail: 0.1 },
	},
	// Build time depends on caches and other processes, so it only warns.
	buildTime: {
		name: "build-time",
		label: "build time",
		kind: "shares",
		level: "engine",
		byDefault: { warn: 0.5 },
	},
	// A GPU that keeps its clocks drifts by about 1 % (measured on an H200); one that throttles by more than the latency may.
	soakDrift: {
		name: "soak-drift",
		label: "drift under load",
		kind: "shares",
		level: "workload",
		byDefault: { warn: 0.02, fail: 0.1 },
	},
	/** Of the head's median, in milliseconds. */
	maxLatencyMs: { name: "max-latency", label: "latency limit", kind: "duration", level: "workload" },
	/** What an inconclusive comparison does. Shown, but does not block a pull request. */
	inconclusive: {
		name: "inconclusive",
		kind: "setting",
		level: "workload",
		options: ["fail", "neutral"],
		byDefault: "neutral",
		occasions: { release: "fail" },
	},
	/** What a workload does that the base's engine has and that cannot be compared: a change must not pass by preventing that. */
	notComparable: {
		name: "not-comparable",
		kind: "setting",
		level: "workload",
		options: ["fail", "neutral"],
		byDefault: "fail",
	},
	/**
	 * Largest relative L2 error to an fp32 reference, for outputs whose golden names no comparator. fp32 engines may compute in TF32
	 * (5e-4 measured on real engines), fp16 stays below 2.5e-3, a weight tensor that is 4 % wrong shows as 3.3e-2.
	 */
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
	/** What a golden that head and base both fail does: a change is not blocked for what it did not cause. */
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
	/** What a probe that the base passes does. It has no reference: some models read their neighbours on purpose, as with per-tensor dynamic quantisation. */
	probes: { name: "probes", kind: "setting", level: "engine", options: reviewed, byDefault: "warn" },
	/** What other inputs or outputs than the base's do: whatever feeds and reads the engine breaks with it. */
	interface: {
		name: "interface",
		label: "interface",
		kind: "setting",
		level: "engine",
		options: reviewed,
		byDefault: "fail",
	},
	/** What a golden that differs between base and head does. Whether it blocks is decided by branch protection and the team. */
	goldenChange: {
		name: "golden-change",
		label: "changed golden",
		kind: "setting",
		level: "engine",
		options: reviewed,
		byDefault: "warn",
	},
	/** What looser rules in the head's config do, which hold only after the merge. */
	limitChange: {
		name: "limit-change",
		label: "loosened limits",
		kind: "setting",
		level: "engine",
		options: reviewed,
		byDefault: "warn",
	},
	/** What a model, engine, workload, golden or golden case does that the base checks and the head does not: a person decides whether it may go. */
	coverage: {
		name: "coverage",
		label: "coverage",
		kind: "setting",
		level: "engine",
		options: reviewed,
		byDefault: "warn",
	},
	/** What a figure does that the base reports and the head does not. */
	vanished: {
		name: "vanished",
		label: "vanished figures",
		kind: "setting",
		level: "engine",
		options: reviewed,
		byDefault: "warn",
	},
} as const satisfies Readonly<Record<string, GateRecord>>;

type Records = typeof gateRecords;
export type GateKey = keyof Records;
type ValueOf<Gate extends GateRecord> = Gate extends { options: readonly (infer Option)[] }
	? Option
	: Gate extends { kind: "precisions" }
		? Readonly<Record<Precision, number>>
		: Gate extends { kind: "duration" }
			? number | undefined
			: Threshold;

/** The value of each, merged from file, model, engine and workload. */
export type GateValues = { -readonly [Key in GateKey]: ValueOf<Records[Key]> };

export const gateEntries = Object.entries(gateRecords) as readonly (readonly [GateKey, GateRecord])[];

/** Labels by the names of results. */
export const resultLabels = Object.fromEntries(
	gateEntries.flatMap(([, { name, label }]) => (label === undefined ? [] : [[name, label]])),
) as {
	[Gate in Extract<Records[GateKey], { label: string }> as Gate["name"]]: string;
};

export const formatGate: Readonly<Record<GateRecord["kind"], (value: number) => string>> = {
	shares: formatLimit,
	factors: formatTimes,
	precisions: String,
	duration: formatMs,
	setting: String,
};
