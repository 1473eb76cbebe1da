// Finds the dimensions of an ONNX file's inputs that a config has to bind.
import type { OnnxValue } from "../onnx/model.ts";
import { cleanName } from "../text/escape.ts";
import type { DimRange } from "./config.ts";
import { isName } from "./values.ts";

export interface FoundDim {
	name: string;
	range: DimRange;
	/** For people: which axis of which input. */
	where: string;
}

export interface FoundDims {
	dims: readonly FoundDim[];
	/** Shapes of inputs whose dimensions the file does not name. */
	shapes: readonly { input: string; shape: readonly (number | string)[] }[];
	/** Inputs that the config cannot describe. */
	unshaped: readonly string[];
}

/** More than any hand would write; also what the config takes. */
const maxDims = 50;
/** More axes than TensorRT's eight and all that ONNX operators use. */
const maxAxes = 16;

export function findDims(inputs: readonly OnnxValue[]): FoundDims {
	const dims = new Map<string, FoundDim>();
	// By input: a broken file may name one twice.
	const shapes = new Map<string, FoundDims["shapes"][number]>();
	const unshaped: string[] = [];
	for (const input of inputs) {
		if (input.dims === null || input.dims.length > maxAxes || !isName(input.name)) {
			unshaped.push(input.name);
			continue;
		}
		const named = input.dims.map((size, axis) => nameAxis(size, `${input.name}_${axis}`));
		if (named.some((axis) => axis.invented)) shapes.set(input.name, { input: input.name, shape: named.map((axis) => axis.size) });
		for (const [axis, { size }] of named.entries()) {
			if (typeof size !== "string" || dims.has(size) || dims.size >= maxDims) continue;
			dims.set(size, { name: size, range: guessRange(size, axis), where: `axis ${axis} of ${cleanName(input.name, 40)}` });
		}
	}
	const known = [...shapes.values()].filter(({ shape }) => shape.every((size) => typeof size === "number" || dims.has(size)));
	return { dims: [...dims.values()], shapes: known.slice(0, maxDims), unshaped: unshaped.slice(0, maxDims) };
}

interface Axis {
	size: number | string;
	/** The file has no name for it that a config could use. */
	invented: boolean;
}

function nameAxis(size: number | string | null, fallback: string): Axis {
	if (typeof size === "number" && Number.isInteger(size) && size >= 0 && size < 2 ** 31) return { size, invented: false };
	if (typeof size === "string" && isName(size)) return { size, invented: false };
	return { size: fallback.slice(-200), invented: true };
}

interface Kind {
	name: RegExp;
	range: DimRange;
}

/** Checked in this order. The optima are what the common public models are trained or exported with. */
const kinds: readonly Kind[] = [
	{ name: /batch|^n$|^b$/i, range: { min: 1, opt: 8, max: 32 } },
	{ name: /seq|len|token|time|frames|^t$|^l$|^s$/i, range: { min: 1, opt: 128, max: 512 } },
	{ name: /height|width|^h$|^w$/i, range: { min: 64, opt: 224, max: 640 } },
];

const batch: DimRange = { min: 1, opt: 8, max: 32 };
const unknown: DimRange = { min: 1, opt: 16, max: 64 };

/** @param axis of the input that has the dimension; the first is the batch where the name says nothing. */
export function guessRange(name: string, axis: number): DimRange {
	return kinds.find((kind) => kind.name.test(name))?.range ?? (axis === 0 ? batch : unknown);
}

export function isBatch(range: DimRange): boolean {
	return range.min === batch.min && range.opt === batch.opt && range.max === batch.max;
}
