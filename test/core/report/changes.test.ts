// What head and base declare differently: recipes, interfaces, looser rules and lost coverage, in every format.
import { expect, it } from "vitest";
import type { GateResult, InterfaceRow, RecipeChange, Result } from "../../../generated/result.ts";
import { headline, highlights } from "../../../src/core/report/highlights.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import { recipeSentence } from "../../../src/core/report/sections/changes.ts";
import { buildGate, buildResult, buildSlowWorkload } from "../../support/build-result.ts";
import { inEveryFormat } from "../../support/every-format.ts";
import { diffOf, recordedArm } from "../../support/recorded-engines.ts";
import { hostileNames } from "../../support/result-cases.ts";

const change: RecipeChange = {
	...{ model: "encoder", engine: "fp16" },
	rows: [
		{ what: "optimization-level", base: "3", head: "0" },
		{ what: "precision", base: "fp32", head: "fp16" },
	],
};
const slow = buildSlowWorkload({ model: "encoder", engine: "fp16" });
const textsOf = (result: Result) => Object.values(inEveryFormat(result));
const recipes = (...recipeChanges: RecipeChange[]) =>
	textsOf(buildResult({ recipeChanges, workloads: [slow] }));

it("recipes list every setting that differs, and call an engine that only has another name renamed", () => {
	for (const text of recipes(change))
		for (const word of ["1 engine built differently, base → head", "optimization-level", "fp32", "fp16"])
			expect(text).toContain(word);
	for (const text of recipes({ ...change, was: "encoder/old", rows: [] })) {
		for (const word of ["encoder/old", "1 engine renamed, base → head"]) expect(text).toContain(word);
		expect(text).not.toContain("built differently");
	}
	for (const text of recipes({ ...change, was: "encoder/old" }))
		expect(text).toContain("1 engine built differently, 1 renamed");
});

it.each(hostileNames)("recipes draw no markup from the setting %j", (name) => {
	const rows = [{ what: name, base: name, head: name }];
	for (const text of recipes({ model: name, engine: name, was: name, rows }))
		expect(text).not.toMatch(/<(script|img|iframe)(?! |>trtgate)[^>]*(alert|onerror|src)/i);
});

it("a changed workload says what is built differently, a few settings by name", () => {
	const of = (...recipeChanges: RecipeChange[]) => recipeSentence(buildResult({ recipeChanges }), slow);
	expect(of(change)).toBe("Built differently: optimization-level 3 → 0, precision fp32 → fp16.");
	const rows = Array.from({ length: 6 }, (_, at) => ({ what: `s${at}`, base: "1", head: "2" }));
	expect(of({ ...change, rows })).toMatch(/^Built differently: s0 1 → 2, .*, s3 1 → 2 and 2 more\.$/);
	for (const over of [{ rows: [] }, { engine: "int8" }, { part: "l4" }])
		expect(of({ ...change, ...over })).toBeNull();
});

it("a comment names what was accepted and what is built differently before the layers that became slower", () => {
	const of = (arm: "base" | "head") => recordedArm("slower-head", arm);
	const explanation = diffOf(of("base"), of("head"), { enginesMs: { base: 0.0279, head: 0.029 } });
	const accepted = "Accepted once, up to +25.0 % by Ada: twice the accuracy";
	const gate = buildGate({
		workload: slow.workload,
		status: "warn",
		message: `Slower. ${accepted}`,
		accepted,
	});
	const workloads = [{ ...slow, explanation }];
	const text = renderMarkdown(buildResult({ workloads, gates: [gate], recipeChanges: [change] }));
	expect(text.replaceAll("\\", "").match(/^- .*/gm)?.slice(0, 3)).toEqual([
		`- ${accepted}`,
		"- Built differently: optimization-level 3 → 0, precision fp32 → fp16.",
		expect.stringContaining("µs"),
	]);
});

const place = { model: "det", engine: "fp16" };
const value = (name: string, dtype: string, shape: string) => ({ name, dtype, shape });

function withInterface(...rows: InterfaceRow[]) {
	const gates = [buildGate({ ...place, gate: "interface", status: "fail", message: "" })];
	return buildResult({ gates, interfaceChanges: rows.map((row) => ({ ...place, rows: [row] })) });
}

const sizes = { base: value("p2o.N", "sizes", "1 to 8"), head: value("p2o.N", "sizes", "1 to 4") };
const narrower: InterfaceRow = { side: "size", ...sizes };
const types = { base: value("x", "float32", "[1]"), head: value("x", "float16", "[1]") };
const retyped: InterfaceRow = { side: "input", ...types };

it.each([
	[
		"the dimension and the config",
		narrower,
		/^p2o\.N takes 1 to 4; in the base 1 to 8\.$/,
		"restore the sizes under",
	],
	["the input and the export", retyped, /^Input x/, "export the model with the old interface"],
])("a changed interface names %s", (_, row, says, undo) => {
	const [highlight] = highlights(withInterface(row));
	expect(highlight?.sentences.join(" ")).toMatch(says);
	expect(highlight?.fix).toContain(undo);
});

it("narrower sizes and the workload that they exclude are one changed interface", () => {
	const workload: InterfaceRow = { side: "workload", base: value("batch 8", "", "8 exceeds 4"), head: null };
	const result = withInterface(narrower, workload);
	const titles = highlights(result).map(({ title }) => title);
	expect(titles).toEqual(["det · fp16: the interface changed (2 differences)"]);
	expect(renderMarkdown(result)).toMatch(/\| workload \| .* \| no longer runs \|/);
});

const about = { model: "net", engine: "fp16", status: "warn" } as const;
const loosened: GateResult = {
	...{ ...about, gate: "limit-change", location: { path: "trtgate.yml", line: 11 } },
	message: "gates.latency.fail: 10 % → 400 %. It holds after the merge.",
};
const dropped = {
	...about,
	gate: "coverage",
	engine: "int8",
	workload: "batch 8",
	message: "Dropped.",
} as const;
const vanished: GateResult = {
	...{ ...about, gate: "vanished", workload: "batch 1" },
	message: "The base reports peak memory (742 MiB); the head does not, so nothing was compared.",
};
const loose = buildResult({ gates: [buildGate(), loosened, dropped, vanished] });

it("every report lists looser rules with their place, and what is no longer checked, if there is any", () => {
	const rules = ["Rules: 1 change to review", "gates.latency.fail: 10 % → 400 %", "trtgate.yml:11"];
	const lost = ["Coverage: 2 no longer checked", "peak memory (742 MiB)", "int8 · batch 8"];
	for (const text of textsOf(loose))
		for (const shown of [...rules, ...lost]) expect(text.replaceAll("\\", "")).toContain(shown);
	expect(inEveryFormat(loose).terminal).toMatch(
		/\nSubject +in +gate\nnet · fp16 +trtgate\.yml:11 +warn\n {4}gates\.latency\.fail: 10 % → 400 %/,
	);
	for (const text of textsOf(buildResult())) expect(text).not.toMatch(/Rules: |Coverage: |built differently/);
});

it("the highlights explain each looser rule and lost subject once, with its fix", () => {
	expect(highlights(loose).map(({ title, fix }) => `${title} → ${fix}`)).toEqual([
		expect.stringMatching(/^net · fp16: its rules need a review → Restore the rule/),
		expect.stringMatching(/^net · int8 · batch 8: no longer checked → Restore it in trtgate\.yml/),
		expect.stringMatching(/^net · fp16 · batch 1: figures are no longer reported → Find out why/),
	]);
	expect(headline(loose)).toContain(
		"1 looser rule to review, 1 subject no longer checked, 1 subject with vanished figures",
	);
});
