// Reads tensors that somebody stored: inputs to record, and an engine's outputs to check. What a format does not say is expected.
import { open } from "node:fs/promises";
import { ConfigError } from "../../core/errors.ts";
import { elementBytes, elementCount, type Tensor } from "../../core/golden/tensor.ts";
import type { DType, TensorFile } from "../../core/schema/golden.ts";
import { parseNpyHeader } from "../../formats/tensor/npy-header.ts";
import type { Files, TensorReader } from "../../ports/world.ts";

export interface StoredPorts {
	files: Files;
	tensors: TensorReader;
}

export interface Expected {
	dtype: DType;
	/** null: any; then the file has to say. */
	shape: readonly number[] | null;
}

/** Endings in the order in which they are looked for. */
export const storedEndings = ["npy", "raw", "bin", "pb"] as const;

/**
 * A tensor of the file's own layout where it states one, so that a wrong shape is for the judge to tell; else of the expected one.
 * @throws ConfigError golden-missing, tensor-invalid.
 */
export async function readStored(path: string, expected: Expected, ports: StoredPorts): Promise<Tensor> {
	const ending = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
	const own = ending === "npy" ? await npyLayout(path, expected.dtype) : null;
	const shape = own?.shape ?? expected.shape;
	if (shape === null) {
		throw new ConfigError({
			code: "tensor-invalid",
			message: `${path} says nothing of its shape.`,
			details: { location: { path }, fix: "Save it as .npy, or bind the model's dimensions with --dims." },
		});
	}
	const file: TensorFile = { path, sha256: await ports.files.sha256(path), dtype: own?.dtype ?? expected.dtype, shape: [...shape] };
	return ports.tensors.read(path, file);
}

/** numpy has no bfloat16: two bytes of anything are what is expected. */
const letters: Readonly<Record<string, DType>> = {
	f4: "float32",
	f2: "float16",
	f8: "float64",
	i1: "int8",
	u1: "uint8",
	i2: "int16",
	u2: "uint16",
	i4: "int32",
	u4: "uint32",
	i8: "int64",
	u8: "uint64",
	b1: "bool",
};

/** Longest header that is read, and the bytes before it. */
const headBytes = 10_240;

async function npyLayout(path: string, wanted: DType): Promise<{ dtype: DType; shape: number[] } | null> {
	const handle = await open(path, "r").catch(() => null);
	if (handle === null) return null;
	try {
		const head = new Uint8Array(headBytes);
		const { bytesRead } = await handle.read(head, 0, headBytes, 0);
		// A pointer of Git LFS: the reader says so.
		if (head[0] !== 0x93) return null;
		const { descr, shape } = parseNpyHeader(head.subarray(0, bytesRead), path);
		const dtype = letters[descr.slice(1)] ?? wanted;
		return elementCount(shape) * elementBytes[dtype] <= 2 ** 32 ? { dtype, shape } : null;
	} finally {
		await handle.close();
	}
}
