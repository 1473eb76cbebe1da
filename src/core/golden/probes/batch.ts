// Tells along which axis of each input the rows of a batch lie, and how many rows there may be.
import type { DimRange } from "../../config/config.ts";
import type { ProbeSubject } from "./subject.ts";

export interface Batch {
	/** Name of the dimension; null where the size is fixed. */
	dim: string | null;
	/** Of the profile that is probed. */
	range: DimRange;
	/** Axis by input; inputs that are not here serve all rows. */
	axes: ReadonlyMap<string, number>;
}

const batchLabels = /batch|^(n|b|bs)$/i;
/** Dimensions that stand first in some layouts and hold no independent rows. */
const otherWords = /seq|len|time|frame|token|step|point|node|edge|width|height|channel|head/i;

/**
 * A dimension that is called so, or one that is the first axis of every input that has axes and is not called otherwise; else a
 * fixed first size above 1 of inputs that all are pictures or volumes (rank 4 or 5). A sentence where there is none.
 */
export function findBatch(subject: ProbeSubject, profile: ProbeSubject["profiles"][number]): Batch | string {
	const named = namedBatch(subject);
	if (named !== null) {
		const axes = subject.inputs.flatMap(({ name, axes: of }) => (of.includes(named) ? [[name, of.indexOf(named)] as const] : []));
		const range = Object.hasOwn(profile, named) ? profile[named] : undefined;
		if (range === undefined) return `The config gives no size for the batch dimension ${JSON.stringify(named)}.`;
		const { min, opt, max } = range;
		return { dim: named, range: { min: Math.max(1, min), opt: Math.max(1, opt), max: Math.max(1, max) }, axes: new Map(axes) };
	}
	const fixed = fixedBatch(subject);
	if (fixed === null) return "None of its inputs has an axis of rows.";
	return { dim: null, range: { min: fixed, opt: fixed, max: fixed }, axes: new Map(subject.inputs.map(({ name }) => [name, 0])) };
}

function namedBatch({ inputs }: ProbeSubject): string | null {
	const names = [...new Set(inputs.flatMap(({ axes }) => axes.filter((axis) => typeof axis === "string")))];
	const called = names.find((name) => batchLabels.test(name));
	if (called !== undefined) return called;
	const ranked = inputs.filter(({ axes }) => axes.length > 0);
	const [first] = ranked[0]?.axes ?? [];
	const everywhere = typeof first === "string" && ranked.every(({ axes }) => axes[0] === first);
	return everywhere && !otherWords.test(first) ? first : null;
}

function fixedBatch({ inputs }: ProbeSubject): number | null {
	const [first] = inputs[0]?.axes ?? [];
	if (typeof first !== "number" || first < 2) return null;
	return inputs.every(({ axes }) => axes[0] === first && (axes.length === 4 || axes.length === 5)) ? first : null;
}
