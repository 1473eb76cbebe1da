// Proposes comparators for an output whose parts lie on scales far apart: each part has its own limit, and classes have to stay.
import type { ComparatorSpec, OutputSlice } from "../../../../generated/golden.ts";
import { twoDigits } from "../../text/units.ts";
import { makePair } from "../compare/difference.ts";
import { topIndices } from "../metrics/classification.ts";
import { forEachRow } from "../tensor/rows.ts";
import { cutSlice, sliceLabel } from "../tensor/slice.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { tensorStatistics } from "../tensor/values.ts";
import { channelAxis, type ScalePart } from "./scales.ts";

export interface Comparators {
	comparators: ComparatorSpec[];
	why: string[];
}

/** `floorOf`: below it elements of a part are noise; null: none are. */
export function partComparators(
	tensors: readonly Tensor[],
	parts: readonly ScalePart[],
	floorOf: (slice: OutputSlice) => number | null,
): Comparators {
	const scales = parts.map(({ slice, rms }) => `${sliceLabel(slice)} about ${twoDigits(rms)}`).join(", ");
	const why = [`Compared part by part, because their scales are more than 100 times apart: ${scales}.`];
	const comparators = parts.flatMap(({ slice, kind }): ComparatorSpec[] => {
		const floor = floorOf(slice);
		const classes = kind === "scores" ? classComparators(tensors, { axis: slice.axis, slice }) : null;
		why.push(...(classes?.why ?? []));
		return [
			{ kind: "relative-l2", slice, ...(floor === null ? {} : { floor }) },
			...(classes?.comparators ?? []),
		];
	});
	return { comparators, why };
}

export function scoreComparators(tensors: readonly Tensor[]): Comparators {
	const axis = channelAxis(tensors);
	const areScores = tensors
		.map(tensorStatistics)
		.every(({ min, max }) => min !== null && max !== null && min >= 0 && max <= 1);
	return axis === null || !areScores
		? { comparators: [], why: [] }
		: classComparators(tensors, { axis, slice: undefined });
}

interface Scores {
	axis: number;
	/** undefined: all of the output. */
	slice: OutputSlice | undefined;
}

const usualScore = 0.25;
const quietShare = 0.1;
const narrowLead = 0.1;
const keptShare = 0.99;

/** The class of each row that is no background; none where those rows choose one class, or most leads are too narrow. */
function classComparators(tensors: readonly Tensor[], { axis, slice }: Scores): Comparators {
	const byCase = tensors.map((tensor) => rowsOf(tensor, { axis, slice }));
	const rows = byCase.flat();
	const minScore = scoreOf(byCase);
	const counted = rows.filter((row) => row.best >= minScore);
	const clear = counted.filter((row) => row.lead > narrowLead * row.best);
	const several = new Set(clear.map(({ index }) => index)).size > 1;
	if (!(minScore > 0) || !several || clear.length < counted.length / 2) return { comparators: [], why: [] };
	// Rows with a narrow lead may all turn.
	const tolerance = Math.floor(1000 * keptShare * (clear.length / counted.length)) / 1000;
	const why = `${slice === undefined ? "All channels" : sliceLabel(slice)} hold classes: the best one has to stay in ${twoDigits(100 * tolerance)} % of the ${counted.length} rows that score at least ${minScore}; the other rows are background.`;
	return { comparators: [{ kind: "top-k", k: 1, axis, slice, minScore, tolerance }], why: [why] };
}

function scoreOf(cases: readonly (readonly ClassRow[])[]): number {
	const best = cases.map((rows) => rows.reduce((max, row) => Math.max(max, row.best), 0));
	const shown = Math.max(...best) * quietShare;
	return Math.min(usualScore, roundDown(Math.min(...best.filter((score) => score >= shown)) / 2));
}

interface ClassRow {
	index: number;
	best: number;
	lead: number;
}

function rowsOf(tensor: Tensor, { axis, slice }: Scores): ClassRow[] {
	const part = cutSlice(tensor, slice);
	const found: ClassRow[] = [];
	forEachRow(makePair(part, part), axis, (row) => {
		const [first = 0, second = first] = topIndices(row, 2);
		const best = row[first] ?? 0;
		found.push({ index: first, best, lead: row.length < 2 ? 0 : best - (row[second] ?? 0) });
	});
	return found;
}

function roundDown(value: number): number {
	if (!(value > 0)) return 0;
	const step = 10 ** Math.floor(Math.log10(value) - 1);
	return Number((Math.floor(value / step) * step).toPrecision(2));
}
