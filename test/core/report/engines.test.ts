import fc from "fast-check";
import { expect, it } from "vitest";
import type { EngineDiff, WorkloadResult } from "../../../generated/result.ts";
import { renderComment } from "../../../src/core/report/comment.ts";
import { renderDiffs } from "../../../src/core/report/engine-page.ts";
import { explanationSentences, layerUnit } from "../../../src/core/report/engine-text.ts";
import { layoutGraph } from "../../../src/core/report/html/engine-graph.ts";
import { renderHtml } from "../../../src/core/report/html/report.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import { anyText } from "../../support/any-text.ts";
import { buildKernels, buildLayers } from "../../support/build-layers.ts";
import { buildBuild, buildGate, buildResult, buildSlowWorkload } from "../../support/build-result.ts";
import { diffOf, recordedArm } from "../../support/recorded-engines.ts";
import { shownLines } from "../../support/shown-lines.ts";
import { transformerPair } from "../../support/transformer-engines.ts";

const explained = (comparison: string, measuredMs: number) =>
	diffOf(recordedArm(comparison, "base"), recordedArm(comparison, "head"), {
		enginesMs: { base: 0.0279, head: 0.0279 + measuredMs },
	});
const slower = explained("slower-head", 0.00113);

it("an explanation states causes, their share of the change, and what did not change", () => {
	expect(explanationSentences(slower)).toEqual([
		"Why: +0.89 ± 0.34 µs: `block1 + block1.relu` – weights changed: 4,608 → 18,432 values.",
		"+0.55 ± 0.47 µs: `stem + stem.relu` – weights changed: 432 → 1,728 values; shape changed: 8×16×32×32 → 8×64×32×32.",
		"+0.20 ± 0.16 µs: `pool1` – shape changed: 8×16×16×16 → 8×64×16×16.",
		"Unchanged: 7 of 10 node groups (−0.33 ± 0.63 µs).",
		"Explains +1.65 ± 1.50 of +1.13 µs of the timed runs; −0.52 µs unexplained; no other node group changed by more than 0.13 µs. With one profile each, ± is estimated from what did not change.",
	]);
});

it("an explanation claims nothing below the noise, and names causes outside the layers", () => {
	const says = "the GPU ran at 1980 MHz and 1755 MHz";
	const machine = [{ kind: "clocks" as const, says, evidence: ["in its cycles +0.1 %"] }];
	expect(explanationSentences({ ...explained("same-model", 0.0001), machine })).toEqual([
		"Why: No difference in structure; the same kernels.",
		"Unchanged: 17 of 17 node groups (−0.20 ± 0.78 µs).",
		"No layer explains +0.10 µs of the timed runs: all changes are within the noise. A layer that only takes longer shows in three profiles of each side.",
		`Outside the layers: ${says} (in its cycles +0.1 %).`,
	]);
});

it("a comment explains one cause in 96 blocks and names the next command in ten lines", () => {
	const { base, head } = transformerPair(96);
	const explanation = diffOf(base, head, { gpu: "NVIDIA H200", enginesMs: { base: 3, head: 3.7 } });
	const workloads = [buildSlowWorkload({ explanation })];
	const gates = [buildGate({ model: "classifier", workload: "batch 8", status: "fail", message: "slower" })];
	const result = buildResult({ outcome: "fail", workloads, gates });
	const text = renderComment(result, { id: "one", runId: 12, attempt: 1, sha: "d4e5f6a" }, {});
	const lines = shownLines(text);
	expect(lines.length).toBeLessThanOrEqual(6);
	expect(lines[0]).toContain(" is 4.2 % slower (27.91 µs → 29.02 µs): fp16 → fp32 in 96 node groups · ");
	const cause =
		/^- \+[\d.]+ ± [\d.]+ ms: `block\.\d+\/softmax` \(total; the same in 96 of 96\) – fp16 → fp32; 2 more ref/;
	expect(lines.filter((line) => line.startsWith("- "))).toEqual([expect.stringMatching(cause)]);
	for (const shown of ["Unchanged: 480 of 576 node groups", "Next: `trtgate explain result.json`"])
		expect(lines.join("\n")).toContain(shown);
});

it.each([
	[0.9, 0.00663, "6.63", "+6.63"],
	[2, 0.2143, "0.214", "+0.214"],
	[2, -0.00001, "0.000", "0.000"],
	[0.5, -0.0005, "−0.50", "−0.50"],
])("layerUnit fits the slowest layer of %f ms: %f is %s", (longest, ms, text, change) => {
	const unit = layerUnit(longest);
	expect([unit.format(ms), unit.formatChange(ms)]).toEqual([text, change]);
});

it("a build from the cache is marked, as its time cannot be compared", () => {
	const result = buildResult({ builds: [buildBuild({ arm: "base", fromCache: true }), buildBuild()] });
	const note = "Build times are not comparable: the base&#39;s engine comes from the engine cache";
	expect(renderHtml(result)).toContain(note);
	expect(renderMarkdown(result)).toContain("(cached)");
});

const hostile = "<img src=x onerror=alert(1)>`**@a";
const page = (over: Partial<WorkloadResult>) =>
	renderHtml(buildResult({ workloads: [buildSlowWorkload(over)] }));
const base = buildLayers({ stem: 0.01, [hostile]: 0.02 });
const times = { stem: 0.02, [hostile]: 0.03, fresh: 0.001 };
const head = buildLayers(times, { stem: { type: "CaskConvolution" } });

it("the page explains a slower row, and folds all layers of each side, or of one by time", () => {
	const html = page({ layers: { base, head } });
	const titles = ["<h3>Where the time went</h3>", "All 3 layers of the head", "All 2 layers of the base"];
	const texts = ['<td class="wrap">new: 1 kernel', "not used by any gate", "CaskConvolution"];
	for (const shown of [...titles, ...texts]) expect(html).toContain(shown);
	expect(html).not.toContain("<img");
	const alone = page({ layers: { base: null, head } });
	expect(alone).toMatch(/all layers of [^"]*, head.*<code>&lt;img.*<code>stem<.*<code>fresh</s);
	expect(alone).not.toContain("change, µs");
});

it("the page shows thirty kernels of both sides, folded", () => {
	const kernels = (first: number) =>
		buildKernels(Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`kernel<${at}>`, first + at])));
	const html = page({ kernels: { base: kernels(1), head: kernels(2) } });
	for (const shown of ["Kernels by time, from Nsight Systems", "kernel&lt;39&gt;", "… and 10 more kernels"])
		expect(html).toContain(shown);
	expect(html).not.toContain("kernel&lt;5&gt;");
});

it("a comment names layers as code", () => {
	const rows = slower.rows.slice(0, 1).map((row) => ({ ...row, label: hostile }));
	const workloads = [buildSlowWorkload({ explanation: { ...slower, rows } })];
	const text = renderMarkdown(buildResult({ outcome: "warn", workloads }));
	expect(text).toMatch(/- \+0\.89 ± 0\.34 µs: <code>.* weights changed: 4,608 → 18,432 values/);
	expect(text).not.toContain("<img");
});

it("the page holds whatever a file says of layers", () => {
	const number = fc.double({ min: 0, noNaN: true, max: 1e300 });
	const texts = { name: anyText(), type: fc.string(), precision: fc.string() };
	const layer = fc.record({ ...texts, meanMs: number, share: number });
	const layers = fc.array(layer, { maxLength: 5 });
	const arm = fc.record({ iterations: fc.nat(), count: fc.nat(), totalMs: number, layers });
	fc.assert(
		fc.property(arm, fc.option(arm), (ofHead, ofBase) => {
			const html = page({ layers: { base: ofBase, head: ofHead } });
			expect(html).not.toMatch(/(?<!is)NaN|undefined|\[object/);
		}),
		{ numRuns: 60 },
	);
});

it("layoutGraph puts readers below what they read, and no two nodes at one place", () => {
	const graph = fc.integer({ min: 1, max: 40 }).chain((size) => {
		const node = fc.nat(size - 1);
		return fc.record({ size: fc.constant(size), edges: fc.array(fc.tuple(node, node), { maxLength: 80 }) });
	});
	fc.assert(
		fc.property(graph, ({ size, edges }) => {
			const { places, columns, layers } = layoutGraph(size, edges);
			for (const [from, to] of edges.filter(([one, other]) => one < other))
				expect(places[to]!.y).toBeGreaterThan(places[from]!.y);
			for (const [at, { x, y }] of places.entries()) {
				expect(x).toBeGreaterThanOrEqual(0);
				expect(Math.max(x + 1 - columns, y + 1 - layers)).toBeLessThan(1e-6);
				const beside = places.slice(at + 1).filter((other) => other.y === y);
				expect(beside.every((other) => Math.abs(other.x - x) > 0.999)).toBe(true);
			}
		}),
	);
});

const drawn = (diff: EngineDiff) => renderDiffs([{ title: "net", diff }], "html", "");
const count = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].length;

it("the graph shows both engines at the same places, and folds what did not change", () => {
	const pair = transformerPair(12);
	const { info } = pair.base;
	const near = { ...info, layers: info.layers.filter(({ name }) => !name.startsWith("block.3/")) };
	const graph = drawn(diffOf({ info, profiles: [] }, { info: near, profiles: [] }));
	expect(graph).toContain("17 unchanged");
	expect(count(graph, /class="ghost"/g)).toBe(6);
	const nodes = (arm: string) =>
		[...graph.slice(graph.indexOf(`graph of the ${arm}`)).matchAll(/<rect x="([\d.]+)" y="([\d.]+)"/g)]
			.slice(0, 2)
			.map(String);
	expect(nodes("base")).toEqual(nodes("head"));
	expect(count(drawn(diffOf(pair.base, pair.head)), /class="node bad"/g)).toBeGreaterThan(0);
});

it("no graph is drawn without a change, but one without edges and times is", () => {
	const same = recordedArm("same-model", "base");
	const diff = diffOf(same, same);
	expect(diff.graph).toBeUndefined();
	expect(drawn(diff)).not.toContain('class="panes"');
	const group = { label: "<u>", base: { ms: null, kernels: 1 }, head: null, isChanged: true };
	const edges: [number, number, number][] = [
		[0, 9, 3],
		[1, 0, 3],
	];
	const body = drawn({ ...diff, graph: { groups: [group, group], edges } }).replace(/<script>.*/s, "");
	expect(body).toContain('class="panes"');
	expect(body).not.toMatch(/NaN|<u>/);
});

it("the graph's boxes hold their text: what does not fit is in the title", () => {
	const same = recordedArm("same-model", "base");
	const side = { ms: 38.83, kernels: 154, precision: "fp32" };
	const groups = [true, false].map((isChanged) => ({ label: "stem", base: side, head: side, isChanged }));
	const diff = { ...diffOf(same, same), graph: { groups, edges: [] }, unit: "M instructions" as const };
	const body = renderDiffs([{ title: "net", diff }], "html", "").replace(/<script>.*/s, "");
	expect(body).toContain("154 kernels</title>");
	const texts = [...body.matchAll(/<text class="tick"[^>]*>([^<]*)<\/text><\/g>/g)].map(
		([, text]) => text ?? "",
	);
	expect(texts.length).toBeGreaterThan(0);
	for (const text of texts) expect(text.length, text).toBeLessThanOrEqual(28);
});
