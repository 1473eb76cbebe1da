// A section is added by writing it and listing it: every format, the highlights and the headline then have it.
import { expect, it } from "vitest";
import { headline, highlights } from "../../../src/core/report/highlights.ts";
import { reportSections } from "../../../src/core/report/sections.ts";
import { buildGate, buildResult } from "../../support/build-result.ts";
import { inEveryFormat } from "../../support/every-format.ts";
import { resultCases } from "../../support/result-cases.ts";
import { diskSection, explainedGate } from "../../support/toy-section.ts";

const sections = [...reportSections, diskSection];
const gates = [buildGate({ ...explainedGate, status: "warn" })];
const result = buildResult({ environment: { disk: "93 % <b>" }, gates });

it("a section that is added to the list shows its facts and its highlight in every format", () => {
	for (const text of Object.values(inEveryFormat(result, sections))) {
		expect(text.toLowerCase()).toContain("disk in use");
		for (const shown of ["The disk is busy: 93 %", "1 busy disk"]) expect(text).toContain(shown);
	}
});

it("a section is absent if it is not listed or has nothing to show", () => {
	for (const text of Object.values(inEveryFormat(result, reportSections)))
		expect(text).not.toMatch(/disk in use|disk is busy/i);
	for (const text of Object.values(inEveryFormat(buildResult({ environment: {} }), sections)))
		expect(text).not.toMatch(/disk/i);
});

it("the highlights of a section replace the general highlight of the gates that they explain", () => {
	const titles = (of: typeof sections) => highlights(result, of).map(({ title }) => title);
	expect(titles([...reportSections])).toEqual([expect.stringMatching(/peak memory gate warns/)]);
	expect(titles(sections)).toEqual(["The disk is busy: 93 % <b>"]);
	expect(headline(result, highlights(result, sections))).toContain("1 busy disk");
});

it("the list of sections holds all that a report shows between its headline and its end, and each once", () => {
	const { markdown, html, terminal } = inEveryFormat(resultCases["mismatch-and-slowdown"] ?? result, []);
	// HTML keeps its empty appendix.
	const parts = [markdown.split("\n## "), html.split("<section").slice(1), terminal.trimEnd().split("\n\n")];
	expect(parts.map(({ length }) => length)).toEqual([1, 1, 1]);
	const ids = reportSections.map(({ id }) => id);
	expect(new Set(ids).size).toBe(ids.length);
});
