// What reports say of layers: why a workload became slower, in one unit, without a claim that the layers do not bear.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainPhrase } from "../../../src/core/report/highlight.ts";
import { renderHtml } from "../../../src/core/report/html/report.ts";
import { layerUnit, whyPhrases } from "../../../src/core/report/layer-format.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import type { WorkloadLayers, WorkloadResult } from "../../../src/core/schema/result.ts";
import { buildKernels, buildLayers } from "../../support/build-layers.ts";
import { buildBuild, buildComparison, buildResult, buildSlowWorkload, buildWorkload } from "../../support/build-result.ts";

function why(layers: WorkloadLayers, estimate = 0.1): string {
	const latency = buildComparison({ verdict: estimate > 0 ? "regressed" : "improved", estimate });
	return whyPhrases({ layers, latency }).map(plainPhrase).join(" ");
}

describe("whyPhrases", () => {
	it("names the layers that took the time, largest first", () => {
		const base = buildLayers({ stem: 0.01, block: 0.02, head: 0.03, pool: 0.005 });
		const head = buildLayers({ stem: 0.011, block: 0.026, head: 0.03, pool: 0.004 }, { block: { tactic: "b" } });
		expect(why({ base, head })).toBe(
			"Why: block +6.00 µs, stem +1.00 µs (65.00 → 71.00 µs for all layers, timed in a slower run of their own).",
		);
	});

	it("names new and gone layers, precisions that were left, reformats, and other kernels", () => {
		const fp16 = { precision: "fp16", tactic: "one" };
		const base = buildLayers({ a: 1, b: 1, old: 0.25 }, { a: fp16, b: fp16 });
		const head = buildLayers(
			{ a: 1.5, b: 1.5, cast: 0.2, fresh: 0.5, nothing: 0 },
			{ a: { precision: "fp32", tactic: "two" }, b: { precision: "fp32", tactic: "one" }, cast: { reformat: true } },
		);
		expect(why({ base, head })).toBe(
			"Why: a +0.500 ms (fp16 → fp32, another kernel), b +0.500 ms (fp16 → fp32), fresh +0.500 ms (new) " +
				"(2.250 → 3.700 ms for all layers, timed in a slower run of their own). New: fresh 0.500 ms, cast 0.200 ms. Gone: old 0.250 ms. " +
				"2 layers went from fp16 to fp32: a, b. 1 reformat added.",
		);
	});

	it("reports that the layers' own times do not show the change", () => {
		const layers = { base: buildLayers({ a: 0.01 }), head: buildLayers({ a: 0.00999 }) };
		expect(why(layers)).toBe("The layers, timed in a slower run of their own, do not show it: 10.00 → 9.99 µs for all of them.");
	});

	it("reports that no layer stands out", () => {
		const times = (ms: number) => Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`l${index}`, ms]));
		expect(why({ base: buildLayers(times(0.01)), head: buildLayers(times(0.011)) })).toMatch(/^Why: no single layer; many moved a little/);
	});

	it("explains what became faster as well", () => {
		expect(why({ base: buildLayers({ a: 2, b: 1 }), head: buildLayers({ a: 1.5, b: 1.1 }) }, -0.1)).toMatch(
			/^Why: a −0.500 ms \(3.000 → 2.600/,
		);
	});

	it("speaks of no new layers where the list was cut", () => {
		const base = { ...buildLayers({ a: 1 }), count: 5000 };
		expect(why({ base, head: buildLayers({ a: 1, b: 1 }) })).not.toContain("New:");
	});

	it.each([
		["no layers", undefined],
		["one arm alone", { base: null, head: buildLayers({ a: 1 }) }],
	])("has nothing to say of %s", (_, layers) => {
		const latency = buildComparison({ verdict: "regressed", estimate: 0.1 });
		expect(whyPhrases({ latency, ...(layers === undefined ? {} : { layers }) })).toEqual([]);
	});
});

describe("layerUnit", () => {
	it.each([
		[0.9, 0.00663, "6.63", "+6.63"],
		[2, 0.2143, "0.214", "+0.214"],
		[2, -0.00001, "0.000", "0.000"],
		[0.5, -0.0005, "−0.50", "−0.50"],
		[0.5, 0.000001, "0.00", "0.00"],
	])("fits the slowest layer of %f ms: %f is %s", (longest, ms, text, change) => {
		const unit = layerUnit(longest);
		expect(unit.format(ms)).toBe(text);
		expect(unit.formatChange(ms)).toBe(change);
	});
});

const hostile = "<img src=x onerror=alert(1)>`**@a";

function page(workload: Partial<WorkloadResult>): string {
	return renderHtml(buildResult({ workloads: [buildSlowWorkload(workload), buildWorkload()] }));
}

describe("reports with engines from the cache", () => {
	it("report that their build times are not comparable", () => {
		const builds = [buildBuild({ arm: "base", fromCache: true }), buildBuild()];
		expect(renderHtml(buildResult({ builds }))).toContain(
			"Build times are not comparable: the base&#39;s engine comes from the engine cache",
		);
		expect(renderMarkdown(buildResult({ builds }))).toContain("(cached)");
	});
});

describe("reports with layers", () => {
	const layers = {
		base: buildLayers({ stem: 0.01, [hostile]: 0.02 }),
		head: buildLayers({ stem: 0.02, [hostile]: 0.03, fresh: 0.001 }, { stem: { type: "CaskConvolution", precision: "fp16" } }),
	};

	it("show the layers of a row that is not green as bars, and all of them folded", () => {
		const html = page({ layers });
		expect(html).toContain("<h3>Where the time went</h3>");
		expect(html.match(/class="pairbars"/g)).toHaveLength(3);
		expect(html).toContain("All 3 layers");
		expect(html).toContain("not used by any gate");
		expect(html).toContain("CaskConvolution");
		expect(html).not.toContain("<img");
	});

	it("fold the layers of an unchanged row whole", () => {
		const html = renderHtml(buildResult({ workloads: [buildWorkload({ layers })] }));
		expect(html).not.toContain("<h3>Where the time went</h3>");
		expect(html).toContain("Where the time went, layer by layer");
	});

	it("show one arm alone by its slowest layers", () => {
		const html = page({ layers: { base: null, head: layers.head } });
		expect(html).toContain("Slowest layers");
		expect(html).not.toContain("change, µs");
	});

	it("show thirty kernels of both arms, folded", () => {
		const times = (first: number) => Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`kernel<${index}>`, first + index]));
		const html = page({ kernels: { base: buildKernels(times(1)), head: buildKernels(times(2)) } });
		expect(html).toContain("Kernels by time, from Nsight Systems");
		expect(html).toContain("kernel&lt;39&gt;");
		expect(html).not.toContain("kernel&lt;5&gt;");
		expect(html).toContain("… and 10 more kernels");
	});

	it("explain why in the comment, with names as code", () => {
		const text = renderMarkdown(buildResult({ outcome: "warn", workloads: [buildSlowWorkload({ layers })] }));
		expect(text).toContain("Why: `stem` +10.00 µs");
		expect(text).not.toContain("<img");
	});

	it("hold whatever a file says of layers", () => {
		const number = fc.double({ min: 0, noNaN: true, max: 1e300 });
		const layer = fc.record({
			name: fc.string({ unit: "binary" }),
			meanMs: number,
			share: number,
			type: fc.string(),
			precision: fc.string(),
		});
		const arm = fc.record({ iterations: fc.nat(), count: fc.nat(), totalMs: number, layers: fc.array(layer, { maxLength: 5 }) });
		fc.assert(
			fc.property(arm, fc.option(arm), (head, base) => {
				expect(page({ layers: { base, head } })).not.toMatch(/(?<!is)NaN|undefined|\[object/);
			}),
			{ numRuns: 60 },
		);
	});
});
