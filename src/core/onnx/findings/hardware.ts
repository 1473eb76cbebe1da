// Judges whether the GPU at hand can build the model at all: its number formats, and its memory for the weights.
import type { Precision } from "../../schema/config.ts";
import type { Finding } from "../../schema/result.ts";
import { formatBytes } from "../../text/units.ts";
import { elementBits } from "../element-type.ts";
import type { OnnxDType, OnnxInitializer } from "../model.ts";
import { leastBitsOf } from "./least-bits.ts";
import { namedTypes } from "./named-types.ts";
import { finding, type Rule, type Subject } from "./subject.ts";

export const hardware: Rule = (subject) => (subject.tensorrt === null ? [] : [...tooOld(subject), ...weightsTooBig(subject)]);

interface Format {
	name: string;
	precision: Precision;
	dtypes: readonly OnnxDType[];
	/** Compute capability from which the tensor cores have it; TensorRT refuses to build on older ones. */
	since: readonly [major: number, minor: number];
	/** GPUs that have it, for people. */
	on: string;
}

/** Support matrix of TensorRT; on others the build ends with "Networks with FP8 … require hardware with FP8 support". */
const formats: readonly Format[] = [
	{ name: "FP8", precision: "fp8", dtypes: ["float8e4m3fn", "float8e5m2"], since: [8, 9], on: "Ada and Hopper" },
	{ name: "FP4", precision: "fp4", dtypes: ["float4e2m1"], since: [10, 0], on: "Blackwell" },
];

function tooOld(subject: Subject): Finding[] {
	const { computeCapability, precision } = subject.context;
	const [, major, minor] = /^(\d{1,2})\.(\d{1,2})$/.exec(computeCapability ?? "") ?? [];
	if (major === undefined || minor === undefined) return [];
	const has = ([from, to]: Format["since"]): boolean => Number(major) > from || (Number(major) === from && Number(minor) >= to);
	const inFile = namedTypes(subject);
	return formats.flatMap((format) => {
		const isInFile = format.dtypes.some((dtype) => inFile.has(dtype));
		if (has(format.since) || (precision !== format.precision && !isInFile)) return [];
		const what = precision === format.precision ? `The engine is to be ${format.precision}` : `The file quantises to ${format.name}`;
		const message = `${what}, and this GPU (compute capability ${computeCapability}) has no ${format.name}: TensorRT builds it from ${format.since.join(".")} on.`;
		const fix = `Build it on a GPU that has ${format.name} (${format.on} or newer), or quantise to INT8 for this one.`;
		return [finding("precision-hardware", { severity: "error", message, fix })];
	});
}

/** Weights that are streamed from the host need no room at once. */
function weightsTooBig(subject: Subject): Finding[] {
	const { gpuMemoryBytes, streamsWeights, precision } = subject.context;
	if (gpuMemoryBytes === undefined || streamsWeights === true) return [];
	const bits = leastBitsOf(precision);
	const bytes = subject.scopes.flatMap((scope) => scope.initializers).reduce((sum, weight) => sum + leastBytes(weight, bits), 0);
	if (bytes <= gpuMemoryBytes) return [];
	const message = `The weights take at least ${formatBytes(bytes)}, more than this GPU has (${formatBytes(gpuMemoryBytes)}).`;
	const fix = 'Use a lower precision or a larger GPU, or stream them: `flags: ["--allowWeightStreaming"]`.';
	return [finding("weights-too-big", { severity: "error", message, fix })];
}

/** Floats may become as small as the precision allows; what is smaller in the file stays so. */
function leastBytes({ dtype, dims, sparse }: OnnxInitializer, least: number): number {
	const bits = elementBits(dtype);
	if (bits === null || sparse === true) return 0;
	const elements = dims.reduce((product, size) => product * size, 1);
	return Number.isFinite(elements) ? (elements * Math.min(bits, least)) / 8 : 0;
}
