// The comment: its words are reviewed as files, its size and its safety are tested.
import fc from "fast-check";
import { expect, it } from "vitest";
import { utf8Bytes } from "../../../src/core/report/budget.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import { anyText } from "../../support/any-text.ts";
import {
	buildCheck,
	buildGolden,
	buildResult,
	buildSlowWorkload,
	buildWorkload,
} from "../../support/build-result.ts";
import { hostileNames, resultCases } from "../../support/result-cases.ts";
import { shownLines } from "../../support/shown-lines.ts";

const hostile = renderMarkdown(resultCases["hostile"]!);
/** Fences and code show their content unchanged. */
const unfenced = hostile.replace(/^(`{3,})text\n[\s\S]*?\n\1$/gm, "");
const countOf = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0;

it.each(Object.entries(resultCases))(
	"renderMarkdown of %s is the reviewed text, fits a comment and closes what it opens",
	async (name, result) => {
		const text = renderMarkdown(result);
		await expect(text).toMatchFileSnapshot(`../../fixtures/reports/${name}.md`);
		expect(utf8Bytes(text)).toBeLessThanOrEqual(65_536);
		expect(countOf(text, /<details>/g)).toBe(countOf(text, /<\/details>/g));
		// Some excerpts hold a line of backticks of their own.
		const longer = [...text.matchAll(/^(`{4,})text\n([\s\S]*?)\n\1$/gm)];
		const stray = longer.reduce((sum, [, , inner = ""]) => sum + countOf(inner, /^`{3,}$/gm), 0);
		expect(countOf(text, /^`{3,}text$/gm)).toBe(countOf(text, /^`{3,}$/gm) - stray);
	},
);

it("renderMarkdown shows at most 8 lines if all is well, and names the commit of a pull request", () => {
	for (const name of ["all-green", "no-base"])
		expect(shownLines(renderMarkdown(resultCases[name]!)).length).toBeLessThanOrEqual(8);
	expect(renderMarkdown(buildResult(), { change: "c0ffee1234" })).toContain("gate · c0ffee1: all");
});

it("renderMarkdown reports what it left out, and drops the cheapest first", () => {
	const facts = Array.from({ length: 100 }, (_, key) => [`key ${key}`, "v".repeat(200)]);
	const result = buildResult({ ...resultCases["many-workloads"], environment: Object.fromEntries(facts) });
	const whole = renderMarkdown(result, { limit: 1_000_000 });
	expect(whole).not.toContain("Shortened");
	const shorter = renderMarkdown(result, { limit: whole.length - 10 });
	for (const shown of ["left out: the environment. ", "`report.html` and `result.json` hold everything"])
		expect(shorter).toContain(shown);
	const least = renderMarkdown(result, { limit: 3000 });
	expect(least).toContain("all sentences but the titles");
	expect(utf8Bytes(least)).toBeLessThanOrEqual(3000);
	const cut = renderMarkdown(result, { limit: 1000 });
	for (const shown of ["100 slowdowns", "Truncated here"]) expect(cut).toContain(shown);
	expect(utf8Bytes(cut)).toBeLessThanOrEqual(1000);
});

it("renderMarkdown keeps below the limit whatever the names", () => {
	const name = fc.oneof(
		fc.constantFrom(...hostileNames),
		anyText(400),
		fc.string({ unit: "grapheme", maxLength: 400 }),
	);
	fc.assert(
		fc.property(fc.array(name, { minLength: 1, maxLength: 60 }), (names) => {
			const result = buildResult({
				workloads: names.flatMap((model) => [
					buildSlowWorkload({ model, workload: model, notes: [model.repeat(20)] }),
					buildWorkload({ model }),
				]),
				golden: names.map((model) => {
					const checks = [buildCheck({ output: model, pass: false })];
					return buildGolden({ model, state: "mismatch", message: model.repeat(20), checks });
				}),
			});
			const text = renderMarkdown(result);
			expect(utf8Bytes(text)).toBeLessThanOrEqual(65_536);
			expect(text).toContain("slowdown");
		}),
		{ numRuns: 25 },
	);
});

it("renderMarkdown makes hostile names inert", () => {
	const live = unfenced.replace(/`[^`\n]*`/g, "");
	expect(live).not.toMatch(
		/<script|<img|<!--|@everyone|https?:\/\/|[^\\]\]\(|\u001b|\u202e|javascript:\w+\(1\)\)\]/,
	);
	expect(live.match(/<(?!\/?(details|summary|sub|code)>)/g)).toBeNull();
	expect(live).not.toMatch(/^## heading/m);
});

it("renderMarkdown gives every table row the columns of its head", () => {
	const lines = unfenced.split("\n");
	const columns = (line: string) => line.replace(/\\./g, "").split("|").length;
	let head = 0;
	for (const [index, line] of lines.entries()) {
		if (!line.startsWith("| ")) continue;
		if (lines[index + 1]?.startsWith("|--") === true) head = columns(line);
		else expect(columns(line), line).toBe(head);
	}
});
