// The comment: its words are reviewed as files, its size and its safety are tested.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
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

const cases = Object.entries(resultCases);

describe("renderMarkdown", () => {
	it.each(cases)(
		"renderMarkdown of %s is the reviewed text, fits a comment and closes what it opens",
		async (name, result) => {
			const text = renderMarkdown(result);
			await expect(text).toMatchFileSnapshot(`../../fixtures/reports/${name}.md`);
			expect(utf8Bytes(text)).toBeLessThanOrEqual(65_536);
			expect(text.match(/<details>/g)?.length ?? 0).toBe(text.match(/<\/details>/g)?.length ?? 0);
			expect((text.match(/^`{3,}text$/gm) ?? []).length).toBe(
				(text.match(/^`{3,}$/gm) ?? []).length - strayFences(text),
			);
		},
	);

	it.each(["all-green", "no-base"])("renderMarkdown of %s shows at most 8 lines", (name) => {
		expect(shownLines(renderMarkdown(resultCases[name] ?? buildResult())).length).toBeLessThanOrEqual(8);
	});

	it("renderMarkdown names the commit of a pull request, not that of its merge", () => {
		expect(renderMarkdown(buildResult(), { change: "c0ffee1234" })).toContain("gate · c0ffee1: all");
	});

	it("renderMarkdown reports what it left out, and drops the cheapest first", () => {
		const facts = Array.from({ length: 100 }, (_, key) => [`key ${key}`, "v".repeat(200)]);
		const result = buildResult({ ...resultCases["many-workloads"], environment: Object.fromEntries(facts) });
		const whole = renderMarkdown(result, { limit: 1_000_000 });
		expect(whole).not.toContain("Shortened");
		const shorter = renderMarkdown(result, { limit: whole.length - 10 });
		expect(shorter).toContain("left out: the environment. ");
		expect(shorter).toContain("`report.html` and `result.json` hold everything");
		const least = renderMarkdown(result, { limit: 3000 });
		expect(least).toContain("all sentences but the titles");
		expect(least.length).toBeLessThanOrEqual(3000);
	});

	it("renderMarkdown keeps headline and first story however small the room", () => {
		const text = renderMarkdown(resultCases["many-workloads"] ?? buildResult(), { limit: 1000 });
		expect(utf8Bytes(text)).toBeLessThanOrEqual(1000);
		expect(text).toContain("100 slowdowns");
		expect(text).toContain("Truncated here");
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
		const text = renderMarkdown(resultCases["hostile"] ?? buildResult());
		// Fences and code show their content unchanged.
		const live = text.replace(/^(`{3,})text\n[\s\S]*?\n\1$/gm, "").replace(/`[^`\n]*`/g, "");
		expect(live).not.toMatch(
			/<script|<img|<!--|@everyone|https?:\/\/|[^\\]\]\(|\u001b|\u202e|javascript:\w+\(1\)\)\]/,
		);
		expect(live.match(/<(?!\/?(details|summary|sub|code)>)/g)).toBeNull();
		expect(live).not.toMatch(/^## heading/m);
	});

	it("renderMarkdown gives every table row the columns of its head", () => {
		const lines = renderMarkdown(resultCases["hostile"] ?? buildResult())
			.replace(/^(`{3,})text\n[\s\S]*?\n\1$/gm, "")
			.split("\n");
		const columns = (line: string) => line.replace(/\\./g, "").split("|").length;
		let head = 0;
		for (const [index, line] of lines.entries()) {
			if (!line.startsWith("| ")) continue;
			if (lines[index + 1]?.startsWith("|--") === true) head = columns(line);
			else expect(columns(line), line).toBe(head);
		}
	});
});

/** Closing fences of excerpts that hold a line of backticks of their own. */
function strayFences(text: string): number {
	return [...text.matchAll(/^(`{4,})text\n([\s\S]*?)\n\1$/gm)].reduce(
		(sum, match) => sum + (match[2]?.match(/^`{3,}$/gm)?.length ?? 0),
		0,
	);
}
