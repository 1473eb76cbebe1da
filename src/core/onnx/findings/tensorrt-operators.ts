// Checks operators against the lists of what TensorRT imports, and advises what to do about the others.
import type { Finding } from "../../../../generated/result.ts";
import { listedSpan, standingOf, type TensorRt } from "../tensorrt/support.ts";
import { nodeLabel } from "../walk.ts";
import { isKnownToOnnxRuntime, lifetimeOf, type OperatorUses, operatorUses } from "./operators.ts";
import { finding, nodeIn, others, type PreflightContext, type Rule } from "./subject.ts";

/** TensorRT's parser imports these by itself (onnxOpImporters.cpp: TRT_Conv, TRT_FP8QuantizeLinear, …). */
const ownPrefix = "TRT_";
const lacks: readonly string[] = ["operator-unknown", "operator-unsupported", "plugin-absent"];

export const tensorRtOperators: Rule = (subject) => {
	const { tensorrt, context } = subject;
	if (tensorrt === null) return operatorUses(subject).flatMap(neverImported);
	const found = operatorUses(subject).flatMap((uses) => judge(uses, tensorrt, context));
	if (context.loadsPlugins !== true) return found;
	// The user's plugin library may provide what TensorRT lacks; the build will show it.
	const fix = "Nothing, if a library under `plugins` provides it; otherwise the build fails.";
	return found.map(
		(each): Finding => (lacks.includes(each.code) ? { ...each, severity: "note", fix } : each),
	);
};

/** On ONNX Runtime, which runs it: what no version of TensorRT builds, because most such models are meant for TensorRT in the end. */
function neverImported({ node, scope, count }: OperatorUses): Finding[] {
	const isListed =
		node.op.startsWith(ownPrefix) ||
		listedSpan("operators", node.op) !== null ||
		listedSpan("plugins", node.op) !== null;
	if (isListed || !isKnownToOnnxRuntime(node)) return [];
	const message = `TensorRT has no importer for ${nodeIn(node, scope)}${others(count)}; the ONNX Runtime backend runs it.`;
	const fix = `For TensorRT: ${adviceFor(node.op, undefined)}`;
	return [finding("operator-unsupported", message, { severity: "note", fix, node })];
}

/** The parser looks for an importer, then for a plugin of the name; it does not look at the domain. */
function judge(uses: OperatorUses, tensorrt: TensorRt, { plugins }: PreflightContext): Finding[] {
	const { node, scope, count } = uses;
	if (node.op.startsWith(ownPrefix) || plugins?.includes(node.op)) return [];
	const { has, isCertain, because } = standingOf(tensorrt, "operators", node.op);
	const label = `${nodeIn(node, scope)}${others(count)}`;
	if (has) {
		// What another domain means by a standard name may be something else, as com.microsoft's Attention is.
		if (node.domain === "") return [];
		const message = `${nodeIn(node, scope)} has the name of an ONNX operator${others(count)}: TensorRT goes by the name alone and reads it as ONNX's ${node.op}.`;
		return [finding("operator-domain", message, { node })];
	}
	if (listedSpan("plugins", node.op) !== null) return [pluginFinding(uses, tensorrt, label)];
	const listed = listedSpan("operators", node.op);
	if (lifetimeOf(node) === undefined && listed === null) {
		const message = `${nodeLabel(node)} is not an ONNX operator, a function of this file or a plugin that comes with ${tensorrt.name}${others(count)}: it builds only if a plugin of that name is loaded.`;
		const severity = tensorrt.version === null ? "warning" : "error";
		const fix =
			"Export it as plain ONNX operators or as a function of the file, which TensorRT reads without a plugin.";
		return [finding("operator-unknown", message, { severity, fix, node })];
	}
	const message = `${tensorrt.name} ${isCertain ? "does not" : "may not"} import ${label}${because === undefined ? "" : `: ${because}`}.`;
	const severity = isCertain ? "error" : "warning";
	return [
		finding("operator-unsupported", message, { severity, fix: adviceFor(node.op, listed?.first), node }),
	];
}

function pluginFinding({ node }: OperatorUses, tensorrt: TensorRt, label: string): Finding {
	const { has, isCertain, because } = standingOf(tensorrt, "plugins", node.op);
	const span = listedSpan("plugins", node.op);
	if (has) {
		// The plugins that went, went with a major version.
		const gone =
			span === null || span.isInNewest
				? ""
				: ` It was removed in TensorRT ${Number.parseInt(span.last, 10) + 1}.`;
		const message = `${label} is a plugin that comes with ${tensorrt.name} (libnvinfer_plugin); trtexec loads it by itself.${gone}`;
		return finding("operator-plugin", message, { node });
	}
	const listed = span === null ? "" : ` (it came with ${span.first} to ${span.last})`;
	const message = `${tensorrt.name} ${isCertain ? "does not include" : "may not include"} the plugin of ${label}${listed}${because === undefined ? "" : `: ${because}`}.`;
	const fix = /NMS/.test(node.op)
		? "Export with EfficientNMS_TRT or ONNX's NonMaxSuppression."
		: "Export with plain ONNX operators, or build with a TensorRT that includes the plugin.";
	return finding("plugin-absent", message, { severity: isCertain ? "error" : "warning", fix, node });
}

const families: readonly (readonly [names: RegExp, advice: string])[] = [
	[
		/^(QLinear|MatMulInteger$|ConvInteger$|DynamicQuantize)/,
		"Quantise again in the QDQ format (QuantizeLinear and DequantizeLinear around float operators), symmetric INT8.",
	],
	[
		/^(Sequence|Optional|SplitToSequence$|ConcatFromSequence$)/,
		"Export without sequences and optional values (Split, Concat and Gather do the same on tensors); simplifying with onnxsim often removes them.",
	],
	[
		/^(String|RegexFullMatch$|TfIdfVectorizer$|ImageDecoder$|MelWeightMatrix$)/,
		"Do this step before the engine, outside of the model.",
	],
	[/(Loss$)|^(Bernoulli|Multinomial)$/, "Export the model for inference, not for training."],
];

/** `listedFirst` is the first TensorRT known to import the operator. */
export function adviceFor(op: string, listedFirst: string | undefined): string {
	if (listedFirst !== undefined)
		return `Build with TensorRT ${listedFirst} or newer, or export with an older opset, which writes simpler operators.`;
	return (
		families.find(([names]) => names.test(op))?.[1] ??
		"Replace it before export, or compute it outside of the engine; else it needs a plugin of that name."
	);
}
