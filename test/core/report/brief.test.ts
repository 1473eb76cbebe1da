// A highlight of a comment: never more words than allowed, and what matters most is kept.

import fc from "fast-check";
import { expect, it } from "vitest";
import { brief, countWords, type Highlight } from "../../../src/core/report/highlight.ts";
import { highlights } from "../../../src/core/report/highlights.ts";
import { withoutMarks } from "../../../src/core/text/escape.ts";
import { resultCases } from "../../support/result-cases.ts";

function wordsOf({ title, lines = [], sentences, fix = "" }: Highlight): number {
	return countWords([title, ...[...lines, ...sentences].map(withoutMarks), fix].join(" "));
}

const words = (count: number, word = "word"): string => Array.from({ length: count }, () => word).join(" ");
const phrases = (...lengths: number[]) => lengths.map((length) => words(length));
const blank = { severity: "fail", topic: ["one", "many"] } as const;

it("the comment has at most 60 words, whatever is reported", () => {
	for (const result of Object.values(resultCases)) {
		for (const highlight of highlights(result)) expect(wordsOf(brief(highlight, 60))).toBeLessThanOrEqual(60);
	}
	const text = fc.nat({ max: 80 }).map((count) => words(count));
	const list = fc.array(text, { maxLength: 10 });
	const any = fc.record({
		title: text,
		sentences: list,
		lines: fc.option(list, { nil: undefined }),
		fix: fc.option(text, { nil: undefined }),
	});
	fc.assert(
		fc.property(any, ({ lines, fix, ...rest }) => {
			const highlight = {
				...blank,
				...rest,
				...(lines === undefined ? {} : { lines }),
				...(fix === undefined ? {} : { fix }),
			};
			expect(wordsOf(brief(highlight, 60))).toBeLessThanOrEqual(60);
		}),
	);
});

it.each([
	[
		"what fits unchanged",
		{ lines: phrases(10, 10), sentences: phrases(10), fix: words(10) },
		[10, 10],
		[10],
		10,
	],
	["the fix before further sentences", { sentences: phrases(20, 25, 5), fix: words(14) }, [], [20, 5], 14],
	[
		"lines before sentences, and counts those left out",
		{ lines: phrases(20, 20, 20), sentences: phrases(9, 3) },
		[20, 20, 5],
		[3],
		0,
	],
	[
		"the beginning of a first sentence that is too long",
		{ sentences: phrases(90), fix: words(30) },
		[],
		[25],
		24,
	],
])("the comment keeps %s", (_, parts, lines, sentences, fix) => {
	const short = brief({ ...blank, title: words(10), ...parts }, 60);
	const lengths = (list: Highlight["sentences"] = []) => list.map((phrase) => countWords(phrase));
	expect([lengths(short.lines), lengths(short.sentences), countWords(short.fix ?? "")]).toEqual([
		lines,
		sentences,
		fix,
	]);
});
