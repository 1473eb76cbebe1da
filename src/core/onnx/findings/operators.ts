// Judges operators by name for ONNX Runtime: unknown ones, and ones that the stated operator set does not have.
import type { Finding } from "../../schema/result.ts";
import type { OnnxNode } from "../model.ts";
import { nodeLabel } from "../walk.ts";
import { lifetimeOf, type OperatorJudge, type OperatorUses, operatorUses, others } from "./operator-uses.ts";
import { finding, nodeIn, type Rule } from "./subject.ts";

/** Domains of which ONNX Runtime brings operators that no list of ours holds. */
const onnxRuntimeDomains: ReadonlySet<string> = new Set(["com.microsoft", "com.microsoft.nchwc"]);
/** Operators that ONNX Runtime 1.30 knows in the standard domain beyond the standard (tried). */
const onnxRuntimeExtras: ReadonlySet<string> = new Set(["LayerNormalization", "SimplifiedLayerNormalization"]);

export const operators: Rule = (subject) =>
	subject.context.backend === "onnxruntime" ? operatorUses(subject).flatMap((uses) => judge(uses, subject)) : [];

const judge: OperatorJudge = (uses) => {
	const { node, scope } = uses;
	const lifetime = lifetimeOf(node);
	const opset = Object.hasOwn(scope.opsets, node.domain) ? scope.opsets[node.domain] : undefined;
	if (lifetime === undefined) return isKnown(node) ? [] : [unknownOperator(uses)];
	if (opset === undefined) return [];
	if (opset < lifetime.since && !onnxRuntimeExtras.has(node.op)) return [tooNewOperator(uses, lifetime.since, opset)];
	return lifetime.until !== undefined && opset >= lifetime.until ? [withdrawnOperator(uses, lifetime.until, opset)] : [];
};

function isKnown(node: OnnxNode): boolean {
	return onnxRuntimeDomains.has(node.domain) || (node.domain === "" && onnxRuntimeExtras.has(node.op));
}

function unknownOperator(uses: OperatorUses): Finding {
	return finding("operator-unknown", {
		severity: "error",
		message: `${nodeIn(uses.node, uses.scope)} is no ONNX operator and no function of this file${others(uses)}: ONNX Runtime cannot run it.`,
		fix: "Gate this model on TensorRT with its plugin, or export without the operator.",
		node: uses.node,
	});
}

function tooNewOperator(uses: OperatorUses, since: number, opset: number): Finding {
	return finding("operator-too-new", {
		severity: "error",
		message: `${nodeIn(uses.node, uses.scope)} exists since opset ${since}, but the model says opset ${opset}${others(uses)}.`,
		fix: `Export with opset ${since} or newer.`,
		node: uses.node,
	});
}

function withdrawnOperator(uses: OperatorUses, until: number, opset: number): Finding {
	return finding("operator-withdrawn", {
		severity: "error",
		message: `${nodeLabel(uses.node)} was withdrawn from ONNX in opset ${until}, and the model says opset ${opset}${others(uses)}.`,
		fix: "Export again with a current exporter: Resize stands for Upsample, ScatterElements for Scatter.",
		node: uses.node,
	});
}
