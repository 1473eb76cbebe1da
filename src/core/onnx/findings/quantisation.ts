// Checks explicit quantisation: QuantizeLinear and DequantizeLinear with their scales and zero points.
import type { Finding } from "../../schema/result.ts";
import type { OnnxNode } from "../model.ts";
import { quoteName } from "../quote.ts";
import type { Scope } from "../walk.ts";
import { constantOf, finding, nodeIn, type Rule, type Subject } from "./subject.ts";

const quantise = "QuantizeLinear";
const dequantise = "DequantizeLinear";

export const quantisation: Rule = (subject) => {
	const found: Finding[] = [];
	const counts = { [quantise]: 0, [dequantise]: 0 };
	for (const scope of subject.scopes) {
		for (const node of scope.nodes) {
			if (node.domain !== "" || (node.op !== quantise && node.op !== dequantise)) continue;
			counts[node.op]++;
			found.push(...scale(subject, scope, node), ...zeroPoint(subject, scope, node));
		}
	}
	if (counts[quantise] + counts[dequantise] === 0) return [];
	const message = `The model is quantised explicitly: ${counts[quantise]} ${quantise} and ${counts[dequantise]} ${dequantise} nodes.`;
	return [finding("quantised", { severity: "note", message }), ...found];
};

function scale(subject: Subject, scope: Scope, node: OnnxNode): Finding[] {
	const values = constantOf(subject, scope, node.inputs[1])?.values ?? [];
	const wrong = values.find((value) => !(value > 0));
	if (wrong === undefined) return [];
	return [
		finding("scale-not-positive", {
			severity: subject.context.backend === "tensorrt" ? "error" : "warning",
			message: `${nodeIn(node, scope)} has a scale of ${wrong} (${quoteName(node.inputs[1] ?? "")}); scales must be positive.`,
			fix: "Calibrate again: a tensor that was always zero, or NaN, gives such a scale.",
			node,
		}),
	];
}

/** TensorRT quantises symmetrically: it refuses other zero points than 0, and UINT8 but for special hardware. */
function zeroPoint(subject: Subject, scope: Scope, node: OnnxNode): Finding[] {
	if (subject.context.backend !== "tensorrt") return [];
	const tensor = constantOf(subject, scope, node.inputs[2]);
	const fix = "Quantise again symmetrically (activations and weights INT8, zero point 0).";
	const shifted = tensor?.values?.find((value) => value !== 0);
	if (shifted !== undefined) {
		const message = `${nodeIn(node, scope)} has zero point ${shifted}; TensorRT takes only 0.`;
		return [finding("zero-point-nonzero", { severity: "warning", message, fix, node })];
	}
	if (tensor?.dtype !== "uint8") return [];
	return [
		finding("zero-point-unsigned", {
			severity: "warning",
			message: `${nodeIn(node, scope)} quantises to UINT8; TensorRT takes INT8.`,
			fix,
			node,
		}),
	];
}
