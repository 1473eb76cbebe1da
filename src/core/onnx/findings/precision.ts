// Judges whether the file can give the precision that the engine is to be built in on TensorRT.
import type { Precision } from "../../schema/config.ts";
import type { Finding } from "../../schema/result.ts";
import type { OnnxDType } from "../model.ts";
import { isAtLeast } from "../tensorrt/support.ts";
import { tensorsOf } from "../walk.ts";
import { namedTypes } from "./named-types.ts";
import { finding, type Rule, type Subject } from "./subject.ts";

/** What of a file shows that it is typed so; fp32 and tf32 need nothing. */
const marks: Readonly<Partial<Record<Precision, readonly OnnxDType[]>>> = {
	fp16: ["float16"],
	bf16: ["bfloat16"],
	fp8: ["float8e4m3fn", "float8e5m2"],
	int4: ["int4", "uint4"],
	fp4: ["float4e2m1"],
};

/** Of the standard, or TensorRT's own (TRT_FP8QuantizeLinear, …). */
const quantising = /^(TRT_\w+)?(Quantize|Dequantize)Linear$/;
interface Typing {
	/** Types of weights and inputs, and those that nodes name. */
	dtypes: ReadonlySet<OnnxDType>;
	quantisers: number;
	/** Weights of float and of half precision. */
	floats: number;
	halves: number;
}

export const precision: Rule = (subject) => {
	const { tensorrt, context } = subject;
	const asked = context.precision;
	if (tensorrt === null || asked === undefined) return [];
	const typing = typingOf(subject);
	const isTyped = isAtLeast(tensorrt, 11, 0) === true;
	if (isTyped && !isMarked(asked, typing)) return [notTyped(asked, typing, { name: tensorrt.name, key: context.onnxKey })];
	if (isTyped && (asked === "fp32" || asked === "tf32") && typing.halves > 0) return [typedLower(asked, typing, tensorrt.name)];
	if (asked === "int8" && typing.quantisers === 0 && context.isCalibrated !== true) return [uncalibrated(tensorrt.name)];
	return [];
};

function typingOf(subject: Subject): Typing {
	const { scopes } = subject;
	const nodes = scopes.flatMap((scope) => scope.nodes);
	const tensors = tensorsOf(scopes);
	const count = (...wanted: readonly OnnxDType[]): number => tensors.filter((tensor) => wanted.includes(tensor.dtype)).length;
	return {
		dtypes: namedTypes(subject),
		quantisers: nodes.filter((node) => quantising.test(node.op)).length,
		floats: count("float"),
		halves: count("float16", "bfloat16"),
	};
}

function isMarked(asked: Precision, typing: Typing): boolean {
	if (asked === "int8") return typing.quantisers > 0;
	return marks[asked]?.some((dtype) => typing.dtypes.has(dtype)) ?? true;
}

function notTyped(asked: Precision, typing: Typing, { name, key }: { name: string; key: string | undefined }): Finding {
	const tool = asked === "fp16" || asked === "bf16" ? "ModelOpt's AutoCast (python -m modelopt.onnx.autocast)" : "ModelOpt's quantisation";
	return finding("precision-typed", {
		severity: "error",
		message: `The engine is to be ${asked}, and ${name} has no precision flags: it builds in the types of the file, which has ${typing.floats} float and ${typing.halves} half-precision weights and ${typing.quantisers} Q/DQ nodes.`,
		fix: `Convert the model with ${tool} and name the file ${key === undefined ? "as the engine's `onnx`" : `under \`${key}\``}, or ask for fp32.`,
	});
}

function typedLower(asked: Precision, typing: Typing, name: string): Finding {
	return finding("precision-typed", {
		severity: "warning",
		message: `The engine is to be ${asked}, but ${name} builds in the types of the file, of which ${typing.halves} weights are half-precision.`,
		fix: "State the precision that the file has, so that its tolerances hold; or export in float.",
	});
}

function uncalibrated(name: string): Finding {
	return finding("precision-uncalibrated", {
		severity: "warning",
		message: `The engine is to be int8, and the file has no Q/DQ nodes: ${name} makes up the ranges of all tensors, so that the speed is real and the answers mean nothing.`,
		fix: "Quantise the model (Q/DQ nodes, e.g. with ModelOpt) and name the file as the engine's `onnx`, or name a calibration cache under `calibration`.",
	});
}
