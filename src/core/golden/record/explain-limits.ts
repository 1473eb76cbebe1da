// Says in words where the derived limits of an output come from.
import type { ComparatorSpec, Precision } from "../../../../generated/golden.ts";
import { twoDigits } from "../../text/units.ts";
import { sliceLabel } from "../tensor/slice.ts";
import {
	amplifiedRounding,
	type Emulated,
	emulatedPrecisions,
	rules,
	type StrayAt,
	usualAt,
} from "./limits.ts";

/** What is known of the relative L2 of an output or a part of it. */
export interface Explained {
	rounding: Partial<Record<Emulated, number>>;
	limits: Partial<Record<Precision, StrayAt>>;
	noise: number;
	quantised: boolean;
}

/** Sentences: the limits, and where they come from. */
export function explainLimits(
	spec: ComparatorSpec,
	{ noise, rounding, limits, quantised }: Explained,
): string[] {
	const part = spec.slice === undefined ? "" : ` of ${sliceLabel(spec.slice)}`;
	const list = (Object.entries(limits) as [Precision, StrayAt][])
		.map(([precision, { limit }]) => `${limit} at ${precision}`)
		.join(", ");
	const amplified = amplifiedRounding({ rounding, quantised });
	const single =
		amplified === null ? "" : `, and rounding at fp32 becomes about ${twoDigits(amplified)} at this output`;
	const strayed = emulatedPrecisions.flatMap((precision) => {
		const error = rounding[precision];
		return error === undefined ? [] : [`at ${precision} ${twoDigits(error)}`];
	});
	const least = `at least ${usualAt({ quantised })}${quantised ? ", since some layers are quantised" : ""}`;
	return [
		`The limit of relative-l2${part} is ${list}: ${rules.room} times the deviation of correct outputs (at fp32 ${least}); other precisions keep their defaults.`,
		`The noise floor is ${twoDigits(noise)}${single}${strayed.length === 0 ? "" : `, ${strayed.join(", ")} (emulated)`}.`,
		...warnings(limits),
	];
}

/** Where correct outputs deviate so far that the golden says little. */
function warnings(limits: Explained["limits"]): string[] {
	const lost = (Object.entries(limits) as [Precision, StrayAt][]).filter(
		([, { stray }]) => stray > rules.mostStray,
	);
	if (lost.length === 0) return [];
	const names = lost.map(([precision, { stray }]) => `${precision} (${twoDigits(stray)})`).join(", ");
	return [
		`At ${names}, even correct outputs deviate so much that this golden says little: a wrong engine may pass.`,
	];
}
