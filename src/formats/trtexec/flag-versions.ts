// Which version has which flag of trtexec, of those that a config may give.
import { flagName } from "../../core/config/tensorrt-settings.ts";

/** 100 × major + minor of the first version that has them and, if given, of the first that has not; by trtexec's sources. */
const flagVersions: readonly (readonly [flags: string, since: number, until?: number])[] = [
	["--nativeInstanceNorm --ni --heuristic --minTiming --nvtxMode --explicitBatch --buildOnly", 0, 1000],
	["--layerPrecisions --layerOutputTypes --precisionConstraints --restricted", 0, 1100],
	["--noCompilationCache", 900],
	["--weightless", 900, 1100],
	["--stripWeights --allowWeightStreaming --weightStreamingBudget --allocationStrategy", 1000],
	["--pluginInstanceNorm --pi --markDebug", 1000],
	["--stripAllWeights", 1001],
	["--runtimePlatform", 1002],
	["--maxTactics", 1004],
	["--monitorMemory", 1006],
	["--tilingOptimizationLevel --l2LimitForTiling", 1008],
	["--distributiveIndependence", 1012],
	["--decomposableAttentions", 1014],
];

const versionText = (version: number) => `${Math.floor(version / 100)}.${version % 100}`;

/**
 * `--maxTactics, which came with 10.4`: the first flag that the version (100 × major + minor) lacks, which trtexec itself
 * answers with 300 lines of help. A preview feature is named after its first version: aliasedPluginIO1003.
 */
export function lackedFlag(flags: readonly string[], version: number): string | null {
	for (const text of flags) {
		const name = flagName(text);
		const [, since = 0, until] = flagVersions.find(([names]) => names.split(" ").includes(name)) ?? [];
		if (version < since) return `${name}, which came with ${versionText(since)}`;
		if (until !== undefined && version >= until) return `${name}, which ended with ${versionText(until)}`;
		for (const [feature, digits] of name === "--preview" ? text.matchAll(/[a-z]\w*?(\d{4})\b/gi) : [])
			if (version < Number(digits))
				return `preview feature ${feature}, which came with ${versionText(Number(digits))}`;
	}
	return null;
}
