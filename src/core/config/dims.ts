// Resolves the sizes of symbolic dimensions: fixed ones, ranges, and an engine's over its model's.
import type { DimFile } from "../schema/config.ts";
import type { DimRange } from "./config.ts";
import { childPointer } from "./pointer.ts";
import { complain, type Resolving } from "./resolving.ts";
import { checkName } from "./values.ts";

export type Dims = Readonly<Record<string, DimRange>>;

/** More than any model has; bounds what every workload repeats. */
export const maxDims = 200;

/** `file` over `inherited`, by name; `pointer` is the pointer of `file`. */
export function resolveDims(
	resolving: Resolving,
	file: Readonly<Record<string, DimFile>> | undefined,
	from: { pointer: string; inherited?: Dims },
): Dims {
	const dims: Record<string, DimRange> = Object.assign(Object.create(null), from.inherited);
	for (const [name, size] of Object.entries(file ?? {})) {
		const pointer = childPointer(from.pointer, name);
		checkName(resolving, pointer, { name, what: "a dimension" });
		dims[name] =
			typeof size === "number"
				? { min: size, opt: size, max: size }
				: checkRange(resolving, pointer, { min: size.min, opt: size.opt, max: size.max });
	}
	return dims;
}

function checkRange(resolving: Resolving, pointer: string, range: DimRange): DimRange {
	const { min, opt, max } = range;
	if (min <= opt && opt <= max) return range;
	complain(resolving, {
		code: "config-dims",
		pointer,
		says: `has min ${min}, opt ${opt}, max ${max}`,
		expected: "min <= opt <= max",
		got: `min ${min}, opt ${opt}, max ${max}`,
		fix: "Put the three sizes in order; opt is the one that the engine is made fastest for.",
	});
	return range;
}

/** Every dimension at its optimum. */
export function optimalSizes(dims: Dims): Record<string, number> {
	const sizes: Record<string, number> = Object.create(null);
	for (const [name, range] of Object.entries(dims)) sizes[name] = range.opt;
	return sizes;
}
