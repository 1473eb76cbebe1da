// Which flags of trtexec are trtgate's own to give, and the key of trtgate.yml that means each.

/** Advice on each flag: the key to use in its place, or why there is none. */
const advice = {
	onnx: "Name the file under `onnx`.",
	shapes: "Give sizes under `dims` or `profiles`.",
	precision: "State the engine's `precision`.",
	device: "Name the GPU under `device`.",
	dla: "Use the engine's `dla: { core, gpu-fallback }`.",
	workspace: "Use `workspace`; other memory pools keep TensorRT's own sizes.",
	plugins: "List the libraries under `plugins`.",
	calibration: "Name the calibration cache under `calibration`.",
	level: "Use `optimization-level`.",
	caches: "Use `cache: { timing, engines }`: both arms build on one timing cache.",
	timing: "Use `measure` (`warm-up`, `duration`, `cuda-graph`, `spin-wait`, `transfers`) or a workload's `streams`.",
	outputs: "Remove it: trtgate writes and reads these files itself.",
	mode: "Remove it: it would change what is timed, in a way that cannot be compared.",
	help: "Remove it: such a run builds nothing.",
} as const;

const flagsBy: Readonly<Record<keyof typeof advice, readonly string[]>> = {
	onnx: ["--onnx"],
	shapes: ["--minShapes", "--optShapes", "--maxShapes", "--shapes", "--profile", "--useProfile"],
	precision: ["--fp16", "--bf16", "--int8", "--fp8", "--int4", "--best", "--noTF32", "--stronglyTyped"],
	device: ["--device"],
	dla: ["--useDLACore", "--allowGPUFallback"],
	workspace: ["--memPoolSize", "--workspace"],
	plugins: ["--plugins", "--staticPlugins", "--dynamicPlugins"],
	calibration: ["--calib"],
	level: ["--builderOptimizationLevel"],
	caches: ["--timingCacheFile", "--errorOnTimingCacheMiss", "--noBuilderCache"],
	timing: [
		"--iterations",
		"--duration",
		"--warmUp",
		"--infStreams",
		"--streams",
		"--useCudaGraph",
		"--noCudaGraph",
		"--useSpinWait",
		"--noSpinWait",
		"--noDataTransfers",
		"--includeDataTransfers",
	],
	outputs: [
		"--loadEngine",
		"--saveEngine",
		"--saveAllEngines",
		"--skipInference",
		"--loadInputs",
		"--loadRefOutputs",
		"--refPair",
		"--dumpOutput",
		"--dumpRawBindingsToFile",
		"--dumpProfile",
		"--dumpLayerInfo",
		"--exportTimes",
		"--exportOutput",
		"--exportProfile",
		"--exportLayerInfo",
		"--profilingVerbosity",
		"--avgRuns",
		"--percentile",
		"--separateProfileRun",
		"--verbose",
	],
	mode: ["--sleepTime", "--idleTime", "--threads", "--exposeDMA", "--useManagedMemory", "--timeDeserialize", "--timeRefit"],
	help: ["--help", "-h", "--getPlanVersionOnly"],
};

/** What to do instead, by flag; a user's own would collide with ours or undo what a comparison rests on. */
export const ownedFlags: ReadonlyMap<string, string> = new Map(
	(Object.keys(flagsBy) as (keyof typeof advice)[]).flatMap((kind) => flagsBy[kind].map((flag) => [flag, advice[kind]] as const)),
);

/** Flags of which trtexec takes more than one; of all others a second one is an `Unknown option`. */
const repeatableFlags: ReadonlySet<string> = new Set(["--setPluginsToSerialize"]);

export interface FlagFault {
	/** The flag, or the whole word where it is none. */
	what: string;
	/** Follows the name of what is at fault. */
	says: string;
	fix: string;
}

/** What is wrong with the `index`th of a user's flags; null where nothing is. */
export function flagFault(flags: readonly string[], index: number): FlagFault | null {
	const argument = flags[index] ?? "";
	const name = flagName(argument);
	if (!/^--?[A-Za-z][\w-]*$/.test(name) || /[\p{Cc}]/u.test(argument)) {
		return { what: argument, says: "is no flag of trtexec", fix: "Write each flag as one word, with its value joined by `=`." };
	}
	const owned = ownedFlags.get(name);
	if (owned !== undefined) return { what: name, says: "is set by trtgate itself", fix: owned };
	const isSecond = flags.slice(0, index).some((earlier) => flagName(earlier) === name);
	if (isSecond && !repeatableFlags.has(name)) {
		return { what: name, says: "is given twice", fix: "Give it once: trtexec knows no second one." };
	}
	return null;
}

export function flagName(argument: string): string {
	return argument.split("=", 1)[0] ?? "";
}
