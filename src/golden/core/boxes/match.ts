// Pairs the boxes of an engine with the golden's, within each class.
import { type Detection, overlap } from "./detection.ts";

export interface Match {
	expected: Detection;
	got: Detection;
	iou: number;
}

export interface Matching {
	matches: readonly Match[];
	missing: readonly Detection[];
	extra: readonly Detection[];
}

export interface MatchRule {
	matching: "hungarian" | "greedy";
	iou: number;
}

export function matchBoxes(
	expected: readonly Detection[],
	got: readonly Detection[],
	rule: MatchRule,
): Matching {
	const classes = new Set([...expected, ...got].map((box) => box.class));
	const pair = rule.matching === "greedy" ? pairGreedily : pairBest;
	const matches = [...classes].flatMap((label) => {
		const ofClass = (boxes: readonly Detection[]): Detection[] =>
			boxes.filter((box) => Object.is(box.class, label) || box.class === label);
		return pair(ofClass(expected), ofClass(got), rule.iou);
	});
	const wanted = new Set(matches.map((match) => match.expected));
	const found = new Set(matches.map((match) => match.got));
	return {
		matches,
		missing: expected.filter((box) => !wanted.has(box)),
		extra: got.filter((box) => !found.has(box)),
	};
}

function pairGreedily(expected: readonly Detection[], got: readonly Detection[], least: number): Match[] {
	const free = new Set(expected);
	const matches: Match[] = [];
	for (const box of got) {
		let best: Match | null = null;
		for (const wanted of free) {
			const iou = overlap(wanted, box);
			if (iou >= least && iou > (best?.iou ?? 0)) best = { expected: wanted, got: box, iou };
		}
		if (best === null) continue;
		free.delete(best.expected);
		matches.push(best);
	}
	return matches;
}

function pairBest(expected: readonly Detection[], got: readonly Detection[], least: number): Match[] {
	if (expected.length === 0 || got.length === 0) return [];
	const turned = expected.length > got.length;
	const [rows, columns] = turned ? [got, expected] : [expected, got];
	const gains = rows.map((row) =>
		Float64Array.from(columns, (column) => {
			const iou = overlap(row, column);
			return iou >= least ? iou : 0;
		}),
	);
	return assignColumns(gains).flatMap((column, index) => {
		const [row, other, iou] = [rows[index], columns[column], gains[index]?.[column] ?? 0];
		if (row === undefined || other === undefined || iou === 0) return [];
		return [turned ? { expected: other, got: row, iou } : { expected: row, got: other, iou }];
	});
}

/**
 * The column of each row that gives the largest sum of gains: the Hungarian method by shortest augmenting paths (Kuhn 1955,
 * Jonker and Volgenant 1987; scipy: `linear_sum_assignment`). Needs at least as many columns as rows.
 */
export function assignColumns(gains: readonly Float64Array[]): number[] {
	const columns = gains[0]?.length ?? 0;
	const state: Assignment = {
		rowPotential: new Float64Array(gains.length + 1),
		columnPotential: new Float64Array(columns + 1),
		// Rows and columns count from 1; row 0 means unassigned, column 0 is the start of a path.
		rowOf: new Int32Array(columns + 1),
	};
	for (let row = 1; row <= gains.length; row += 1) augment(row, gains, state);
	const assigned = new Array<number>(gains.length).fill(-1);
	for (let column = 1; column <= columns; column += 1) {
		const row = state.rowOf[column] as number;
		if (row > 0) assigned[row - 1] = column - 1;
	}
	return assigned;
}

interface Assignment {
	rowPotential: Float64Array;
	columnPotential: Float64Array;
	rowOf: Int32Array;
}

function augment(row: number, gains: readonly Float64Array[], state: Assignment): void {
	const { rowOf } = state;
	const path: Path = {
		least: new Float64Array(rowOf.length).fill(Number.POSITIVE_INFINITY),
		before: new Int32Array(rowOf.length),
		used: new Uint8Array(rowOf.length),
	};
	rowOf[0] = row;
	let column = 0;
	while (rowOf[column] !== 0) column = advance(column, gains, { state, path });
	while (column !== 0) {
		const before = path.before[column] as number;
		rowOf[column] = rowOf[before] as number;
		column = before;
	}
}

interface Path {
	least: Float64Array;
	before: Int32Array;
	used: Uint8Array;
}

/** Reaches the nearest unused column and shifts the potentials so that its distance is 0. */
function advance(
	column: number,
	gains: readonly Float64Array[],
	{ state, path }: { state: Assignment; path: Path },
): number {
	const { rowPotential, columnPotential, rowOf } = state;
	const { least, before, used } = path;
	used[column] = 1;
	const row = rowOf[column] as number;
	const own = gains[row - 1] ?? new Float64Array(0);
	let delta = Number.POSITIVE_INFINITY;
	let next = 0;
	for (let j = 1; j < rowOf.length; j += 1) {
		if (used[j] === 1) continue;
		const distance = -(own[j - 1] as number) - (rowPotential[row] as number) - (columnPotential[j] as number);
		if (distance < (least[j] as number)) {
			least[j] = distance;
			before[j] = column;
		}
		if ((least[j] as number) < delta) {
			delta = least[j] as number;
			next = j;
		}
	}
	for (let j = 0; j < rowOf.length; j += 1) {
		if (used[j] === 1) {
			const of = rowOf[j] as number;
			rowPotential[of] = (rowPotential[of] as number) + delta;
			columnPotential[j] = (columnPotential[j] as number) - delta;
		} else least[j] = (least[j] as number) - delta;
	}
	return next;
}
