// The page: well-formed, self-contained, accessible, and nothing of a user's in it but text.
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { renderHtml } from "../../../../src/core/report/html/report.ts";
import { palettes, sortScript, sortScriptHash } from "../../../../src/core/report/html/style.ts";
import { buildGolden, buildResult, buildSlowWorkload, buildWorkload } from "../../../support/build-result.ts";
import { buildDrawnCheck } from "../../../support/error-pictures.ts";
import { type Element, readMarkup } from "../../../support/read-markup.ts";
import { resultCases } from "../../../support/result-cases.ts";

const drawn = buildResult({
	outcome: "fail",
	golden: ["case0", "case1"].map((name) =>
		buildGolden({ case: name, state: "mismatch", checks: [buildDrawnCheck()] }),
	),
});
const pages = Object.entries({ ...resultCases, "golden-pictures": drawn }).map(([name, result]) => {
	const text = renderHtml(result);
	return { name, result, text, elements: readMarkup(text, "html") };
});
const page = (name: string) => pages.find((found) => found.name === name)?.text ?? "";

function named(elements: readonly Element[], ...names: string[]): Element[] {
	return elements.filter((element) => names.includes(element.name));
}

describe.each(pages)("the page of $name", ({ text, elements }) => {
	it("the page is one page with one h1 and headings in order", () => {
		const levels = named(elements, "h1", "h2", "h3", "h4").map((element) => Number(element.name.slice(1)));
		expect(levels.filter((level) => level === 1)).toHaveLength(1);
		expect(levels[0]).toBe(1);
		for (const [index, level] of levels.entries())
			expect(level - (levels[index - 1] ?? 0)).toBeLessThanOrEqual(1);
	});

	it("the page has landmarks, a language, and a name for every region, drawing and heading that is pointed to", () => {
		for (const name of ["header", "main", "footer"]) expect(named(elements, name)).toHaveLength(1);
		expect(named(elements, "html")[0]?.attributes.get("lang")).toBe("en");
		for (const { attributes } of elements.filter((element) => element.attributes.get("role") === "region"))
			expect(attributes.get("aria-label")).toBeTruthy();
		for (const { attributes } of named(elements, "svg")) {
			expect(
				attributes.get("aria-hidden") === "true" ||
					(attributes.get("role") === "img" && attributes.get("aria-label")),
			).toBeTruthy();
		}
		const ids = elements.flatMap((element) => element.attributes.get("id") ?? []);
		expect(new Set(ids).size).toBe(ids.length);
		for (const { attributes } of elements) {
			const target =
				attributes.get("aria-labelledby") ??
				(attributes.get("href")?.startsWith("#") ? attributes.get("href")?.slice(1) : undefined);
			if (target !== undefined) expect(ids).toContain(target);
		}
	});

	it("the page loads nothing and links only to files beside it", () => {
		expect(named(elements, "link", "img", "iframe", "object", "base", "form")).toEqual([]);
		const wrong = elements.flatMap(({ attributes }) =>
			[...attributes].filter(([name, value]) => {
				if (name === "href") return !/^(#[\w-]+|\.\/(?!.*\.\.\/)[^:\\]*)$/.test(value);
				return /^(on.*|src|srcdoc|action|xlink:href|style)$/.test(name);
			}),
		);
		expect(wrong).toEqual([]);
		expect(
			/https?:\/\/|url\(|@import/.exec(text.replace(/>[^<]*/g, ">").replace(/="[^"]*"/g, "")),
		).toBeNull();
	});

	it("the page runs its one script and no other", () => {
		expect(named(elements, "script")).toHaveLength(1);
		expect(text.includes(`<script>${sortScript}</script>`)).toBe(true);
		const policy = elements
			.find((element) => element.attributes.get("http-equiv") === "Content-Security-Policy")
			?.attributes.get("content");
		expect(policy).toContain(`script-src &#39;${sortScriptHash}&#39;`);
		expect(policy).toContain("default-src &#39;none&#39;");
	});

	it("sorts by buttons that wait for the script", () => {
		for (const button of named(elements, "button")) {
			expect(button.path.at(-1)).toBe("th");
			expect(button.attributes.has("disabled")).toBe(true);
		}
		for (const table of named(elements, "table")) expect(table.path.at(-1)).toBe("div");
	});

	it("the page draws no coordinate that is not a number", () => {
		const names = ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "points", "d"];
		const wrong = elements.flatMap(({ attributes }) =>
			names
				.flatMap((name) => attributes.get(name) ?? [])
				.filter((value) => !/^[-\d.,\sMlmhvz]+$/.test(value)),
		);
		expect(wrong).toEqual([]);
	});
});

it("the page knows the hash of its script", () => {
	expect(`sha256-${createHash("sha256").update(sortScript).digest("base64")}`).toBe(sortScriptHash);
});

it("the page never shows an inconclusive verdict in green", () => {
	expect(page("inconclusive")).toContain('<span class="pill open">inconclusive</span>');
	expect(page("inconclusive")).not.toMatch(/pill ok">inconclusive|class="(dot|ci) ok"/);
});

it("the page marks a partial result at the top", () => {
	expect(page("partial").indexOf("Partial result: the run ended in measure")).toBeLessThan(
		page("partial").indexOf("<h2"),
	);
});

it("the page states a CPU's caveat in the headline and over the table, not in every row", () => {
	const html = page("on-cpu");
	const headings = html.match(/<h[12][^>]*>[^<]*(<[^/][^>]*>[^<]*)*CPU, not TensorRT/g) ?? [];
	expect(headings.length).toBeGreaterThan(0);
	expect(html).toMatch(/<h2[^>]*>Workloads \(CPU, not TensorRT\)<\/h2>/);
	expect(html).not.toContain("<small>(CPU, not TensorRT");
});

it("the page draws zone, zero, gate, interval and dot of a row", () => {
	const label = 'aria-label="change +4.2 %, 99 % interval +3.7 % … +4.6 %"';
	const forest = page("mismatch-and-slowdown")
		.split("<svg ")
		.find((svg) => svg.includes(label));
	for (const part of ["zone", "zero", "gate", "ci warn", "dot warn"])
		expect(forest).toContain(`class="${part}"`);
});

it("the page shows the GPU's figures on both sides, and no name that means something else", () => {
	const text = page("on-watched-gpu");
	const row = (name: string, value: string) => `<th scope="row">${name}</th><td class="n">${value}</td>`;
	expect(text).toContain(row("GPU memory of the run&#39;s own process", "731 MiB"));
	for (const name of [
		"SM clock",
		"SM utilisation",
		"memory bandwidth",
		"time with a kernel running",
		"clocks limited by",
	])
		expect(text).toContain(`<th scope="row">${name}</th>`);
	expect(text).toContain(`${row("change in GPU cycles", "")}<td class="n"></td><td class="n">+2.6 %</td>`);
});

it("the page survives shapes that no run of ours makes", () => {
	const result = resultCases["mismatch-and-slowdown"] ?? buildResult();
	const workloads = result.workloads.map((workload) => ({
		...workload,
		runs: workload.runs.map((run) => ({ ...run, pair: 0, medianMs: 0 })),
		latency: { ...workload.latency, interval: [-1e308, 1e308] as [number, number] },
	}));
	expect(() => readMarkup(renderHtml({ ...result, workloads }), "html")).not.toThrow();
});

it("the page of many workloads folds the rows that are unchanged, and all evidence but the first eight", () => {
	const row = (at: number, make: typeof buildWorkload) =>
		make({ model: `net-${at}`, engine: "fp16", workload: "batch 1" });
	const workloads = Array.from({ length: 60 }, (_, at) =>
		row(at, at < 20 ? buildSlowWorkload : buildWorkload),
	);
	const all = readMarkup(renderHtml(buildResult({ workloads })), "html");
	const links = all.filter(({ attributes }) => /^#workload-\d+$/.test(attributes.get("href") ?? ""));
	expect(
		[true, false].map((folded) => links.filter(({ path }) => path.includes("details") === folded).length),
	).toEqual([40, 20]);
	expect(all.filter(({ attributes }) => attributes.has("open"))).toHaveLength(8);
});

/** WCAG 2.2 contrast of two sRGB colours. */
function contrast(a: string, b: string): number {
	const luminance = (hex: string) => {
		const [red = 0, green = 0, blue = 0] = [1, 3, 5]
			.map((start) => Number.parseInt(hex.slice(start, start + 2), 16) / 255)
			.map((share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4));
		return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
	};
	const [light = 0, dark = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
	return (light + 0.05) / (dark + 0.05);
}

describe.each(Object.entries(palettes))("the %s palette", (_, palette) => {
	it.each([
		["fg", "bg"],
		["fg", "card"],
		["fg", "warnbg"],
		["mut", "bg"],
		["mut", "card"],
		["bad", "badbg"],
		["warn", "warnbg"],
		["ok", "okbg"],
		["open", "openbg"],
		["a1", "bg"],
	] as const)("the page shows %s on %s with a contrast of 4.5 or more", (text, ground) => {
		expect(contrast(palette[text]!, palette[ground]!)).toBeGreaterThanOrEqual(4.5);
	});

	it("the page shows another result first where one opens the page", () => {
		const recorded = buildResult({ outcome: "warn", notes: ["Recorded earlier."] });
		const all = renderHtml(buildResult({ outcome: "pass", notes: ["Live."] }), undefined, [recorded]);
		expect(all.indexOf("Recorded earlier.")).toBeGreaterThan(0);
		expect(all.indexOf("Live.")).toBeGreaterThan(all.indexOf("Recorded earlier."));
		expect(all.match(/<h1>|<main>|<footer>/g)).toHaveLength(6);
	});
});
