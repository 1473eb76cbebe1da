import { expect, it } from "vitest";
import type {
	BuildRecord,
	GateResult,
	GraphCost,
	GraphFigures,
	InterfaceRow,
	NodeCostChange,
	RecipeChange,
} from "../../../generated/result.ts";
import { validate } from "../../../generated/result-validator.js";
import { loadsOf } from "../../../src/core/load/at-load.ts";
import { headline, highlights } from "../../../src/core/report/highlights.ts";
import { recipeSentence } from "../../../src/core/report/sections/changes.ts";
import { nodeChangeText } from "../../../src/core/report/sections/graph-costs.ts";
import { reportSections } from "../../../src/core/report/sections.ts";
import {
	buildBuild,
	buildComparison,
	buildGate,
	buildResult,
	buildSlowWorkload,
	buildStats,
	buildWorkload,
} from "../../support/build-result.ts";
import { inEveryFormat } from "../../support/every-format.ts";
import { diffOf, recordedArm } from "../../support/recorded-engines.ts";
import { hostileNames, resultCases } from "../../support/result-cases.ts";
import { shownLines } from "../../support/shown-lines.ts";
import { diskSection, explainedGate } from "../../support/toy-section.ts";

type Texts = ReturnType<typeof inEveryFormat>;

function expectAll(texts: Partial<Texts>, ...shown: string[]) {
	for (const text of Object.values(texts))
		for (const part of shown) expect(text.replaceAll("\\", "")).toContain(part);
}

function expectNone(texts: Texts, pattern: RegExp) {
	for (const text of Object.values(texts)) expect(text).not.toMatch(pattern);
}

const sections = [...reportSections, diskSection];
const gates = [buildGate({ ...explainedGate, status: "warn" })];
const onDisk = buildResult({ environment: { disk: "93 % <b>" }, gates });

it("an added section shows its facts and its highlight in every format, if it has any", () => {
	const texts = inEveryFormat(onDisk, sections);
	expectAll(texts, "The disk is busy: 93 %");
	for (const text of [texts.html, texts.terminal]) expect(text).toContain("1 busy disk");
	for (const text of Object.values(texts)) expect(text).toMatch(/disk in use/i);
	expectNone(inEveryFormat(onDisk), /disk in use|disk is busy/i);
	expectNone(inEveryFormat(buildResult({ environment: {} }), sections), /disk/i);
});

it("a section's highlights replace those of the gates that they explain", () => {
	const titles = (of: typeof sections) => highlights(onDisk, of).map(({ title }) => title);
	expect(titles([...reportSections])).toEqual([expect.stringMatching(/peak memory gate warns/)]);
	expect(titles(sections)).toEqual(["The disk is busy: 93 % <b>"]);
	expect(headline(onDisk, highlights(onDisk, sections))).toContain("1 busy disk");
});

it("the sections hold all that a report shows between its headline and its end, and each once", () => {
	const { markdown, html, terminal } = inEveryFormat(resultCases["mismatch-and-slowdown"]!, []);
	// HTML keeps its empty appendix.
	const parts = [markdown.split("\n## "), html.split("<section").slice(1), terminal.trimEnd().split("\n\n")];
	expect(parts.map(({ length }) => length)).toEqual([1, 1, 1]);
	const ids = reportSections.map(({ id }) => id);
	expect(new Set(ids).size).toBe(ids.length);
});

const rows = [
	{ what: "optimization-level", base: "3", head: "0" },
	{ what: "precision", base: "fp32", head: "fp16" },
];
const change: RecipeChange = { model: "encoder", engine: "fp16", rows };
const slow = buildSlowWorkload({ model: "encoder" });
const recipes = (...recipeChanges: RecipeChange[]) =>
	inEveryFormat(buildResult({ recipeChanges, workloads: [slow] }));

it("recipes list every setting that differs, and call an engine renamed that is otherwise the same", () => {
	expectAll(recipes(change), "1 engine built differently, base → head", "optimization-level", "fp32", "fp16");
	const renamed = recipes({ ...change, was: "encoder/old", rows: [] });
	expectAll(renamed, "encoder/old", "1 engine renamed, base → head");
	expectNone(renamed, /built differently/);
	expectAll(recipes({ ...change, was: "encoder/old" }), "1 engine built differently, 1 renamed");
});

const calibrated = (name: string) =>
	inEveryFormat(
		buildResult({
			builds: [
				buildBuild({ arm: "base", calibration: { tensors: 3 } }),
				buildBuild({
					calibration: {
						...{ method: "entropy", cases: 2, dataSha256: "d".repeat(64), tensors: 3 },
						...{ changed: 2, drift: [{ tensor: name, base: 0, head: 1.5 }] },
					},
				}),
			],
		}),
	);

it("calibrations show the data of both sides, and the ranges that changed", () => {
	const from = "2 of 3 ranges changed, from a stored cache to 2 cases (entropy, data dddddddddddd).";
	expectAll(calibrated("conv1_out"), "Calibration: 1 engine with other ranges", from, "conv1_out", "1.5");
	const same = buildResult({ builds: [buildBuild({ calibration: { tensors: 3, changed: 0, drift: [] } })] });
	expectNone(inEveryFormat(same), /Calibration/);
});

const inOtherTypes = (name: string) => {
	const lost = [{ layer: name, precision: "fp32", share: 0.25, cause: "cast" as const, at: name }];
	const changed = { lostCount: 3, lost, gainedCount: 1, gained: [name] };
	const covered = { precision: "fp16", multiplyAdds: 0.75, outsideCount: 3, outside: lost };
	return inEveryFormat(
		buildResult({
			builds: [buildBuild({ arm: "base" }), buildBuild({ precisionCoverage: { ...covered, changed } })],
		}),
	);
};

it("the precision section names the nodes that left and entered the precision, and what to do", () => {
	const texts = inOtherTypes("conv1");
	const left = "3 nodes no longer in fp16: conv1 in fp32 (25.0 %; the Cast conv1 beside it) · 2 more layers.";
	expectAll(texts, left, "--calibration_data", "1 node now in fp16: conv1.");
});

it("an upgrade after a review shows its reasons, and what to do about nodes that left the precision, however long their names are", () => {
	const names = [1, 2, 3, 4, 5].map((at) => `estimator_small_1/max_pooling2d_1/conv2d_${at}/convolution`);
	const lost = names.map((layer) => {
		return { layer, precision: "fp32", share: 0.2, cause: "cast" as const, at: `${layer}_cast_to_fp32` };
	});
	const changed = { lostCount: 5, lost, gainedCount: 0, gained: [] };
	const precisionCoverage = { precision: "fp16", multiplyAdds: 0, outsideCount: 5, outside: lost, changed };
	const { backend, ...rest } = buildResult({ builds: [buildBuild({ arm: "base" })] });
	const builds = [...rest.builds, buildBuild({ precisionCoverage })];
	const side = { label: "main", commit: "a1" };
	const versions = { backend: { ...backend, version: "11.2.1" }, baseBackend: backend };
	const texts = inEveryFormat({ ...rest, ...versions, builds, arms: { base: side, head: side } });
	const [shown = ""] = texts.markdown.split("<details>");
	expect(shown).toMatch(/Upgrade after a review[\s\S]*\n- `encoder`: `fp16`: 5 nodes .*--calibration_data/);
});

it.each(hostileNames)("types draw no markup from the node %j", (name) => {
	expectNone(inOtherTypes(name), /<(script|img|iframe)(?! |>trtgate)[^>]*(alert|onerror|src)/i);
});

it.each(hostileNames)("calibrations draw no markup from the tensor %j", (name) => {
	expectNone(calibrated(name), /<(script|img|iframe)(?! |>trtgate)[^>]*(alert|onerror|src)/i);
});

it.each(hostileNames)("recipes draw no markup from the setting %j", (name) => {
	const named = [{ what: name, base: name, head: name }];
	const texts = recipes({ model: name, engine: name, was: name, rows: named });
	expectNone(texts, /<(script|img|iframe)(?! |>trtgate)[^>]*(alert|onerror|src)/i);
});

const differently = "Built differently: optimization-level 3 → 0, precision fp32 → fp16.";

it("a changed workload says what is built differently, a few settings by name", () => {
	const of = (recipe: RecipeChange) => recipeSentence(buildResult({ recipeChanges: [recipe] }), slow);
	expect(of(change)).toBe(differently);
	const many = Array.from({ length: 6 }, (_, at) => ({ what: `s${at}`, base: "1", head: "2" }));
	expect(of({ ...change, rows: many })).toMatch(/^Built differently: s0 1 → 2, .*, s3 1 → 2 and 2 more\.$/);
	for (const over of [{ rows: [] }, { engine: "int8" }, { part: "l4" }])
		expect(of({ ...change, ...over })).toBeNull();
});

it("a comment names what was accepted and what is built differently before slower layers", () => {
	const [base, head] = [recordedArm("slower-head", "base"), recordedArm("slower-head", "head")];
	const explanation = diffOf(base, head, { enginesMs: { base: 0.0279, head: 0.029 } });
	const accepted = "Accepted once, up to +25.0 % by Ada: twice the accuracy";
	const gate = buildGate({ workload: slow.workload, status: "warn", message: "Slower.", accepted });
	const workloads = [{ ...slow, explanation }];
	const { markdown } = inEveryFormat(buildResult({ workloads, gates: [gate], recipeChanges: [change] }));
	const lines = markdown.replaceAll("\\", "").match(/^- .*/gm) ?? [];
	expect(lines.slice(0, 2)).toEqual([`- ${accepted}`, `- ${differently}`]);
	expect(lines[2]).toContain("µs");
});

const place = { model: "det", engine: "fp16" };
const value = (name: string, dtype: string, shape: string) => ({ name, dtype, shape });

function withInterface(...changed: InterfaceRow[]) {
	const gate = buildGate({ ...place, gate: "interface", status: "fail", message: "" });
	return buildResult({ gates: [gate], interfaceChanges: changed.map((row) => ({ ...place, rows: [row] })) });
}

const sizes = { base: value("p2o.N", "sizes", "1 to 8"), head: value("p2o.N", "sizes", "1 to 4") };
const narrower: InterfaceRow = { side: "size", ...sizes };
const types = { base: value("x", "float32", "[1]"), head: value("x", "float16", "[1]") };

it.each([
	[narrower, /^p2o\.N takes 1 to 4; in the base 1 to 8\.$/, "restore the sizes under"],
	[{ side: "input", ...types } as const, /^Input x/, "export the model with the old interface"],
])("a changed interface names what changed and what undoes it: %#", (row, says, undo) => {
	const [highlight] = highlights(withInterface(row));
	expect(highlight?.sentences.join(" ")).toMatch(says);
	expect(highlight?.fix).toContain(undo);
});

it("narrower sizes and the workload that they exclude are one changed interface", () => {
	const result = withInterface(narrower, { side: "workload", base: value("batch 8", "", "8"), head: null });
	const title = "det · fp16: the interface changed (2 differences)";
	expect(highlights(result).map((highlight) => highlight.title)).toEqual([title]);
	expect(inEveryFormat(result).markdown).toMatch(/\| workload \| .* \| no longer runs \|/);
});

const about = { model: "net", engine: "fp16", status: "warn" } as const;
const loosened: GateResult = {
	...{ ...about, gate: "limit-change", location: { path: "trtgate.yml", line: 11 } },
	message: "gates.latency.fail: 10 % → 400 %. It holds after the merge.",
};
const dropped: GateResult = {
	...about,
	gate: "coverage",
	engine: "int8",
	workload: "batch 8",
	message: "Gone.",
};
const silent = "The base reports peak memory (742 MiB); the head does not, so nothing was compared.";
const vanished: GateResult = { ...about, gate: "vanished", workload: "batch 1", message: silent };
const loose = buildResult({ gates: [buildGate(), loosened, dropped, vanished] });

it("every report lists looser rules with their place, and what is no longer checked", () => {
	const texts = inEveryFormat(loose);
	expectAll(texts, "Rules: 1 change to review", "gates.latency.fail: 10 % → 400 %", "trtgate.yml:11");
	expectAll(texts, "Coverage: 2 no longer checked", "peak memory (742 MiB)", "int8 · batch 8");
	expect(texts.terminal).toMatch(
		/\nSubject +in +gate\nnet · fp16 +trtgate\.yml:11 +warn\n {4}gates\.latency\.fail: 10 % → 400 %/,
	);
	expectNone(inEveryFormat(buildResult()), /Rules: |Coverage: |built differently/);
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

const figures: GraphFigures = {
	...{ nodes: 54, multiplyAdds: 3.2e9, unknownNodes: 0, parameters: 1e6, weightBytes: 4e6 },
	...{ activationBytes: 9e6, tensors: 60, unknownTensors: 0 },
};
const conv = { operator: "Conv", multiplyAdds: 1.23e6, weights: 6400, output: "[1, 64, 80, 80]" };
const larger = { ...conv, multiplyAdds: 9.31e6, weights: 596_224 };
const node: NodeCostChange = { node: "/neck/reduce/Conv", base: conv, head: larger };

const cost = (over: Partial<GraphCost> = {}): GraphCost => ({
	...{ model: "det", workloads: ["det/fp16/default"], shapes: { images: [1, 3, 640, 640] }, base: figures },
	...{ head: { ...figures, multiplyAdds: 4.1e9, unknownNodes: 3 }, changes: [node], changed: 1 },
	...over,
});
const costsOf = (...graphCosts: GraphCost[]) => inEveryFormat(buildResult({ graphCosts }));

it("a graph of more work is one folded line of a comment, and every report names the node", () => {
	const graphCosts = [cost(), cost({ shapes: { images: [8, 3, 640, 640] } })];
	expect(validate(buildResult({ graphCosts })), JSON.stringify(validate.errors)).toBe(true);
	const { markdown, html, terminal } = costsOf(...graphCosts);
	expect(shownLines(markdown).filter((line) => line.includes("multiply-adds"))).toEqual([
		expect.stringContaining("Graph work: 3.20 G → ≥ 4.10 G multiply-adds (+28.1 %)"),
	]);
	const text = "1.23 M → 9.31 M multiply-adds: weights 6,400 → 596,224";
	expect(markdown).toContain(`- \`/neck/reduce/Conv\` ${text}`);
	for (const shown of [html, terminal]) expect(shown).toContain(text);
	for (const shown of ["/neck/reduce/Conv", "multiply-adds of 3 of 54 nodes"]) expect(html).toContain(shown);
});

it("a comment counts changed models, with a row for each, however many sizes were timed", () => {
	const { markdown } = costsOf(...["a", "b", "a"].map((model) => cost({ model })));
	expect(markdown).toContain("Graph work: 2 models changed");
	expect(markdown.match(/^\| [ab], images 1×3×640×640 \|/gm)).toHaveLength(2);
	for (const model of ["a", "b"]) expect(markdown).toContain(`- ${model}: \`/neck/reduce/Conv\` 1.23 M`);
});

it("a graph that did not change, or without a base, appears only on the page", () => {
	const { markdown, html, terminal } = costsOf(cost({ head: figures, changes: [], changed: 0 }));
	for (const text of [markdown, terminal]) expect(text).not.toContain("multiply-adds");
	expect(html).toContain("<summary>Work by the graph</summary>");
	const alone = costsOf(cost({ base: null, changes: [], changed: 0 }));
	expect(alone.markdown).not.toContain("multiply-adds");
	expect(alone.html).toContain("≥ 4.10 G");
});

it("names from a model file cannot become markup", () => {
	const hostile = "<img src=x>|`@everyone`";
	const { markdown, html } = costsOf(cost({ model: hostile, changes: [{ ...node, node: hostile }] }));
	for (const text of [html, markdown]) expect(text).not.toMatch(/(?<!\\)<img/);
});

const quantised = { ...larger, operator: "QLinearConv", output: "[1, 64, 40, 40]", multiplyAdds: 2.33e6 };

it.each<[Partial<NodeCostChange>, string]>([
	[{ base: null }, "added: 9.31 M multiply-adds, 596,224 weights"],
	[{ head: null }, "removed: 1.23 M multiply-adds, 6,400 weights"],
	[{ base: { ...larger, multiplyAdds: null } }, "unknown → 9.31 M multiply-adds"],
	[
		{ base: larger, head: quantised },
		"9.31 M → 2.33 M multiply-adds: Conv → QLinearConv, output [1, 64, 80, 80] → [1, 64, 40, 40]",
	],
])("a changed node reads as what changed: %#", (over, text) => {
	expect(nodeChangeText({ ...node, ...over })).toBe(text);
});

it("the smallest change that a job can detect is never 0.0 %", () => {
	const shown = (detectable: number) =>
		inEveryFormat(buildResult({ workloads: [buildWorkload({ noise: { runCv: 0, detectable } })] }));
	for (const [detectable, says] of [
		[0.00003, "0.1 %"],
		[0.0062, "0.6 %"],
	] as const)
		for (const text of Object.values(shown(detectable)))
			expect(text.replace(/<[^>]+>/g, "").replace(/[|\s]+/g, " ")).toContain(
				`smallest detectable change ${says}`,
			);
});

it("a comment folds no empty section, tells the environment once, and has one row for each engine at load", () => {
	const environment = { gpu: "NVIDIA H200", tensorrt: "10.6.0", driverBranch: "580" };
	const precisionCoverage: NonNullable<BuildRecord["precisionCoverage"]> = {
		precision: "fp16",
		multiplyAdds: 1,
		time: 1,
		known: 1,
		outside: [],
		outsideCount: 0,
	};
	const figures = { meanMs: 1, p50Ms: 1, p99Ms: 4, p999Ms: 6 };
	const points = [0.5, 0.7, 0.8, 0.9].map((share) => ({
		...{ share, ratePerSecond: 1000 * share, base: figures, head: figures, lowMs: 3.9, highMs: 4.1 },
	}));
	const loads = [{ model: "det", engine: "fp16", workloads: ["default"], capacityPerSecond: 1000, points }];
	const { markdown, html } = inEveryFormat(
		buildResult({ environment, loads, builds: [buildBuild({ precisionCoverage })] }),
	);
	expect(markdown).not.toMatch(/<\/summary>\s*<\/details>/);
	expect(markdown.match(/580/g)).toHaveLength(1);
	expect(markdown.match(/\d+ % · \d+ \/ s/g)).toEqual(["80 % · 800 / s"]);
	for (const share of [50, 70, 80, 90]) expect(html).toContain(`${share} % · `);
});

it("an engine with pauses is compared with the same part's engine back to back", () => {
	const load = { model: "encoder", engine: "fp16", workloads: ["a"], capacityPerSecond: 1, points: [] };
	const rowOf = (part: string, medianMs: number, everyMs?: number) =>
		buildWorkload({ part, head: buildStats(medianMs), ...(everyMs && { everyMs }) });
	const workloads = [rowOf("h200", 1), rowOf("h200", 1.5, 33), rowOf("l4", 4), rowOf("l4", 4, 33)];
	const { terminal: _, ...texts } = inEveryFormat(buildResult({ workloads, loads: [load] }));
	expectAll(texts, "(h200) takes 1.5× of back to back", "(l4) takes 1× of back to back");
});

it("measured load says how requests were put together", () => {
	const side = { runs: 5, requests: 2500, serviceMs: 10, meanMs: 20, p50Ms: 15, p99Ms: 50, maxMs: 80 };
	const stats = { ...side, latenessMs: 0.01, p99: { lowMs: 48, highMs: 52 } };
	const loadOf = (maxBatch: number) => ({
		...{ model: "encoder", engine: "fp16", workloads: ["a", "b"], batches: [1, 8], arrivals: "poisson" },
		...{ maxBatch, maxDelayMs: 2, replaced: 0 },
		points: [{ share: 0.8, ratePerSecond: 80, base: null, head: stats, comparison: buildComparison() }],
	});
	const textOf = (maxBatch: number) => inEveryFormat(buildResult({ measuredLoads: [loadOf(maxBatch)] }));
	// The terminal has no room for the column.
	const { terminal: _, ...texts } = textOf(4);
	expectAll(texts, "poisson, up to 4 at once, delayed by up to 2.000 ms");
	expectNone(textOf(1), /at once|delayed/);
});

it.each([
	[1.5, 20, 2],
	[500, 20, 1],
	[1.5, 1e6, 1],
	[500, 1e6, 0],
])(
	"the picture of P99 draws an slo of %d ms at %d / s where it is inside: lines: %d",
	(p99Ms, rate, lines) => {
		const gates = { slo: { p99Ms, ratePerSecond: rate } };
		const loads = loadsOf([buildWorkload()], () => ({ gates, dims: {} }));
		const { html } = inEveryFormat(buildResult({ loads }));
		const picture = html.split("<svg").find((one) => one.includes("P99 against")) ?? "";
		expect(picture.match(/class="gate"/g) ?? []).toHaveLength(lines);
		expect(picture).toContain(p99Ms === 1.5 ? "1.000 ms" : "800.0 µs");
	},
);

it("what is computed names the batcher that it is computed for", () => {
	const rows = [1, 8].map((batch) =>
		buildWorkload({ workload: `batch ${batch}`, shapes: { x: [batch, 3] } }),
	);
	const loads = loadsOf(rows, () => undefined, { maxDelayMs: 2 });
	const said = "Batchers take requests up to 8 at once, delayed by up to 2.000 ms.";
	// The terminal breaks the line.
	const { terminal: _, ...texts } = inEveryFormat(buildResult({ loads }));
	expectAll(texts, said);
	expectNone(inEveryFormat(buildResult({ loads: loads.slice(0, 2) })), /Batchers/);
});
