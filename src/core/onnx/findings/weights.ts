// Checks the weights: sizes, use, and the files of external data beside the model.

import type { Finding } from "../../../../generated/result.ts";
import { groupBy } from "../../group.ts";
import { listNames } from "../../text/labels.ts";
import { formatBytes } from "../../text/units.ts";
import { tensorBytes } from "../element-type.ts";
import type { FindingCode } from "../finding-codes.ts";
import { type ExternalFile, feeds, type OnnxDType, type OnnxInitializer } from "../model.ts";
import { formatDims, quoteName } from "../quote.ts";
import { hasType, isAtLeast } from "../tensorrt/support.ts";
import { finding, inScope, type Rule, type Subject } from "./subject.ts";

/** Protobuf counts a message's bytes in 31 bits. */
const maxProtobufBytes = 2 ** 31 - 1;

export const weights: Rule = (subject) => {
	const unused = unusedWeights(subject);
	return [...fileSize(subject), ...wrongSizes(subject, unused), ...unusedNote(unused)];
};

function fileSize({ model }: Subject): Finding[] {
	const { bytes } = model.onnx;
	if (bytes <= maxProtobufBytes) return [];
	return [
		finding(
			"protobuf-too-big",
			`The file has ${formatBytes(bytes)}; protobuf, and with it TensorRT and ONNX Runtime, reads at most 2 GiB in one file.`,
		),
	];
}

function unusedWeights({ scopes, read }: Subject): Set<OnnxInitializer> {
	return new Set(
		scopes.flatMap((scope) =>
			scope.initializers.filter((weight) => read.get(scope)?.has(weight.name) !== true),
		),
	);
}

function wrongSizes({ scopes }: Subject, unused: ReadonlySet<OnnxInitializer>): Finding[] {
	return scopes.flatMap((scope) =>
		scope.initializers.flatMap((weight) => {
			const expected = expectedBytes(weight);
			if (expected === null || expected === weight.bytes) return [];
			const shape = `${weight.dtype} ${formatDims(weight.dims)}`;
			return [
				finding(
					"weights-size",
					`Initialiser ${quoteName(weight.name)}${inScope(scope)} holds ${weight.bytes} bytes; its type and shape, ${shape}, take ${expected}.`,
					{ severity: unused.has(weight) ? "warning" : "error" },
				),
			];
		}),
	);
}

function expectedBytes(weight: OnnxInitializer): number | null {
	if (weight.sparse) return null;
	if (weight.storage === "typed")
		return weight.dtype === "float" || weight.dtype === "double" ? sizeOf(weight) : null;
	return sizeOf(weight);
}

function sizeOf({ dtype, dims }: OnnxInitializer): number | null {
	return tensorBytes(
		dtype,
		dims.reduce((product, size) => product * size, 1),
	);
}

function unusedNote(unused: ReadonlySet<OnnxInitializer>): Finding[] {
	const list = [...unused];
	if (list.length === 0) return [];
	const names = list.map((weight) => quoteName(weight.name));
	return [finding("weights-unused", `${initialisers(list)} read by no node: ${listNames(names, 3)}.`)];
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
export const elementTypes: Rule = (subject) => [
	...narrowed(subject),
	...doubles(subject),
	...unsupported(subject),
];

function weightsOf({ scopes }: Subject, dtype: OnnxDType): OnnxInitializer[] {
	return scopes.flatMap((scope) => scope.initializers.filter((weight) => weight.dtype === dtype));
}

/** TensorRT lists INT64 as a type of its own since 9. */
function narrowed(subject: Subject): Finding[] {
	const weights = weightsOf(subject, "int64");
	if (subject.tensorrt === null || isAtLeast(subject.tensorrt, 9, 0) === true || weights.length === 0)
		return [];
	const message = `${initialisers(weights)} INT64: TensorRT before 9 narrows them to INT32, and clamps what does not fit.`;
	return [finding("dtype-int64", message)];
}

function doubles(subject: Subject): Finding[] {
	const weights = weightsOf(subject, "double");
	const found: Finding[] = [];
	if (weights.length > 0) {
		const message = `${initialisers(weights)} double: TensorRT computes them in float, ONNX Runtime in double.`;
		found.push(finding("dtype-double", message, { severity: "note" }));
	}
	const border = [...feeds(subject.model.onnx.graph), ...subject.model.onnx.graph.outputs].find(
		(value) => value.dtype === "double",
	);
	if (subject.tensorrt !== null && border !== undefined) {
		const message = `${quoteName(border.name)} is double at the border of the graph: TensorRT makes it float, so that it is fed and compared as another type.`;
		found.push(finding("dtype-double", message, { severity: "warning" }));
	}
	return found;
}

function unsupported(subject: Subject): Finding[] {
	const { tensorrt, scopes } = subject;
	if (tensorrt === null) return [];
	const zeroPoints = new Set(
		scopes.flatMap((scope) =>
			scope.nodes.filter((node) => /quantize/i.test(node.op)).flatMap((node) => node.inputs),
		),
	);
	const all = scopes.flatMap((scope) => scope.initializers);
	const wrong = all.filter(
		({ dtype, name }) => !hasType(tensorrt.at, dtype, "inside") && !zeroPoints.has(name),
	);
	return [...groupBy(wrong, ({ dtype }) => dtype)].map(([dtype, weights]) =>
		finding(
			"dtype-unsupported",
			`${initialisers(weights)} ${dtype}, a type that ${tensorrt.name} does not have for weights.`,
		),
	);
}

/** The subject of a sentence, with its verb: `3 initialisers (1.2 MiB) are`. */
function initialisers(list: readonly OnnxInitializer[]): string {
	const size = formatBytes(list.reduce((sum, weight) => sum + weight.bytes, 0));
	return list.length === 1 ? `1 initialiser (${size}) is` : `${list.length} initialisers (${size}) are`;
}
