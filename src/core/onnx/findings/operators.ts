// Checks operators by name: those that ONNX Runtime or TensorRT lacks, and those that draw random numbers.
import standard from "../../../../data/onnx-operators.json" with { type: "json" };
import { quoted } from "../../text/escape.ts";
import type { OnnxNode } from "../model.ts";
import { isAtLeast, listedSpan, standingOf, type TensorRt } from "../tensorrt/support.ts";
import { localOperators, nodeLabel, operatorKey, type Scope } from "../walk.ts";
import {
	constantOf,
	everyNode,
	finding,
	nodeFinding,
	nodeIn,
	others,
	type Rule,
	type Subject,
} from "./subject.ts";

interface Lifetime {
	since: number;
	until?: number;
}

const lifetimes = new Map<string, Lifetime>(
	Object.entries(standard.domains).flatMap(([domain, operators]) =>
		Object.entries(operators).map(([op, lifetime]) => [operatorKey({ domain, op }), lifetime] as const),
	),
);

interface OperatorUses {
	node: OnnxNode;
	scope: Scope;
	count: number;
	lifetime: Lifetime | undefined;
}

function operatorUses(subject: Subject) {
	const local = localOperators(subject.model.onnx);
	const found = new Map<string, OperatorUses>();
	everyNode(subject, (node, scope) => {
		const id = operatorKey(node);
		const uses = found.get(id);
		const lifetime = lifetimes.get(id);
		if (uses !== undefined) uses.count++;
		else if (!local.has(id)) found.set(id, { node, scope, count: 1, lifetime });
		return [];
	});
	return [...found.values()];
}

export const operators: Rule = (subject) => {
	const { tensorrt, context } = subject;
	const uses = operatorUses(subject);
	if (tensorrt === null) return uses.flatMap(judgeForOnnxRuntime);
	const plugins = new Set(context.plugins);
	const found = uses.flatMap((each) => (plugins.has(each.node.op) ? [] : judgeForTensorRt(each, tensorrt)));
	if (context.loadsPlugins !== true) return found;
	// The user's plugin library may provide what TensorRT lacks; the build will show it.
	const fix = "Nothing, if a library under `plugins` provides it; otherwise the build fails.";
	return found.map((each) => (each.code === "operator-domain" ? each : { ...each, severity: "note", fix }));
};

const onnxRuntimeDomains = new Set(["com.microsoft", "com.microsoft.nchwc"]);
/** ONNX Runtime 1.30 knows them in older opsets too (tried). */
const onnxRuntimeExtras = new Set(["LayerNormalization", "SimplifiedLayerNormalization"]);

function judgeForOnnxRuntime({ node, scope, count, lifetime }: OperatorUses) {
	const { domain, op } = node;
	const opset = Object.hasOwn(scope.opsets, domain) ? scope.opsets[domain] : undefined;
	const name = nodeIn(node, scope);
	const all = others(count);
	const isExtra = onnxRuntimeExtras.has(op);
	if (lifetime === undefined) {
		if (onnxRuntimeDomains.has(domain) || (domain === "" && isExtra)) return [];
		const message = `${name} is neither an ONNX operator nor a function of this file${all}: ONNX Runtime cannot run it.`;
		const fix = "Gate this model on TensorRT with its plugin, or export without the operator.";
		return [finding("operator-unknown", message, { fix, node })];
	}
	const { since, until = Infinity } = lifetime;
	if (opset === undefined) return [];
	if (opset < since && !isExtra) {
		const message = `${name} exists since opset ${since}, but the model states opset ${opset}${all}.`;
		return [finding("operator-too-new", message, { fix: `Export with opset ${since} or newer.`, node })];
	}
	if (opset < until) return [];
	const message = `${nodeLabel(node)} was withdrawn from ONNX in opset ${until}, and the model states opset ${opset}${all}.`;
	return [finding("operator-withdrawn", message, { node })];
}

/** TensorRT's parser imports these by itself (onnxOpImporters.cpp: TRT_Conv, TRT_FP8QuantizeLinear, …). */
const ownPrefix = "TRT_";

function judgeForTensorRt({ node, scope, count, lifetime }: OperatorUses, tensorrt: TensorRt) {
	const { domain, op } = node;
	if (op.startsWith(ownPrefix)) return [];
	const label = `${nodeIn(node, scope)}${others(count)}`;
	const importer = standingOf(tensorrt, "operators", op);
	if (importer.has) {
		// Another domain may give a standard name another meaning, as com.microsoft does with Attention.
		if (domain === "") return [];
		const message = `${label} has the name of an ONNX operator: TensorRT goes by the name alone and reads it as ONNX's ${op}.`;
		return [finding("operator-domain", message, { node })];
	}
	const span = listedSpan("plugins", op);
	const { has, isCertain, because } = span === null ? importer : standingOf(tensorrt, "plugins", op);
	if (has) return [];
	const first = listedSpan("operators", op)?.first;
	if (lifetime === undefined && span === null && first === undefined) {
		const message = `${nodeLabel(node)} is not an ONNX operator, a function of this file or a plugin that comes with ${tensorrt.name}${others(count)}: it builds only if a plugin of that name is loaded.`;
		const severity = tensorrt.version === null ? "warning" : "error";
		const fix =
			"Export it as plain ONNX operators or as a function of the file, which TensorRT reads without a plugin.";
		return [finding("operator-unknown", message, { severity, fix, node })];
	}
	const severity = isCertain ? "error" : "warning";
	const start = `${tensorrt.name} ${isCertain ? "does not" : "may not"}`;
	const why = because === undefined ? "" : `: ${because}`;
	if (span === null) {
		const fix = adviceFor(op, first);
		return [finding("operator-unsupported", `${start} import ${label}${why}.`, { severity, fix, node })];
	}
	const message = `${start} include the plugin of ${label} (it came with ${span.first} to ${span.last})${why}.`;
	return [finding("plugin-absent", message, { severity, node })];
}

const quantised = /^(QLinear|MatMulInteger$|ConvInteger$|DynamicQuantize)/;

function adviceFor(op: string, listedFirst: string | undefined) {
	if (listedFirst !== undefined)
		return `Build with TensorRT ${listedFirst} or newer, or export with an older opset, which writes simpler operators.`;
	return quantised.test(op)
		? "Quantise again in the QDQ format (QuantizeLinear and DequantizeLinear around float operators), symmetric INT8."
		: "Replace it before export, or compute it outside of the engine; else it needs a plugin of that name.";
}

export const drawing = new Set(
	"Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike".split(" "),
);

export const randomness: Rule = (subject) =>
	everyNode(subject, (node, scope) => {
		if (node.domain !== "" || !(drawing.has(node.op) || isTraining(node, scope, subject))) return [];
		const mode = node.op === "Dropout" ? " (in training mode)" : "";
		const what = `draws random numbers${mode}: each runtime computes a different result, so no golden can match`;
		return [nodeFinding("operator-random", { node, scope }, { what })];
	});

/** Dropout since opset 12: data, ratio (0.5), training_mode (false). A value that is not a constant may be either. */
function isTraining(node: OnnxNode, scope: Scope, subject: Subject) {
	if (node.op !== "Dropout" || !node.inputs[2]) return false;
	const [ratio, mode] = [1, 2].map((place) => constantOf(subject, scope, node.inputs[place])?.values?.[0]);
	return mode !== 0 && ratio !== 0;
}

const typesInFile =
	"Set types in the ONNX file; AutoCast's `--nodes_to_exclude` keeps single nodes in float.";
const quantiseFile = "Quantise the file (Q/DQ nodes): TensorRT 11 has no calibration.";
const superfluous = "Remove the flag.";

/** By the major version that lacks them: trtexec's option parsers of 8.6 to 11.1. */
const removed: readonly (readonly [major: number, argument: RegExp, fix: string])[] = [
	[10, /^--(?:minTiming|heuristic|buildOnly|nvtxMode|explicit\w+|nativeInstanceNorm|ni)(?:=|$)/, superfluous],
	[11, /^--(?:precisionConstraints|layerPrecisions|layerOutputTypes)(?:=|$)/, typesInFile],
	[11, /^--(?:calibProfile|(?:min|opt|max)ShapesCalib)(?:=|$)/, quantiseFile],
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
