// Decodes numbers of 16, 8 and 4 bits: binary16 and bfloat16, two FP8 formats, FP4 and 4-bit integers.
import type { DType } from "../../../../generated/golden.ts";

export interface FloatFormat {
	exponentBits: number;
	fractionBits: number;
	bias: number;
	/** ieee: infinities and NaN in the largest exponent; nan: only the last pattern is NaN; unsigned-zero: −0 is NaN. */
	special: "ieee" | "nan" | "unsigned-zero" | "none";
}

/** Binary16 of IEEE 754-2008, 3.4. */
const halfFormat: FloatFormat = { exponentBits: 5, fractionBits: 10, bias: 15, special: "ieee" };

/** E4M3FN and E5M2 of "FP8 Formats for Deep Learning" (arXiv 2209.05433); E2M1 of the OCP Microscaling Formats specification, 5.3.3. */
const floatFormats = {
	float8e4m3fn: { exponentBits: 4, fractionBits: 3, bias: 7, special: "nan" },
	float8e5m2: { exponentBits: 5, fractionBits: 2, bias: 15, special: "ieee" },
	float4e2m1: { exponentBits: 2, fractionBits: 1, bias: 1, special: "none" },
} as const satisfies Partial<Record<DType, FloatFormat>>;

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

export type SmallDType = keyof typeof floatFormats | "int4" | "uint4";

const tables = new Map<SmallDType, Float32Array>();

export function smallValues(dtype: SmallDType): Float32Array {
	const decode = (bits: number) => {
		if (dtype === "uint4") return bits;
		if (dtype === "int4") return bits < 8 ? bits : bits - 16;
		return floatOf(bits, floatFormats[dtype]);
	};
	const table =
		tables.get(dtype) ?? Float32Array.from({ length: isPacked(dtype) ? 16 : 256 }, (_, bits) => decode(bits));
	tables.set(dtype, table);
	return table;
}

export function isSmall(dtype: DType): dtype is SmallDType {
	return Object.hasOwn(floatFormats, dtype) || dtype === "int4" || dtype === "uint4";
}

export function isPacked(dtype: DType): boolean {
	return dtype === "int4" || dtype === "uint4" || dtype === "float4e2m1";
}

export function nibbleAt(data: Uint8Array, flat: number): number {
	const byte = data[flat >>> 1] ?? 0;
	return flat & 1 ? byte >> 4 : byte & 15;
}

export function smallBits(dtype: SmallDType, value: number): number {
	const table = smallValues(dtype);
	let best = 0;
	for (let bits = 1; bits < table.length; bits += 1) {
		const gain = Math.abs((table[best] as number) - value) - Math.abs((table[bits] as number) - value);
		const nearer = gain > 0 || (gain === 0 && bits % 2 === 0 && best % 2 === 1);
		if (nearer && Number.isFinite(table[bits])) best = bits;
	}
	return best;
}

let halfTable: Float32Array | null = null;

export function decodeHalf(bits: Uint16Array, out: Float32Array): void {
	halfTable ??= Float32Array.from({ length: 65_536 }, (_, pattern) => floatOf(pattern, halfFormat));
	for (let i = 0; i < bits.length; i += 1) out[i] = halfTable[bits[i] as number] as number;
}

export function decodeBrainFloat(bits: Uint16Array, out: Float32Array): void {
	const words = new Uint32Array(out.buffer, out.byteOffset, out.length);
	for (let i = 0; i < bits.length; i += 1) words[i] = (bits[i] as number) << 16;
}
