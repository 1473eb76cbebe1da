// Checks operators against the lists of what TensorRT imports, and advises what to do about the others.
import type { Finding } from "../../../../generated/result.ts";
import { listedSpan, type Standing, standingOf, type TensorRt } from "../tensorrt/support.ts";
import { nodeLabel } from "../walk.ts";
import {
	isKnownToOnnxRuntime,
	lifetimeOf,
	type OperatorJudge,
	type OperatorUses,
	operatorUses,
} from "./operators.ts";
import { finding, nodeIn, others, type Rule } from "./subject.ts";

/** TensorRT's parser imports these by itself (onnxOpImporters.cpp: TRT_Conv, TRT_FP8QuantizeLinear, …). */
const ownPrefix = "TRT_";

export const tensorRtOperators: Rule = (subject) => {
	if (subject.tensorrt === null) return operatorUses(subject).flatMap(neverImported);
	const found = operatorUses(subject).flatMap((uses) => judge(uses, subject));
	return subject.context.loadsPlugins === true ? found.map(leftToPlugins) : found;
};

function leftToPlugins(found: Finding): Finding {
	const isLack = (["operator-unknown", "operator-unsupported", "plugin-absent"] as const).some(
		(code) => code === found.code,
	);
	if (!isLack) return found;
	const fix = "Nothing, if a library under `plugins` provides it; otherwise the build fails.";
	return { ...found, severity: "note", fix };
}

/** On ONNX Runtime, which runs it: what no version of TensorRT builds, because most such models are meant for TensorRT in the end. */
function neverImported(uses: OperatorUses): Finding[] {
	const { node, scope } = uses;
	const isListed =
		node.op.startsWith(ownPrefix) ||
		(["operators", "plugins"] as const).some((kind) => listedSpan(kind, node.op) !== null);
	if (isListed || !isKnownToOnnxRuntime(node)) return [];
	return [
		finding(
			"operator-unsupported",
			`TensorRT has no importer for ${nodeIn(node, scope)}${others(uses.count)}; the ONNX Runtime backend runs it.`,
			{ severity: "note", fix: `For TensorRT: ${adviceFor(node.op, null)}`, node },
		),
	];
}

/** The parser looks for an importer, then for a plugin of the name; it does not look at the domain. */
const judge: OperatorJudge = (uses, { tensorrt, context }) => {
	const { node } = uses;
	if (tensorrt === null || node.op.startsWith(ownPrefix)) return [];
	const isDeclared = context.plugins?.includes(node.op) === true;
	const importer = standingOf(tensorrt, "operators", node.op);
	if (isDeclared) return [];
	if (importer.has) return otherDomain(uses);
	if (listedSpan("plugins", node.op) !== null) return pluginFindings(uses, tensorrt);
	const isListed = lifetimeOf(node) !== undefined || listedSpan("operators", node.op) !== null;
	return [isListed ? unsupported(uses, tensorrt, importer) : unknown(uses, tensorrt)];
};

/** What another domain means by a standard name may be something else, as com.microsoft's Attention is. */
function otherDomain(uses: OperatorUses): Finding[] {
	const { node, scope } = uses;
	if (node.domain === "") return [];
	return [
		finding(
			"operator-domain",
			`${nodeIn(node, scope)} has the name of an ONNX operator${others(uses.count)}: TensorRT goes by the name alone and reads it as ONNX's ${node.op}.`,
			{ node },
		),
	];
}

function pluginFindings(uses: OperatorUses, tensorrt: TensorRt): Finding[] {
	const { node, scope } = uses;
	const { has, isCertain, because } = standingOf(tensorrt, "plugins", node.op);
	const span = listedSpan("plugins", node.op);
	const what = `${nodeIn(node, scope)}${others(uses.count)}`;
	if (has) {
		const gone =
			span === null || span.isInNewest ? "" : ` It was removed in TensorRT ${afterLast(span.last)}.`;
		const message = `${what} is a plugin that comes with ${tensorrt.name} (libnvinfer_plugin); trtexec loads it by itself.${gone}`;
		return [finding("operator-plugin", message, { node })];
	}
	const listed = span === null ? "" : ` (it came with ${span.first} to ${span.last})`;
	const certainty = isCertain ? "does not include" : "may not include";
	const message = `${tensorrt.name} ${certainty} the plugin of ${what}${listed}${because === undefined ? "" : `: ${because}`}.`;
	return [
		finding("plugin-absent", message, {
			severity: isCertain ? "error" : "warning",
			fix: pluginFix(node.op),
			node,
		}),
	];
}

function afterLast(last: string): string {
	return String(Number.parseInt(last, 10) + 1);
}

function pluginFix(op: string): string {
	if (/NMS/.test(op)) return "Export with EfficientNMS_TRT or ONNX's NonMaxSuppression.";
	return "Export with plain ONNX operators, or build with a TensorRT that includes the plugin.";
}

function unsupported(uses: OperatorUses, tensorrt: TensorRt, importer: Standing): Finding {
	const { node, scope } = uses;
	const because = importer.because === undefined ? "" : `: ${importer.because}`;
	const later = listedSpan("operators", node.op);
	return finding(
		"operator-unsupported",
		`${tensorrt.name} ${importer.isCertain ? "does not" : "may not"} import ${nodeIn(node, scope)}${others(uses.count)}${because}.`,
		{
			severity: importer.isCertain ? "error" : "warning",
			fix: adviceFor(node.op, later?.first ?? null),
			node,
		},
	);
}

function unknown(uses: OperatorUses, tensorrt: TensorRt): Finding {
	return finding(
		"operator-unknown",
		`${nodeLabel(uses.node)} is not an ONNX operator, a function of this file or a plugin that comes with ${tensorrt.name}${others(uses.count)}: it builds only if a plugin of that name is loaded.`,
		{
			severity: tensorrt.version === null ? "warning" : "error",
			fix: "Export it as plain ONNX operators or as a function of the file, which TensorRT reads without a plugin.",
			node: uses.node,
		},
	);
}

const families: readonly { names: RegExp; advice: string }[] = [
	{
		names: /^(QLinear|MatMulInteger$|ConvInteger$|DynamicQuantize)/,
		advice:
			"Quantise again in the QDQ format (QuantizeLinear and DequantizeLinear around float operators), symmetric INT8.",
	},
	{
		names: /^(Sequence|Optional|SplitToSequence$|ConcatFromSequence$)/,
		advice:
			"Export without sequences and optional values (Split, Concat and Gather do the same on tensors); simplifying with onnxsim often removes them.",
	},
	{
		names: /^(String|RegexFullMatch$|TfIdfVectorizer$|ImageDecoder$|MelWeightMatrix$)/,
		advice: "Do this step before the engine, outside of the model.",
	},
	{ names: /(Loss$)|^(Bernoulli|Multinomial)$/, advice: "Export the model for inference, not for training." },
];

export function adviceFor(op: string, listedFirst: string | null): string {
	if (listedFirst !== null)
		return `Build with TensorRT ${listedFirst} or newer, or export with an older opset, which writes simpler operators.`;
	const family = families.find(({ names }) => names.test(op));
	return (
		family?.advice ??
		"Replace it before export, or compute it outside of the engine; else it needs a plugin of that name."
	);
}
