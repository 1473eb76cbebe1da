// Engines that base and head build differently: one section in every format, and a sentence where a workload changed.
import { describe, expect, it } from "vitest";
import type { RecipeChange, Result } from "../../../generated/result.ts";
import { renderHtml } from "../../../src/core/report/html/report.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import { recipeSentence } from "../../../src/core/report/sections/changes.ts";
import { renderTerminal } from "../../../src/core/report/terminal.ts";
import { buildGate, buildResult, buildSlowWorkload } from "../../support/build-result.ts";
import { diffOf, recordedArm } from "../../support/recorded-engines.ts";
import { hostileNames } from "../../support/result-cases.ts";

const change: RecipeChange = {
	model: "encoder",
	engine: "fp16",
	rows: [
		{ what: "optimization-level", base: "3", head: "0" },
		{ what: "precision", base: "fp32", head: "fp16" },
	],
};
const slow = buildSlowWorkload({ model: "encoder", engine: "fp16" });
const result = (...recipeChanges: RecipeChange[]): Result =>
	buildResult({ recipeChanges, workloads: [slow] });

const formats: Record<string, (shown: Result) => string> = {
	markdown: (shown) => renderMarkdown(shown),
	html: (shown) => renderHtml(shown),
	terminal: (shown) => renderTerminal(shown, { color: false, columns: 160 }),
};

describe.each(Object.entries(formats))("recipes in %s", (_, render) => {
	it("list every setting that differs, from the base's to the head's", () => {
		const text = render(result(change));
		for (const word of ["1 engine built differently, base → head", "optimization-level", "fp32", "fp16"])
			expect(text).toContain(word);
		expect(render(buildResult())).not.toContain("built differently");
	});

	it("call an engine that only has another name renamed, not built differently", () => {
		const text = render(result({ ...change, was: "encoder/old", rows: [] }));
		expect(text).toContain("encoder/old");
		expect(text).toContain("1 engine renamed, base → head");
		expect(text).not.toContain("built differently");
		expect(render(result({ ...change, was: "encoder/old" }))).toContain(
			"1 engine built differently, 1 renamed",
		);
	});

	it.each(hostileNames)("draw no markup from the setting %j", (name) => {
		const rows = [{ what: name, base: name, head: name }];
		expect(render(result({ model: name, engine: name, was: name, rows }))).not.toMatch(
			/<(script|img|iframe)(?! |>trtgate)[^>]*(alert|onerror|src)/i,
		);
	});
});

it("a changed workload says what is built differently, a few settings by name", () => {
	const of = (...recipeChanges: RecipeChange[]) => recipeSentence(buildResult({ recipeChanges }), slow);
	expect(of(change)).toBe("Built differently: optimization-level 3 → 0, precision fp32 → fp16.");
	const many = Array.from({ length: 6 }, (_, at) => ({ what: `s${at}`, base: "1", head: "2" }));
	expect(of({ ...change, rows: many })).toBe(
		"Built differently: s0 1 → 2, s1 1 → 2, s2 1 → 2, s3 1 → 2 and 2 more.",
	);
	for (const over of [{ rows: [] }, { engine: "int8" }, { part: "l4" }])
		expect(of({ ...change, ...over })).toBeNull();
});

it("a comment names what was accepted and what is built differently before the layers that became slower", () => {
	const of = (arm: "base" | "head") => recordedArm("slower-head", arm);
	const explanation = diffOf(of("base"), of("head"), { enginesMs: { base: 0.0279, head: 0.029 } });
	const workload = buildSlowWorkload({ model: "encoder", engine: "fp16", explanation });
	const accepted = "Accepted once, up to +25.0 % by Ada: twice the accuracy";
	const place = { engine: "fp16", workload: workload.workload };
	const gate = buildGate({ ...place, status: "warn", message: `Slower. ${accepted}`, accepted });
	const text = renderMarkdown(buildResult({ workloads: [workload], gates: [gate], recipeChanges: [change] }));
	const lines = text.replaceAll("\\", "").match(/^- .*/gm) ?? [];
	expect(lines.slice(0, 3)).toEqual([
		`- ${accepted}`,
		"- Built differently: optimization-level 3 → 0, precision fp32 → fp16.",
		expect.stringContaining("µs"),
	]);
});
