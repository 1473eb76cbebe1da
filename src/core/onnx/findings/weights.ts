// Checks the weights: sizes, use, and the files of external data beside the model.

import type { Finding } from "../../../../generated/result.ts";
import { groupBy } from "../../group.ts";
import { listNames } from "../../text/labels.ts";
import { formatBytes } from "../../text/units.ts";
import { tensorBytes } from "../element-type.ts";
import type { FindingCode } from "../finding-codes.ts";
import { type ExternalFile, feeds, type OnnxInitializer } from "../model.ts";
import { formatDims, quoteName } from "../quote.ts";
import { hasType, isAtLeast } from "../tensorrt/support.ts";
import { finding, inScope, type Rule } from "./subject.ts";

/** Protobuf counts a message's bytes in 31 bits. */
const maxProtobufBytes = 2 ** 31 - 1;

export const weights: Rule = ({ model, scopes, read }) => {
	const { bytes } = model.onnx;
	const found: Finding[] = [];
	const unused: OnnxInitializer[] = [];
	if (bytes > maxProtobufBytes) {
		const message = `The file has ${formatBytes(bytes)}; protobuf, and with it TensorRT and ONNX Runtime, reads at most 2 GiB in one file.`;
		found.push(finding("protobuf-too-big", message));
	}
	for (const scope of scopes) {
		for (const weight of scope.initializers) {
			const isRead = read.get(scope)?.has(weight.name) === true;
			if (!isRead) unused.push(weight);
			const expected = expectedBytes(weight);
			if (expected === null || expected === weight.bytes) continue;
			const shape = `${weight.dtype} ${formatDims(weight.dims)}`;
			const message = `Initialiser ${quoteName(weight.name)}${inScope(scope)} holds ${weight.bytes} bytes; its type and shape, ${shape}, take ${expected}.`;
			found.push(finding("weights-size", message, { severity: isRead ? "error" : "warning" }));
		}
	}
	if (unused.length === 0) return found;
	const names = listNames(
		unused.map(({ name }) => quoteName(name)),
		3,
	);
	return [...found, finding("weights-unused", `${initialisers(unused)} read by no node: ${names}.`)];
};

/** null where the payload's size says nothing: typed fields hold varints. */
function expectedBytes({ dtype, dims, sparse, storage }: OnnxInitializer): number | null {
	if (sparse || (storage === "typed" && dtype !== "float" && dtype !== "double")) return null;
	return tensorBytes(
		dtype,
		dims.reduce((product, size) => product * size, 1),
	);
}

const judgements: Readonly<
	Record<NonNullable<ExternalFile["problem"]>, readonly [FindingCode, (neededBytes: number) => string]>
> = {
	missing: ["external-data-missing", (bytes) => `is missing (the model needs ${formatBytes(bytes)} of it)`],
	short: ["external-data-short", (bytes) => `is too short: the model's tensors reach to byte ${bytes}`],
	outside: ["external-data-outside", () => "is outside the model's folder, which ONNX forbids"],
	absolute: ["external-data-outside", () => "is an absolute path, which ONNX forbids"],
	"lfs-pointer": ["external-data-lfs-pointer", () => "is a Git LFS pointer, not the weights"],
};

export const externalData: Rule = ({ model }) =>
	model.external.flatMap((file): Finding[] => {
		if (file.problem === null) return [];
		const [code, what] = judgements[file.problem];
		return [finding(code, `External data ${quoteName(file.location)} ${what(file.neededBytes)}.`)];
	});

// Checks element types: the ones that a backend narrows, and the ones that TensorRT has not.
export const elementTypes: Rule = ({ model, scopes, tensorrt }) => {
	const all = scopes.flatMap((scope) => scope.initializers);
	const whole = all.filter(({ dtype }) => dtype === "int64");
	const doubles = all.filter(({ dtype }) => dtype === "double");
	const found: Finding[] = [];
	// TensorRT lists INT64 as a type of its own since 9.
	if (tensorrt !== null && isAtLeast(tensorrt, 9, 0) !== true && whole.length > 0) {
		const message = `${initialisers(whole)} INT64: TensorRT before 9 narrows them to INT32, and clamps what does not fit.`;
		found.push(finding("dtype-int64", message));
	}
	if (doubles.length > 0) {
		const message = `${initialisers(doubles)} double: TensorRT computes them in float, ONNX Runtime in double.`;
		found.push(finding("dtype-double", message, { severity: "note" }));
	}
	if (tensorrt === null) return found;
	const { graph } = model.onnx;
	const border = [...feeds(graph), ...graph.outputs].find((value) => value.dtype === "double");
	if (border !== undefined) {
		const message = `${quoteName(border.name)} is double at the border of the graph: TensorRT makes it float, so that it is fed and compared as another type.`;
		found.push(finding("dtype-double", message, { severity: "warning" }));
	}
	// UINT8 is a type of the border of the graph, and of zero points.
	const quantising = scopes.flatMap(({ nodes }) => nodes.filter(({ op }) => /quantize/i.test(op)));
	const zeroPoints = new Set(quantising.flatMap(({ inputs }) => inputs));
	const wrong = all.filter(
		({ dtype, name }) => !hasType(tensorrt.at, dtype, "inside") && !zeroPoints.has(name),
	);
	for (const [dtype, own] of groupBy(wrong, ({ dtype: type }) => type)) {
		const message = `${initialisers(own)} ${dtype}, a type that ${tensorrt.name} does not have for weights.`;
		found.push(finding("dtype-unsupported", message));
	}
	return found;
};

/** The subject of a sentence, with its verb: `3 initialisers (1.2 MiB) are`. */
function initialisers(list: readonly OnnxInitializer[]): string {
	const size = formatBytes(list.reduce((sum, weight) => sum + weight.bytes, 0));
	return list.length === 1 ? `1 initialiser (${size}) is` : `${list.length} initialisers (${size}) are`;
}
