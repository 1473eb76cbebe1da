// Decodes numbers of 16, 8 and 4 bits: binary16 and bfloat16, two FP8 formats, FP4 and 4-bit integers.
import type { DType } from "../../../../generated/golden.ts";

export interface FloatFormat {
	exponentBits: number;
	fractionBits: number;
	bias: number;
	/** ieee: infinities and NaN in the largest exponent; nan: only the last pattern is NaN; unsigned-zero: −0 is NaN. */
	special: "ieee" | "nan" | "unsigned-zero" | "none";
}

/** E4M3FN and E5M2 of "FP8 Formats for Deep Learning" (arXiv 2209.05433); E2M1 of the OCP Microscaling Formats specification, 5.3.3. */
const smallFormats = {
	float8e4m3fn: { exponentBits: 4, fractionBits: 3, bias: 7, special: "nan" },
	float8e5m2: { exponentBits: 5, fractionBits: 2, bias: 15, special: "ieee" },
	float4e2m1: { exponentBits: 2, fractionBits: 1, bias: 1, special: "none" },
} as const satisfies Partial<Record<DType, FloatFormat>>;

const formats: Partial<Record<DType, FloatFormat>> = {
	...smallFormats,
	/** Binary16 of IEEE 754-2008, 3.4. */
	float16: { exponentBits: 5, fractionBits: 10, bias: 15, special: "ieee" },
	bfloat16: { exponentBits: 8, fractionBits: 7, bias: 127, special: "ieee" },
};

export function floatOf(bits: number, format: FloatFormat): number {
	const { exponentBits, fractionBits, bias, special } = format;
	const steps = 1 << fractionBits;
	const fraction = bits & (steps - 1);
	const last = (1 << exponentBits) - 1;
	const exponent = (bits >> fractionBits) & last;
	const sign = (bits >> (fractionBits + exponentBits)) & 1 ? -1 : 1;
	if (special === "unsigned-zero" && sign === -1 && exponent === 0 && fraction === 0) return NaN;
	if (special === "ieee" && exponent === last) return fraction === 0 ? sign * Infinity : NaN;
	if (special === "nan" && exponent === last && fraction === steps - 1) return NaN;
	return exponent === 0
		? sign * (fraction / steps) * 2 ** (1 - bias)
		: sign * (1 + fraction / steps) * 2 ** (exponent - bias);
}

export type SmallDType = keyof typeof smallFormats | "int4" | "uint4";

const tables = new Map<DType, Float32Array>();

/** The value of each pattern of bits, for the types that no typed array has. */
export function valueTable(dtype: DType): Float32Array {
	const known = tables.get(dtype);
	if (known !== undefined) return known;
	const format = formats[dtype];
	const decode = (bits: number) => {
		if (format !== undefined) return floatOf(bits, format);
		if (dtype === "bool") return Number(bits !== 0);
		return dtype === "int4" && bits > 7 ? bits - 16 : bits;
	};
	const ofInteger = dtype === "bool" ? 8 : 4;
	const width = format === undefined ? ofInteger : 1 + format.exponentBits + format.fractionBits;
	const table = Float32Array.from({ length: 2 ** width }, (_, bits) => decode(bits));
	tables.set(dtype, table);
	return table;
}

export function isSmall(dtype: DType): dtype is SmallDType {
	return Object.hasOwn(smallFormats, dtype) || dtype === "int4" || dtype === "uint4";
}

export function isPacked(dtype: DType): boolean {
	return dtype === "int4" || dtype === "uint4" || dtype === "float4e2m1";
}

export function nibbleAt(data: Uint8Array, flat: number): number {
	const byte = data[flat >>> 1] ?? 0;
	return flat & 1 ? byte >> 4 : byte & 15;
}

export function smallBits(dtype: SmallDType, value: number): number {
	const table = valueTable(dtype);
	let best = 0;
	for (let bits = 1; bits < table.length; bits += 1) {
		const gain = Math.abs((table[best] as number) - value) - Math.abs((table[bits] as number) - value);
		const nearer = gain > 0 || (gain === 0 && bits % 2 === 0 && best % 2 === 1);
		if (nearer && Number.isFinite(table[bits])) best = bits;
	}
	return best;
}
