// Decodes a tensor in the layout that its file states, for the judge to hold against what is expected.
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import type { DType } from "../../core/schema/golden.ts";
import type { ByteSource } from "../bytes/byte-source.ts";
import { type Inflate, npzMember } from "../npz/npz.ts";
import { mostPolygraphyBytes, parsePolygraphy, polygraphyMember } from "../polygraphy/polygraphy.ts";
import { decodeOwnSafetensor } from "../safetensors/safetensors.ts";
import { refuseLfsPointer } from "./decode.ts";
import { decodeOwnNpy } from "./npy.ts";
import { tensorInvalid } from "./refusal.ts";

export interface OwnPlace {
	path: string;
	/** Of the formats that state a layout. */
	ending: "npy" | "npz" | "safetensors" | "json";
	/** Of a file of several tensors. */
	member: string;
	/** What is expected where numpy has no name for the type. */
	dtype: DType;
	inflate: Inflate;
}

/** More values than this are no output that anybody compares. */
const mostBytes = 2 ** 32;
/** A pointer of Git LFS is far smaller. */
const headBytes = 512;

/** @throws ConfigError tensor-invalid. */
export function decodeOwn(source: ByteSource, place: OwnPlace): Tensor {
	const { path, ending, dtype } = place;
	refuseLfsPointer(source.read(0, headBytes), path);
	const most = ending === "json" ? mostPolygraphyBytes : mostBytes;
	if (source.size > most && ending !== "npz" && ending !== "safetensors")
		throw tensorInvalid(path, { expected: `at most ${most} bytes`, got: `${source.size}` });
	switch (ending) {
		case "npy":
			return decodeOwnNpy(source.read(0, source.size), path, dtype);
		case "npz":
			return decodeOwnNpy(npzMember(source, mostBytes, place), path, dtype);
		case "json":
			return decodeOwnNpy(polygraphyMember(parsePolygraphy(source.read(0, source.size), path), {}, place), path, dtype);
		case "safetensors":
			return decodeOwnSafetensor(source, place);
	}
}
