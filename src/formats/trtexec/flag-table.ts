// The one table of trtexec's flags: the arguments of each setting, and since and until which version.
import type { Precision } from "../../../generated/config.ts";
import type { TensorRtVersion } from "./banner.ts";

/** Versions as major × 100 + minor; `until` is the first version without it. */
interface Row {
	from?: number;
	until?: number;
	argv: readonly string[];
}

const always = (...argv: string[]): Row => ({ argv });
const upTo10 = (...argv: string[]): Row => ({ until: 1100, argv });
const from9 = (...argv: string[]): Row => ({ from: 900, argv });

// The first row that matches the version wins. No match: this version does not support the setting.
const table = {
	// 11.0 reversed the three timing defaults and made the old flags no-ops.
	"cuda-graph-on": [upTo10("--useCudaGraph"), always()],
	"cuda-graph-off": [upTo10(), always("--noCudaGraph")],
	"spin-wait-on": [upTo10("--useSpinWait"), always()],
	"spin-wait-off": [upTo10(), always("--noSpinWait")],
	"transfers-on": [upTo10(), always("--includeDataTransfers")],
	"transfers-off": [upTo10("--noDataTransfers"), always()],
	"separate-profile-run": [upTo10("--separateProfileRun"), always()],
	"strong-typing": [
		{ from: 1100, argv: [] },
		{ from: 900, argv: ["--stronglyTyped"] },
	],
	"several-profiles": [from9()],
	"select-profile": [from9("--useProfile")],
	// Up to 10.0 memory pools take a bare number of MiB.
	"memory-suffix": [{ from: 1001, argv: ["M"] }],
	calibration: [upTo10("--calib")],
	fp32: [always("--noTF32")],
	tf32: [always()],
	fp16: [upTo10("--fp16")],
	bf16: [{ from: 900, until: 1100, argv: ["--bf16"] }],
	// Layers that are not quantised run in fp16, which is expected when quantising for speed.
	fp8: [{ from: 806, until: 1100, argv: ["--fp8", "--fp16"] }],
	int8: [upTo10("--int8", "--fp16")],
	int4: [{ from: 1001, until: 1100, argv: ["--int4", "--fp16"] }],
	// Only strongly typed networks have fp4.
	fp4: [],
} as const satisfies Record<Precision, readonly Row[]> & Record<string, readonly Row[]>;

export type Setting = keyof typeof table;

/** The arguments for this setting in this version, or null if it is unsupported. */
export function settingArgs(setting: Setting, { major, minor }: TensorRtVersion): readonly string[] | null {
	const at = major * 100 + minor;
	const rows: readonly Row[] = table[setting];
	return (
		rows.find(({ from = 0, until = Number.POSITIVE_INFINITY }) => at >= from && at < until)?.argv ?? null
	);
}

export const flagsOfRuns: ReadonlySet<string> = new Set([
	"--versionCompatible",
	"--vc",
	"--allowWeightStreaming",
	"--weightStreamingBudget",
	"--allocationStrategy",
	"--persistentCacheRatio",
]);
