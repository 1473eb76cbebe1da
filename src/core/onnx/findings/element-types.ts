// Checks element types: the ones that a backend narrows, and the ones that TensorRT has not.
import type { Finding } from "../../schema/result.ts";
import { formatBytes } from "../../text/units.ts";
import { feeds, type OnnxDType, type OnnxInitializer } from "../model.ts";
import { quoteName } from "../quote.ts";
import { hasType, isAtLeast } from "../tensorrt/support.ts";
import { finding, type Rule, type Subject } from "./subject.ts";

export const elementTypes: Rule = (subject) => [...narrowed(subject), ...doubles(subject), ...unsupported(subject)];

function weightsOf({ scopes }: Subject, dtype: OnnxDType): OnnxInitializer[] {
	return scopes.flatMap((scope) => scope.initializers.filter((weight) => weight.dtype === dtype));
}

/** TensorRT lists INT64 as a type of its own since 9. */
function narrowed(subject: Subject): Finding[] {
	const weights = weightsOf(subject, "int64");
	if (subject.tensorrt === null || isAtLeast(subject.tensorrt, 9, 0) === true || weights.length === 0) return [];
	const message = `${initialisers(weights)} INT64: TensorRT before 9 narrows them to INT32, and clamps what does not fit.`;
	return [finding("dtype-int64", { severity: "note", message })];
}

function doubles(subject: Subject): Finding[] {
	const weights = weightsOf(subject, "double");
	const fix = "Export in float, so that golden outputs and engine mean the same.";
	const found: Finding[] = [];
	if (weights.length > 0) {
		const message = `${initialisers(weights)} double: TensorRT computes them in float, ONNX Runtime in double.`;
		found.push(finding("dtype-double", { severity: "note", message, fix }));
	}
	const border = [...feeds(subject.model.onnx.graph), ...subject.model.onnx.graph.outputs].find((value) => value.dtype === "double");
	if (subject.tensorrt !== null && border !== undefined) {
		const message = `${quoteName(border.name)} is double at the border of the graph: TensorRT makes it float, so that it is fed and compared as another type.`;
		found.push(finding("dtype-double", { severity: "warning", message, fix }));
	}
	return found;
}

/** Weights that the parser cannot hold; UINT8 it knows only at the border of the graph. */
function unsupported(subject: Subject): Finding[] {
	const { tensorrt, scopes } = subject;
	if (tensorrt === null) return [];
	const zeroPoints = new Set(
		scopes.flatMap((scope) => scope.nodes.filter((node) => /quantize/i.test(node.op)).flatMap((node) => node.inputs)),
	);
	const byType = new Map<OnnxDType, OnnxInitializer[]>();
	for (const weight of scopes.flatMap((scope) => scope.initializers)) {
		if (hasType(tensorrt.at, weight.dtype, "inside") || zeroPoints.has(weight.name)) continue;
		const weights = byType.get(weight.dtype) ?? [];
		weights.push(weight);
		byType.set(weight.dtype, weights);
	}
	return [...byType].map(([dtype, weights]) =>
		finding("dtype-unsupported", {
			severity: "warning",
			message: `${initialisers(weights)} ${dtype}, a type that ${tensorrt.name} does not have for weights.`,
			fix: "Cast them before export, to float or INT32.",
		}),
	);
}

/** The subject of a sentence, with its verb: `3 initialisers (1.2 MiB) are`. */
export function initialisers(list: readonly OnnxInitializer[]): string {
	const size = formatBytes(list.reduce((sum, weight) => sum + weight.bytes, 0));
	return list.length === 1 ? `1 initialiser (${size}) is` : `${list.length} initialisers (${size}) are`;
}
