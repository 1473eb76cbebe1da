// Raw tensor files of --dumpRawBindingsToFile.
import type { DType } from "../../../generated/golden.ts";
import { groupBy } from "../../core/group.ts";

export interface DumpedTensor {
	/** From the log; the file name has special characters replaced. */
	name: string;
	io: "input" | "output";
	dtypeText: string;
	/** -1 if the shape depends on the data: the file then has too few values. */
	dims: readonly number[];
	path: string;
}

const bitsOf: Readonly<Record<string, number>> = {
	...{ int64: 64, fp32: 32, int32: 32, fp16: 16, bf16: 16, fp8: 8, e8m0: 8, int8: 8, uint8: 8, bool: 8 },
	...{ fp4: 4, int4: 4 },
	// TensorRT 8.6 uses type names.
	...{ Float: 32, Half: 16, Float8: 8, Int32: 32, Int8: 8, UInt8: 8, Bool: 8 },
};

const dtypeOf: Readonly<Record<string, DType>> = {
	...{ fp32: "float32", fp16: "float16", bf16: "bfloat16", int64: "int64", int32: "int32" },
	...{ int8: "int8", uint8: "uint8", bool: "bool" },
	...{ Float: "float32", Half: "float16", Int32: "int32", Int8: "int8", UInt8: "uint8", Bool: "bool" },
};

const line =
	/Writing file for (input|output) binding (.+) \(with datatype (\w+) and dimensions ([-\d.]*)\) to (.+)$/;

export function parseDumpLine(text: string): DumpedTensor | null {
	const [, io, name = "", dtypeText = "", sizes = "", path = ""] = line.exec(text) ?? [];
	if (io === undefined) return null;
	const dims = sizes.split(".").filter((size) => size !== "");
	return { name, io: io === "input" ? "input" : "output", dtypeText, dims: dims.map(Number), path };
}

/** As in file names. Two names can collide; the later file then overwrites the earlier. */
export function sanitiseTensorName(name: string): string {
	return name.replace(/[^A-Za-z0-9._,-]/g, "_");
}

export function clashingDumpNames(names: readonly string[]): string[][] {
	return [...groupBy(names, sanitiseTensorName).values()].filter((group) => group.length > 1);
}

/** null if the shape is not fixed or the type is unknown. */
export function dumpBytes(tensor: Pick<DumpedTensor, "dims" | "dtypeText">): number | null {
	const bits = Object.hasOwn(bitsOf, tensor.dtypeText) ? bitsOf[tensor.dtypeText] : undefined;
	if (bits === undefined || tensor.dims.some((size) => size < 0)) return null;
	const elements = tensor.dims.reduce((product, size) => product * size, 1);
	return Math.ceil((elements * bits) / 8);
}

export function dumpDType(dtypeText: string): DType | null {
	return Object.hasOwn(dtypeOf, dtypeText) ? (dtypeOf[dtypeText] ?? null) : null;
}
