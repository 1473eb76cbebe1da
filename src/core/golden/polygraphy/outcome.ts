// What one of Polygraphy's comparators says of one output.
import type { Bound, Numeric } from "../../schema/result.ts";
import { toNumeric } from "../compare/checks.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** The first runner's output, in Polygraphy's order the candidate's, and the second's, the reference. */
export interface Sides {
	candidate: Tensor;
	golden: Tensor;
}

export interface Measure {
	name: string;
	value: Numeric;
	allowed: Numeric;
	bound: Bound;
	pass: boolean;
}

export interface Outcome {
	pass: boolean;
	measures: Measure[];
	/** Why Polygraphy ends with an error instead of a verdict. */
	stops?: string;
	/** What passes although it may be wrong. */
	cautions: string[];
}

export interface Limit {
	allowed: number;
	bound: Bound;
}

/** NaN keeps no limit; an infinite error keeps an infinite one, as it does for Polygraphy. */
export function measure(name: string, value: number, { allowed, bound }: Limit): Measure {
	return {
		name,
		value: toNumeric(value),
		allowed: toNumeric(allowed),
		bound,
		pass: bound === "at-most" ? value <= allowed : value >= allowed,
	};
}

export function stopped(why: string): Outcome {
	return { pass: false, measures: [], stops: why, cautions: [] };
}
