// Share of rows whose label is among the engine's best classes.
import type { Pair } from "../compare/difference.ts";
import { forEachRow } from "../tensor/rows.ts";
import { elementCount, isFloating } from "../tensor/tensor.ts";
import { float64Reader } from "../tensor/values.ts";
import type { Measured, Question } from "./measured.ts";
import { holdsNaN, topIndices } from "./top-k.ts";

/**
 * #{label ∈ top k of got} / n over rows along the axis (sklearn: `top_k_accuracy_score`; of equal values the lower index wins). Of an
 * output of integers, each is a class already. Rows whose label is `ignore` are left out. The golden's own share is told beside.
 */
export function accuracy(pair: Pair, question: Question): Measured {
	const labels = question.labels ?? [];
	const tally = { rows: 0, seen: 0, right: 0, goldenRight: 0, lost: -1, wrong: -1, elements: 0 };
	forEachAnswer(pair, question, (answer) => {
		const label = labels[tally.seen];
		tally.seen += 1;
		if (label === undefined || label === question.ignore) return;
		tally.rows += 1;
		tally.elements += answer.elements;
		const golden = answer.expected.includes(label);
		if (golden) tally.goldenRight += 1;
		if (answer.got.includes(label)) tally.right += 1;
		else if (golden && tally.lost < 0) tally.lost = answer.flat;
		else if (tally.wrong < 0) tally.wrong = answer.flat;
	});
	if (tally.seen !== labels.length) {
		return {
			value: Number.NaN,
			elements: Math.max(1, tally.elements),
			worstAt: -1,
			detail: `${tally.seen} rows, but ${labels.length} labels`,
		};
	}
	const value = tally.rows === 0 ? Number.NaN : tally.right / tally.rows;
	const detail = `${tally.right} of ${tally.rows} right, the golden ${tally.goldenRight}`;
	return { value, elements: tally.elements, worstAt: tally.lost < 0 ? tally.wrong : tally.lost, detail };
}

/** What the golden itself reaches, for a limit that is a share of it. */
export function goldenAccuracy(pair: Pair, question: Question): number {
	const value = accuracy(pair, question).value;
	return Number.isNaN(value) ? 0 : value;
}

interface Answer {
	expected: readonly number[];
	got: readonly number[];
	flat: number;
	elements: number;
}

function forEachAnswer(pair: Pair, question: Question, visit: (answer: Answer) => void): void {
	if (isFloating(pair.expected.dtype)) {
		forEachRow(pair, question.axis, (expected, got, place) => {
			const [wanted, found] = [expected, got].map((row) => (holdsNaN(row) ? [] : topIndices(row, question.k)));
			const flat = place.first + (wanted?.[0] ?? 0) * place.stride;
			visit({ expected: wanted ?? [], got: found ?? [], flat, elements: expected.length });
		});
		return;
	}
	const readExpected = float64Reader(pair.expected);
	const readGot = float64Reader(pair.got);
	for (let flat = 0; flat < elementCount(pair.expected.shape); flat += 1) {
		const expected = readExpected(flat, 1)[0] ?? Number.NaN;
		visit({ expected: [expected], got: [readGot(flat, 1)[0] ?? Number.NaN], flat, elements: 1 });
	}
}
