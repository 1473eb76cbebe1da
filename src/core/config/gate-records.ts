// The keys of `gates` in trtgate.yml. Reading, merging, judging, comparing and showing limits derive from these records.
import type { Precision } from "../../../generated/config.ts";
import type { ArmStats } from "../../../generated/result.ts";
import { formatBytes, formatCount, formatLimit, formatMs, formatTimes } from "../text/units.ts";

/** Runs whose defaults are stricter than those for a change under review. */
export type Occasion = "release" | "nightly";

export interface Threshold {
	warn?: number;
	fail?: number;
}

type Unit = "duration" | "size" | "rate";

export interface ServiceLevel {
	p99Ms: number;
	ratePerSecond: number;
}

export interface GateRecord {
	/** Key below `gates`, with dots; also the name of its results. */
	name: string;
	/**
	 * shares, factors: limits relative to the base, or least shares. precisions: largest error by precision. slo: a time
	 * at a rate. Else an absolute limit or a word.
	 */
	kind: "shares" | "factors" | "precisions" | "setting" | "slo" | Unit;
	level: "workload" | "engine";
	byDefault?: Threshold | Readonly<Record<Precision, number>> | string | number;
	options?: readonly string[];
	occasions?: Readonly<Partial<Record<Occasion, string>>>;
	label?: string;
	isSpeed?: true;
	isAcceptable?: true;
	isLeast?: true;
	bounds?: { figure: keyof ArmStats | "engineBytes"; label: string; isLeast?: true };
}

const compared = { kind: "shares", level: "workload", isSpeed: true } as const;
const acceptable = { ...compared, isAcceptable: true } as const;
const ofEngine = { kind: "shares", level: "engine", isAcceptable: true } as const;
const reviewed = { kind: "setting", level: "engine", options: ["fail", "warn", "off"] } as const;
const limit = { isSpeed: true, level: "workload" } as const;
const neutral = { kind: "setting", level: "workload", options: ["fail", "neutral"] } as const;

const gateRecords = {
	// Five to eight pairs on a quiet GPU detect 2 % (run noise up to 1 %); 10 % is far above the variation between builds
	// (1 %).
	latency: { ...acceptable, name: "latency", label: "latency", byDefault: { warn: 0.02, fail: 0.1 } },
	// The count is exact; what it says about a GPU is not.
	work: { ...acceptable, name: "work", label: "work", byDefault: { warn: 0.02 } },
	// A tail from one run of 3 s scatters by 3 to 5 %.
	p99: { ...acceptable, name: "p99", label: "P99 latency", byDefault: { warn: 0.1, fail: 0.2 } },
	// 5 % is more than the allocator's rounding.
	memory: { ...acceptable, name: "memory", label: "peak memory", byDefault: { fail: 0.05 } },
	// Less than run and build noise together would not be worth a second engine.
	payoff: { ...compared, name: "payoff", label: "payoff", byDefault: { warn: 0.05 }, isLeast: true },
	// Off by default, because it follows the latency, except with several streams.
	throughput: { ...compared, name: "throughput", label: "throughput", byDefault: {} },
	// A lost fusion or a fallback to fp32 weights adds more than two builds differ by.
	engineSize: { ...ofEngine, name: "engine-size", label: "engine size", byDefault: { fail: 0.1 } },
	// A build with --fp16 may leave half of a small net in fp32 because that is faster; an int8 engine with less than a
	// tenth in int8 is none.
	precisionCoverage: {
		kind: "shares",
		isLeast: true,
		level: "engine",
		name: "precision-coverage",
		label: "precision coverage",
		byDefault: { warn: 0.5, fail: 0.1 },
	},
	precisionDrop: { kind: "shares", level: "engine", name: "precision-drop", byDefault: { warn: 0.05 } },
	buildTime: {
		...ofEngine,
		isSpeed: true,
		name: "build-time",
		label: "build time",
		byDefault: { warn: 0.5 },
	},
	// Processes scatter by a few percent.
	startUp: {
		kind: "shares",
		level: "engine",
		isSpeed: true,
		name: "start-up",
		label: "start-up",
		byDefault: { warn: 0.1 },
	},
	// In 1,000 runs; less hides in the 2 MiB that the driver hands out at a time.
	memoryGrowth: {
		kind: "size",
		level: "engine",
		name: "memory-growth",
		label: "memory growth",
		byDefault: 2 ** 20,
	},
	maxLatencyMs: {
		...limit,
		kind: "duration",
		name: "max-latency",
		label: "latency limit",
		bounds: { figure: "medianMs", label: "Median" },
	},
	maxMemory: {
		...limit,
		kind: "size",
		name: "max-memory",
		label: "memory limit",
		bounds: { figure: "peakMemoryBytes", label: "Peak memory" },
	},
	minThroughput: {
		...limit,
		kind: "rate",
		name: "min-throughput",
		label: "throughput limit",
		bounds: { figure: "throughputPerSecond", label: "Throughput", isLeast: true },
	},
	slo: { ...limit, kind: "slo", name: "slo", label: "latency under load" },
	maxEngineSize: {
		kind: "size",
		level: "engine",
		name: "max-engine-size",
		label: "engine size limit",
		bounds: { figure: "engineBytes", label: "Engine" },
	},
	inconclusive: { ...neutral, name: "inconclusive", byDefault: "neutral", occasions: { release: "fail" } },
	// A change must not pass by preventing the comparison.
	notComparable: { ...neutral, name: "not-comparable", byDefault: "fail" },
	// Relative L2 error to an fp32 reference. Engines in fp32 may compute in TF32 (5e-4 measured), fp16 stays below
	// 2.5e-3, and a weight tensor that is 4 % wrong shows as 3.3e-2. Rounding to e4m3 alone may reach 0.1.
	relativeL2: {
		name: "golden.relative-l2",
		kind: "precisions",
		level: "engine",
		byDefault: {
			fp32: 1e-3,
			tf32: 5e-3,
			fp16: 5e-3,
			bf16: 2e-2,
			int8: 5e-2,
			fp8: 1e-1,
			int4: 2e-1,
			fp4: 2e-1,
		},
	},
	// If the base fails too, the change is not the cause.
	existing: {
		name: "golden.existing",
		kind: "setting",
		level: "engine",
		options: ["fail", "warn"],
		byDefault: "warn",
		occasions: { release: "fail", nightly: "fail" },
	},
	// Other kernels change the error by less than a factor of two.
	errorGrowth: {
		name: "golden.error-growth",
		kind: "factors",
		level: "engine",
		byDefault: { warn: 2, fail: 10 },
	},
	// Other kernels stay within the limit once; beyond ten times no rounding explains it.
	probes: { name: "probes", kind: "factors", level: "engine", byDefault: { warn: 1, fail: 10 } },
	interface: { ...reviewed, name: "interface", label: "interface", byDefault: "fail" },
	goldenChange: { ...reviewed, name: "golden-change", label: "changed golden", byDefault: "warn" },
	// Kernels are chosen by their times, so a sparse one may be lost by chance.
	sparsity: { ...reviewed, name: "sparsity", label: "sparsity", byDefault: "warn" },
	limitChange: { ...reviewed, name: "limit-change", label: "loosened limits", byDefault: "warn" },
	coverage: { ...reviewed, name: "coverage", label: "coverage", byDefault: "warn" },
	vanished: { ...reviewed, name: "vanished", label: "vanished figures", byDefault: "warn" },
} as const satisfies Readonly<Record<string, GateRecord>>;

type Records = typeof gateRecords;
type GateKey = keyof Records;
type ValueOf<Gate extends GateRecord> = Gate extends { options: readonly (infer Option)[] }
	? Option
	: Gate extends { kind: "precisions" }
		? Readonly<Record<Precision, number>>
		: Gate extends { kind: "slo" }
			? ServiceLevel | undefined
			: Gate extends { kind: Unit }
				? Gate extends { byDefault: number }
					? number
					: number | undefined
				: Threshold;

export type GateValues = { -readonly [Key in GateKey]: ValueOf<Records[Key]> };

type NamesWith<Facts> = Extract<Records[GateKey], Facts>["name"];
export const gateEntries = Object.entries(gateRecords) as readonly (readonly [GateKey, GateRecord])[];
const records = gateEntries.map(([, gate]) => gate);

export const absoluteGates = gateEntries.flatMap(([key, { name, kind, level, bounds }]) =>
	bounds === undefined
		? []
		: [
				{
					...bounds,
					key: key as "maxMemory",
					name: name as NamesWith<{ kind: Unit }>,
					kind: kind as Unit,
					level,
				},
			],
);

export const acceptableNames = records
	.filter(({ isAcceptable }) => isAcceptable)
	.map(({ name }) => name) as readonly NamesWith<{ isAcceptable: true }>[];

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
	slo: String,
};
