// Checks an engine's settings against what this TensorRT has given up.
import { quoted } from "../../text/escape.ts";
import { isAtLeast } from "../tensorrt/support.ts";
import { finding, type Rule } from "./subject.ts";

const typesInFile =
	"Set types in the ONNX file; AutoCast's `--nodes_to_exclude` keeps single nodes in float.";
const quantised = "Quantise the file (Q/DQ nodes): TensorRT 11 has no calibration.";
const superfluous = "Remove the flag.";

/** By the major version that lacks them: trtexec's option parsers of 8.6 to 11.1. */
const removed: readonly (readonly [major: number, argument: RegExp, fix: string])[] = [
	[10, /^--(?:minTiming|heuristic|buildOnly|nvtxMode|explicit\w+|nativeInstanceNorm|ni)(?:=|$)/, superfluous],
	[11, /^--(?:precisionConstraints|layerPrecisions|layerOutputTypes)(?:=|$)/, typesInFile],
	[11, /^--(?:calibProfile|(?:min|opt|max)ShapesCalib)(?:=|$)/, quantised],
	[11, /^--(?:restricted|weightless)(?:=|$)/, superfluous],
	[11, /^--tacticSources=.*(?:CUBLAS|CUDNN)/, "Name neither CUBLAS, CUBLAS_LT nor CUDNN."],
	[11, /^--preview=.*profileSharing0806/, "Leave profileSharing0806 out."],
	[11, /^--(?:in|out)putIOFormats=.*:/, "Name layouts only, as in `chw`: the types are the file's."],
];

export const settings: Rule = ({ tensorrt, context }) => {
	const { flags = [], dla, plugins = [] } = context.settings ?? {};
	if (tensorrt === null) return [];
	const { name } = tensorrt;
	const found = flags.flatMap((flag) => {
		const gone = removed.find(([major, argument]) => argument.test(flag) && isAtLeast(tensorrt, major, 0));
		if (gone === undefined) return [];
		return [finding("setting-removed", `${name} no longer takes ${quoted(flag, 80)}.`, { fix: gone[2] })];
	});
	if (dla !== undefined && isAtLeast(tensorrt, 10, 8) === true && isAtLeast(tensorrt, 11, 4) === false) {
		const severity = isAtLeast(tensorrt, 11, 0) === true ? "error" : "warning";
		found.push(
			finding("dla-unsupported", `The engine has \`dla\`, and ${name} supports no DLA.`, { severity }),
		);
	}
	if (plugins.length > 0 && isAtLeast(tensorrt, 11, 0) === true)
		found.push(
			finding("plugin-deprecated", `${name} still loads plugins of version 2, which are deprecated.`),
		);
	return found;
};
