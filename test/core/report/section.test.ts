// A section is added by writing it and listing it: every format, the highlights and the headline then have it.
import { describe, expect, it } from "vitest";
import { headline, highlights } from "../../../src/core/report/highlights.ts";
import { renderHtml } from "../../../src/core/report/html/report.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import type { ReportSection } from "../../../src/core/report/section.ts";
import { reportSections } from "../../../src/core/report/sections.ts";
import { renderTerminal } from "../../../src/core/report/terminal.ts";
import { buildGate, buildResult } from "../../support/build-result.ts";
import { resultCases } from "../../support/result-cases.ts";
import { diskSection, explainedGate } from "../../support/toy-section.ts";

const sections = [...reportSections, diskSection];
const result = buildResult({
	environment: { disk: "93 % <b>" },
	gates: [buildGate({ ...explainedGate, status: "warn" })],
});
const formats = {
	markdown: (shown: readonly ReportSection[] = sections) => renderMarkdown(result, { sections: shown }),
	html: (shown: readonly ReportSection[] = sections) => renderHtml(result, shown),
	terminal: (shown: readonly ReportSection[] = sections) =>
		renderTerminal(result, { color: false, columns: 120 }, shown),
};

describe.each(Object.entries(formats))("a section that is added to the list, in %s", (_, render) => {
	it("a section that is added to the list shows its facts and its highlight", () => {
		expect(render().toLowerCase()).toContain("disk in use");
		expect(render()).toContain("The disk is busy: 93 %");
		expect(render()).toContain("1 busy disk");
	});

	it("a section that is added to the list is absent if it is not listed or has nothing to show", () => {
		expect(render(reportSections)).not.toMatch(/disk in use|disk is busy/i);
		const nothing = buildResult({ environment: {} });
		const texts = [
			renderMarkdown(nothing, { sections }),
			renderHtml(nothing, sections),
			renderTerminal(nothing, { color: false, columns: 120 }, sections),
		];
		for (const text of texts) expect(text).not.toMatch(/disk/i);
	});
});

it("the highlights of a section replace the general highlight of the gates that they explain", () => {
	const general = /peak memory gate warns/;
	expect(highlights(result, reportSections).map(({ title }) => title)).toEqual([
		expect.stringMatching(general),
	]);
	expect(highlights(result, sections).map(({ title }) => title)).toEqual(["The disk is busy: 93 % <b>"]);
	expect(headline(result, highlights(result, sections))).toContain("1 busy disk");
});

it.each(["markdown", "html", "terminal"] as const)(
	"the list of sections holds all that %s shows between its headline and its end",
	(format) => {
		const shown = resultCases["mismatch-and-slowdown"] ?? result;
		const bare = {
			markdown: renderMarkdown(shown, { sections: [] }).split("\n## ").length,
			html: renderHtml(shown, []).split("<section").length - 1,
			terminal: renderTerminal(shown, { color: false, columns: 400 }, []).trimEnd().split("\n\n").length,
		};
		// HTML keeps its empty appendix.
		expect(bare[format]).toBe(1);
	},
);

it("the list of sections names each section once", () => {
	const ids = reportSections.map(({ id }) => id);
	expect(new Set(ids).size).toBe(ids.length);
});
