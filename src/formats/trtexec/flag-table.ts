// The one table of trtexec's flags by TensorRT version: the flags of each setting, and since and until which version.
import type { Precision } from "../../../generated/config.ts";
import type { TensorRtVersion } from "./banner.ts";

/** Versions as major × 100 + minor; `until` is the first version without it. */
interface Row {
	from?: number;
	until?: number;
	argv: readonly string[];
}

export type Setting =
	| "cuda-graph-on"
	| "cuda-graph-off"
	| "spin-wait-on"
	| "spin-wait-off"
	| "transfers-on"
	| "transfers-off"
	| "separate-profile-run"
	| "strong-typing"
	| "several-profiles"
	| "select-profile"
	| "memory-suffix"
	| "calibration"
	| Precision;

const none: Row["argv"] = [];

// The first row that matches the version wins. No match: this version does not support the setting.
const table: Readonly<Record<Setting, readonly Row[]>> = {
	// 11.0 reversed the three timing defaults and made the old flags no-ops.
	"cuda-graph-on": [{ until: 1100, argv: ["--useCudaGraph"] }, { argv: none }],
	"cuda-graph-off": [{ until: 1100, argv: none }, { argv: ["--noCudaGraph"] }],
	"spin-wait-on": [{ until: 1100, argv: ["--useSpinWait"] }, { argv: none }],
	"spin-wait-off": [{ until: 1100, argv: none }, { argv: ["--noSpinWait"] }],
	"transfers-on": [{ until: 1100, argv: none }, { argv: ["--includeDataTransfers"] }],
	"transfers-off": [{ until: 1100, argv: ["--noDataTransfers"] }, { argv: none }],
	"separate-profile-run": [{ until: 1100, argv: ["--separateProfileRun"] }, { argv: none }],
	"strong-typing": [
		{ from: 900, until: 1100, argv: ["--stronglyTyped"] },
		{ from: 1100, argv: none },
	],
	"several-profiles": [{ from: 900, argv: none }],
	"select-profile": [{ from: 900, argv: ["--useProfile"] }],
	// Up to 10.0 memory pools take a bare number of MiB.
	"memory-suffix": [{ from: 1001, argv: ["M"] }],
	calibration: [{ until: 1100, argv: ["--calib"] }],
	fp32: [{ argv: ["--noTF32"] }],
	tf32: [{ argv: none }],
	fp16: [{ until: 1100, argv: ["--fp16"] }],
	bf16: [{ from: 900, until: 1100, argv: ["--bf16"] }],
	// Layers that are not quantised run in fp16, which is expected when quantising for speed.
	fp8: [{ from: 806, until: 1100, argv: ["--fp8", "--fp16"] }],
	int8: [{ until: 1100, argv: ["--int8", "--fp16"] }],
	int4: [{ from: 1001, until: 1100, argv: ["--int4", "--fp16"] }],
	// Only strongly typed networks have fp4.
	fp4: [],
};

function ordinal(version: TensorRtVersion): number {
	return version.major * 100 + version.minor;
}

/** The arguments for this setting in this version, or null if it is unsupported. */
export function settingArgs(setting: Setting, version: TensorRtVersion): readonly string[] | null {
	const at = ordinal(version);
	const row = table[setting].find(
		({ from = 0, until = Number.POSITIVE_INFINITY }) => at >= from && at < until,
	);
	return row?.argv ?? null;
}

/** From 11 on every network is strongly typed: the ONNX file's types are the precision. */
export function isAlwaysStronglyTyped(version: TensorRtVersion): boolean {
	return version.major >= 11;
}

export const flagsOfRuns: ReadonlySet<string> = new Set([
	"--versionCompatible",
	"--vc",
	"--allowWeightStreaming",
	"--weightStreamingBudget",
	"--allocationStrategy",
	"--persistentCacheRatio",
]);
