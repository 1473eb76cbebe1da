// Decodes floating-point numbers of 4 to 16 bits from their bits.
import type { OnnxDType } from "../../core/onnx/model.ts";

interface FloatFormat {
	exponentBits: number;
	mantissaBits: number;
	bias: number;
	/** What the largest exponent, or the negative zero, stands for. */
	special: "ieee" | "nan-only" | "unsigned-zero" | "none";
}

/** From the ONNX pages "Float stored in 8 bits" and "Float stored in 4 bits", and IEEE 754 for the others. */
const formats: Partial<Record<OnnxDType, FloatFormat>> = {
	float16: { exponentBits: 5, mantissaBits: 10, bias: 15, special: "ieee" },
	bfloat16: { exponentBits: 8, mantissaBits: 7, bias: 127, special: "ieee" },
	float8e4m3fn: { exponentBits: 4, mantissaBits: 3, bias: 7, special: "nan-only" },
	float8e4m3fnuz: { exponentBits: 4, mantissaBits: 3, bias: 8, special: "unsigned-zero" },
	float8e5m2: { exponentBits: 5, mantissaBits: 2, bias: 15, special: "ieee" },
	float8e5m2fnuz: { exponentBits: 5, mantissaBits: 2, bias: 16, special: "unsigned-zero" },
	float4e2m1: { exponentBits: 2, mantissaBits: 1, bias: 1, special: "none" },
};

/** The number that `bits` mean, or null where the type is no small float. */
export function decodeSmallFloat(dtype: OnnxDType, bits: number): number | null {
	if (dtype === "float8e8m0") return bits === 255 ? Number.NaN : 2 ** (bits - 127);
	const format = formats[dtype];
	return format === undefined ? null : decode(format, bits);
}

function decode(format: FloatFormat, bits: number): number {
	const { exponentBits, mantissaBits, bias } = format;
	const mantissa = bits & ((1 << mantissaBits) - 1);
	const largest = (1 << exponentBits) - 1;
	const exponent = (bits >>> mantissaBits) & largest;
	const sign = (bits >>> (mantissaBits + exponentBits)) & 1 ? -1 : 1;
	if (format.special === "unsigned-zero" && sign === -1 && exponent === 0 && mantissa === 0) return Number.NaN;
	if (exponent === largest && format.special === "ieee") return mantissa === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
	if (exponent === largest && format.special === "nan-only" && mantissa === (1 << mantissaBits) - 1) return Number.NaN;
	const fraction = mantissa / (1 << mantissaBits);
	return exponent === 0 ? sign * fraction * 2 ** (1 - bias) : sign * (1 + fraction) * 2 ** (exponent - bias);
}
