// Reports on layers: why a workload became slower, in one unit, without claims that the layers do not support.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WorkloadResult } from "../../../generated/result.ts";
import { renderComment } from "../../../src/core/report/comment.ts";
import { explanationSentences, layerUnit } from "../../../src/core/report/engine-text.ts";
import { renderHtml } from "../../../src/core/report/html/report.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import { anyText } from "../../support/any-text.ts";
import { buildKernels, buildLayers } from "../../support/build-layers.ts";
import {
	buildBuild,
	buildGate,
	buildResult,
	buildSlowWorkload,
	buildWorkload,
} from "../../support/build-result.ts";
import { diffOf, recordedArm } from "../../support/recorded-engines.ts";
import { transformerPair } from "../../support/transformer-engines.ts";

const explained = (comparison: string, measuredMs: number) =>
	diffOf(recordedArm(comparison, "base"), recordedArm(comparison, "head"), {
		enginesMs: { base: 0.0279, head: 0.0279 + measuredMs },
	});

it("an explanation states the cause, how much of the change it explains, and what did not change", () => {
	expect(explanationSentences(explained("slower-head", 0.00113))).toEqual([
		"Why: +0.89 ± 0.34 µs: `block1 + block1.relu` – weights changed: 4,608 → 18,432 values.",
		"+0.55 ± 0.47 µs: `stem + stem.relu` – weights changed: 432 → 1,728 values; shape changed: 8×16×32×32 → 8×64×32×32.",
		"+0.20 ± 0.16 µs: `pool1` – shape changed: 8×16×16×16 → 8×64×16×16.",
		"Unchanged: 7 of 10 node groups (−0.33 ± 0.63 µs).",
		"Explains +1.65 ± 1.50 of +1.13 µs of the timed runs; −0.52 µs is unexplained; no other node group changed by more than 0.13 µs. With one profile each, ± is estimated from what did not change.",
	]);
});

it("an explanation claims nothing below the noise, and names causes outside the layers", () => {
	const says = "the GPU ran at 1980 MHz and 1755 MHz";
	const machine = [{ kind: "clocks" as const, says, evidence: ["in its cycles +0.1 %"] }];
	expect(explanationSentences({ ...explained("same-model", 0.0001), machine })).toEqual([
		"Why: No difference in structure; the same kernels.",
		"Unchanged: 17 of 17 node groups (−0.20 ± 0.78 µs).",
		"No layer explains +0.10 µs of the timed runs: all changes are within the noise.",
		`Outside the layers: ${says} (in its cycles +0.1 %).`,
	]);
});

it("a comment on 96 blocks of a transformer with one cause explains it and names the next command in ten lines", () => {
	const { base, head } = transformerPair(96);
	const explanation = diffOf(base, head, { gpu: "NVIDIA H200", enginesMs: { base: 3, head: 3.7 } });
	const workload = buildSlowWorkload({ explanation });
	const gate = buildGate({ ...workload, gate: "latency", status: "fail", message: "slower" });
	const result = buildResult({ outcome: "fail", workloads: [workload], gates: [gate] });
	const text = renderComment(result, { id: "one", runId: 12, attempt: 1, sha: "d4e5f6a" }, {});
	const lines = text.slice(text.indexOf("❌ **"), text.indexOf("\n| workload")).split("\n");
	expect(lines.length).toBeLessThanOrEqual(10);
	const [cause, ...others] = lines.filter((line) => line.startsWith("- "));
	expect(cause).toMatch(
		/^- \+[\d.]+ ± [\d.]+ ms: `block\.\d+\/softmax` \(total; the same in 96 of 96\) – fp16 → fp32; 2 more ref/,
	);
	expect(others).toEqual([]);
	for (const shown of ["Unchanged: 480 of 576 node groups", "**Next:** `trtgate explain result.json`"])
		expect(lines.join("\n")).toContain(shown);
});

it.each([
	[0.9, 0.00663, "6.63", "+6.63"],
	[2, 0.2143, "0.214", "+0.214"],
	[2, -0.00001, "0.000", "0.000"],
	[0.5, -0.0005, "−0.50", "−0.50"],
	[0.5, 0.000001, "0.00", "0.00"],
])("layerUnit fits the slowest layer of %f ms: %f is %s", (longest, ms, text, change) => {
	const unit = layerUnit(longest);
	expect([unit.format(ms), unit.formatChange(ms)]).toEqual([text, change]);
});

it("a build from the cache is marked, as its time cannot be compared", () => {
	const result = buildResult({ builds: [buildBuild({ arm: "base", fromCache: true }), buildBuild()] });
	expect(renderHtml(result)).toContain(
		"Build times are not comparable: the base&#39;s engine comes from the engine cache",
	);
	expect(renderMarkdown(result)).toContain("(cached)");
});

describe("the evidence of a workload", () => {
	const hostile = "<img src=x onerror=alert(1)>`**@a";
	const page = (workload: Partial<WorkloadResult>) =>
		renderHtml(buildResult({ workloads: [buildSlowWorkload(workload), buildWorkload()] }));
	const layers = {
		base: buildLayers({ stem: 0.01, [hostile]: 0.02 }),
		head: buildLayers({ stem: 0.02, [hostile]: 0.03, fresh: 0.001 }, { stem: { type: "CaskConvolution" } }),
	};

	it("explains a row that is not green, and folds all layers of each side", () => {
		const html = page({ layers });
		const titles = ["<h3>Where the time went</h3>", "All 3 layers of the head", "All 2 layers of the base"];
		for (const shown of [
			...titles,
			'<td class="wrap">new: 1 kernel',
			"not used by any gate",
			"CaskConvolution",
		])
			expect(html).toContain(shown);
		expect(html).not.toContain("<img");
	});

	it("shows the layers of one side alone, slowest first", () => {
		const html = page({ layers: { base: null, head: layers.head } });
		expect(html).toMatch(/all layers of [^"]*, head.*<code>&lt;img.*<code>stem<.*<code>fresh</s);
		expect(html).not.toContain("change, µs");
	});

	it("shows thirty kernels of both sides, folded", () => {
		const times = (first: number) =>
			Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`kernel<${index}>`, first + index]));
		const html = page({ kernels: { base: buildKernels(times(1)), head: buildKernels(times(2)) } });
		for (const shown of ["Kernels by time, from Nsight Systems", "kernel&lt;39&gt;", "… and 10 more kernels"])
			expect(html).toContain(shown);
		expect(html).not.toContain("kernel&lt;5&gt;");
	});

	it("names layers in a comment as code", () => {
		const explanation = explained("slower-head", 0.00113);
		const rows = explanation.rows.slice(0, 1).map((row) => ({ ...row, label: hostile }));
		const workloads = [buildSlowWorkload({ explanation: { ...explanation, rows } })];
		const text = renderMarkdown(buildResult({ outcome: "warn", workloads }));
		expect(text).toMatch(/- \+0\.89 ± 0\.34 µs: <code>.* weights changed: 4,608 → 18,432 values/);
		expect(text).not.toContain("<img");
	});

	it("holds whatever a file says of layers", () => {
		const number = fc.double({ min: 0, noNaN: true, max: 1e300 });
		const layer = fc.record({
			...{ name: anyText(), type: fc.string(), precision: fc.string() },
			...{ meanMs: number, share: number },
		});
		const arm = fc.record({
			...{ iterations: fc.nat(), count: fc.nat(), totalMs: number },
			layers: fc.array(layer, { maxLength: 5 }),
		});
		fc.assert(
			fc.property(arm, fc.option(arm), (head, base) => {
				expect(page({ layers: { base, head } })).not.toMatch(/(?<!is)NaN|undefined|\[object/);
			}),
			{ numRuns: 60 },
		);
	});
});
