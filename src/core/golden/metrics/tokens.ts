// Share of tokens that are the same.
import { type Pair, wideReader } from "../compare/difference.ts";
import { forEachRow } from "../tensor/rows.ts";
import { elementCount, isFloating } from "../tensor/tensor.ts";
import { forEachChunk } from "../tensor/values.ts";
import type { Measured, Question } from "./measured.ts";
import { argMax } from "./top-k.ts";

/**
 * #{got = expected} / n over tokens: ids as they are, of logits the largest along the axis, the lowest of equals
 * (numpy: `mean(g == c)`, after `argmax(axis)`). Tokens of which the golden is `ignore` (padding) are left out. What follows the
 * first token that differs says little in text that a model wrote itself, so that place is named.
 */
export function tokenAgreement(pair: Pair, question: Question): Measured {
	const tally = { tokens: 0, same: 0, first: -1 };
	const add = (expected: number, same: boolean, flat: number): void => {
		if (expected === question.ignore) return;
		tally.tokens += 1;
		if (same) tally.same += 1;
		else if (tally.first < 0) tally.first = flat;
	};
	if (isFloating(pair.expected.dtype)) {
		forEachRow(pair, question.axis, (expected, got, place) => {
			const wanted = argMax(expected);
			add(wanted, wanted === argMax(got), place.first + wanted * place.stride);
		});
	} else forEachId(pair, add);
	const differing = tally.tokens - tally.same;
	const detail = `${differing} of ${tally.tokens} tokens differ, the first of them is shown`;
	const value = tally.tokens === 0 ? Number.NaN : tally.same / tally.tokens;
	return { value, elements: tally.tokens, worstAt: tally.first, ...(differing > 0 ? { detail } : {}) };
}

function forEachId(pair: Pair, visit: (expected: number, same: boolean, flat: number) => void): void {
	const read = wideReader(pair.expected, pair.got);
	forEachChunk(elementCount(pair.expected.shape), (start, count) => {
		const { expected, difference } = read(start, count);
		for (let i = 0; i < count; i += 1) visit(expected[i] as number, difference[i] === 0, start + i);
	});
}
