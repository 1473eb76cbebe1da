// Judges operators by name: unknown ones, and ones that the stated operator set does not have.
import type { Finding } from "../../schema/result.ts";
import type { OnnxModel, OnnxNode } from "../model.ts";
import standard from "../standard-operators.json" with { type: "json" };
import { nodeLabel, type Scope } from "../walk.ts";
import { finding, nodeIn, type PreflightContext, type Rule, type Subject } from "./subject.ts";

interface Lifetime {
	since: number;
	/** First opset without it. */
	until?: number;
}

const lifetimes: ReadonlyMap<string, ReadonlyMap<string, Lifetime>> = new Map(
	Object.entries(standard.domains).map(([domain, operators]) => [domain, new Map<string, Lifetime>(Object.entries(operators))]),
);
/** Domains of which ONNX Runtime brings operators that no list of ours holds. */
const onnxRuntimeDomains: ReadonlySet<string> = new Set(["com.microsoft", "com.microsoft.nchwc"]);
/** Operators that ONNX Runtime 1.30 knows in the standard domain beyond the standard (tried). */
const onnxRuntimeExtras: ReadonlySet<string> = new Set(["LayerNormalization", "SimplifiedLayerNormalization"]);
/** TensorRT's parser imports these by itself (onnxOpImporters.cpp: TRT_Conv, TRT_FP8QuantizeLinear, …). */
const tensorRtPrefix = "TRT_";

export const operators: Rule = (subject) => {
	const local = localFunctions(subject.model.onnx);
	const found = new Map<string, Uses>();
	for (const scope of subject.scopes) {
		for (const node of scope.nodes) {
			const id = `${node.domain}\n${node.op}`;
			const uses = found.get(id);
			if (uses !== undefined) uses.count++;
			else if (!local.has(id)) found.set(id, { node, scope, count: 1 });
		}
	}
	return [...found.values()].flatMap((uses) => judge(uses, subject));
};

/** An operator's first node, and how many nodes there are in all. */
interface Uses {
	node: OnnxNode;
	scope: Scope;
	count: number;
}

function localFunctions(model: OnnxModel): Set<string> {
	return new Set(model.functions.map(({ domain, name }) => `${domain}\n${name}`));
}

function judge(uses: Uses, { context }: Subject): Finding[] {
	const { node, scope } = uses;
	const lifetime = lifetimes.get(node.domain)?.get(node.op);
	const opset = Object.hasOwn(scope.opsets, node.domain) ? scope.opsets[node.domain] : undefined;
	if (lifetime === undefined) return isKnown(node, context) ? [] : [unknownOperator(uses, context)];
	if (context.backend !== "onnxruntime" || opset === undefined) return [];
	if (opset < lifetime.since && !onnxRuntimeExtras.has(node.op)) return [tooNewOperator(uses, lifetime.since, opset)];
	return lifetime.until !== undefined && opset >= lifetime.until ? [withdrawnOperator(uses, lifetime.until, opset)] : [];
}

function isKnown(node: OnnxNode, context: PreflightContext): boolean {
	if (context.backend === "tensorrt") return node.op.startsWith(tensorRtPrefix);
	return onnxRuntimeDomains.has(node.domain) || (node.domain === "" && onnxRuntimeExtras.has(node.op));
}

function unknownOperator(uses: Uses, context: PreflightContext): Finding {
	const { node, scope } = uses;
	const what = `${nodeIn(node, scope)} is no ONNX operator and no function of this file${others(uses)}`;
	if (context.backend === "tensorrt") {
		return finding("operator-unknown", {
			severity: "warning",
			message: `${what}: TensorRT builds it only where a plugin of that name is registered.`,
			fix: "Load the plugin's library where engines are built, or replace the operator before export.",
			node,
		});
	}
	return finding("operator-unknown", {
		severity: "error",
		message: `${what}: ONNX Runtime cannot run it.`,
		fix: "Gate this model on TensorRT with its plugin, or export without the operator.",
		node,
	});
}

function tooNewOperator(uses: Uses, since: number, opset: number): Finding {
	return finding("operator-too-new", {
		severity: "error",
		message: `${nodeIn(uses.node, uses.scope)} exists since opset ${since}, but the model says opset ${opset}${others(uses)}.`,
		fix: `Export with opset ${since} or newer.`,
		node: uses.node,
	});
}

function withdrawnOperator(uses: Uses, until: number, opset: number): Finding {
	return finding("operator-withdrawn", {
		severity: "error",
		message: `${nodeLabel(uses.node)} was withdrawn from ONNX in opset ${until}, and the model says opset ${opset}${others(uses)}.`,
		fix: "Export again with a current exporter: Resize stands for Upsample, ScatterElements for Scatter.",
		node: uses.node,
	});
}

function others({ count }: Uses): string {
	return count === 1 ? "" : ` (${count} nodes)`;
}
