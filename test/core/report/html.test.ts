import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { ErrorMap, GoldenCheck, GoldenVerdict } from "../../../generated/result.ts";
import { drawErrorMap } from "../../../src/core/report/html/errors/pictures.ts";
import { renderHtml } from "../../../src/core/report/html/report.ts";
import { palettes, sortScript, sortScriptHash } from "../../../src/core/report/html/style.ts";
import { buildGolden, buildResult, buildSlowWorkload, buildWorkload } from "../../support/build-result.ts";
import { buildDrawnCheck, buildErrorMap, cellsOf } from "../../support/error-pictures.ts";
import { type Element, readMarkup } from "../../support/read-markup.ts";
import { hostileNames, resultCases } from "../../support/result-cases.ts";

const mismatch = (checks: GoldenCheck[], over: Partial<GoldenVerdict> = {}) =>
	buildGolden({ state: "mismatch", checks, ...over });
const withGoldens = (...golden: GoldenVerdict[]) => buildResult({ outcome: "fail", golden });
const drawnCase = withGoldens(mismatch([buildDrawnCheck()]));
const pages = Object.entries({ ...resultCases, "golden-pictures": drawnCase }).map(([name, result]) => {
	const text = renderHtml(result);
	return { name, text, elements: readMarkup(text, "html") };
});
const page = (name: string) => pages.find((found) => found.name === name)?.text ?? "";

const named = (elements: readonly Element[], ...names: string[]) =>
	elements.filter(({ name }) => names.includes(name));

describe.each(pages)("the page of $name", ({ text, elements }) => {
	it("it has one h1, headings in order, landmarks and a language", () => {
		const levels = named(elements, "h1", "h2", "h3", "h4").map((element) => Number(element.name.slice(1)));
		expect(levels.indexOf(1)).toBe(0);
		expect(levels.lastIndexOf(1)).toBe(0);
		for (const [at, level] of levels.entries()) expect(level - (levels[at - 1] ?? 0)).toBeLessThanOrEqual(1);
		for (const name of ["header", "main", "footer"]) expect(named(elements, name)).toHaveLength(1);
		expect(named(elements, "html")[0]?.attributes.get("lang")).toBe("en");
	});

	it("every region and drawing has a name, and every reference a target", () => {
		const ids = elements.flatMap((element) => element.attributes.get("id") ?? []);
		const known = new Set(ids);
		expect(known.size).toBe(ids.length);
		for (const { name, attributes } of elements) {
			const role = attributes.get("role");
			if (name === "svg" && attributes.get("aria-hidden") !== "true") expect(role).toBe("img");
			if (role === "region" || role === "img") expect(attributes.get("aria-label")).toBeTruthy();
			const target = attributes.get("aria-labelledby") ?? /^#(.*)/.exec(attributes.get("href") ?? "")?.[1];
			if (target !== undefined) expect(known.has(target), target).toBe(true);
		}
	});

	it("nothing is loaded, links lead to files beside the page, and one script runs", () => {
		expect(named(elements, "link", "img", "iframe", "object", "base", "form")).toEqual([]);
		const wrong = elements.flatMap(({ attributes }) =>
			[...attributes].filter(([name, value]) => {
				if (name === "href") return !/^(#[\w-]+|\.\/(?!.*\.\.\/)[^:\\]*)$/.test(value);
				return /^(on.*|src|srcdoc|action|xlink:href|style)$/.test(name);
			}),
		);
		expect(wrong).toEqual([]);
		const bare = text.replace(/>[^<]*/g, ">").replace(/="[^"]*"/g, "");
		expect(/https?:\/\/|url\(|@import/.exec(bare)).toBeNull();
		expect(named(elements, "script")).toHaveLength(1);
		expect(text.includes(`<script>${sortScript}</script>`)).toBe(true);
		const metas = named(elements, "meta").map(({ attributes }) => attributes.get("content") ?? "");
		const [policy] = metas.filter((content) => content.startsWith("default-src &#39;none&#39;"));
		expect(policy).toContain(`script-src &#39;${sortScriptHash}&#39;`);
	});

	it("buttons wait for the script, and every coordinate is a number", () => {
		for (const button of named(elements, "button")) {
			expect(button.path.at(-1)).toBe("th");
			expect(button.attributes.has("disabled")).toBe(true);
		}
		for (const table of named(elements, "table")) expect(table.path.at(-1)).toBe("div");
		const names = ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "points", "d"];
		const values = elements.flatMap(({ attributes }) => names.flatMap((name) => attributes.get(name) ?? []));
		expect(values.filter((value) => !/^[-\d.,\sMlmhvz]+$/.test(value))).toEqual([]);
	});
});

it("the page knows the hash of its script", () => {
	expect(`sha256-${createHash("sha256").update(sortScript).digest("base64")}`).toBe(sortScriptHash);
});

it("the page never shows doubt in green, and marks a partial result at the top", () => {
	expect(page("inconclusive")).toContain('<span class="pill open">inconclusive</span>');
	expect(page("inconclusive")).not.toMatch(/pill ok">inconclusive|class="(dot|ci) ok"/);
	expect(page("partial").split("<h2")[0]).toContain("Partial result: the run ended in measure");
});

it("the page states a CPU's caveat in the headline and over the table only", () => {
	const html = page("on-cpu");
	expect(html).toMatch(/<h1[^>]*>[^<]*(<[^/][^>]*>[^<]*|<\/span>\s*)*CPU, not TensorRT/);
	expect(html).toMatch(/<h2[^>]*>Workloads \(CPU, not TensorRT\)<\/h2>/);
	expect(html).not.toContain("<small>(CPU, not TensorRT");
});

it("the page says once what cases of one engine have in common", () => {
	const message = "The golden was recorded from a different model.";
	const cases = ["a", "b"].map((id) => mismatch([buildDrawnCheck()], { case: id, message }));
	const other = mismatch([buildDrawnCheck()], { engine: "int8", case: "a", message });
	const text = renderHtml(withGoldens(...cases, other))
		.split("<h2")
		.find((part) => part.includes("Goldens:"));
	expect(text).toContain(`<li>encoder · fp16: mismatch in 2 cases. ${message}</li>`);
	expect(text).toContain(`<li>encoder · int8 · a: mismatch. ${message}</li>`);
});

it("the page draws zone, zero, gate, interval and dot of a row", () => {
	const label = 'aria-label="change +4.2 %, 99 % interval +3.7 % … +4.6 %"';
	const drawings = page("mismatch-and-slowdown").split("<svg ");
	const forest = drawings.find((svg) => svg.includes(label));
	for (const part of ["zone", "zero", "gate", "ci warn", "dot warn"])
		expect(forest).toContain(`class="${part}"`);
});

it("the page shows the GPU's figures on both sides under their own names", () => {
	const text = page("on-watched-gpu");
	const row = (name: string, value: string) => `<th scope="row">${name}</th><td class="n">${value}</td>`;
	expect(text).toContain(row("GPU memory of the run&#39;s own process", "731 MiB"));
	const names = ["SM clock", "SM utilisation", "memory bandwidth", "time with a kernel running"];
	for (const name of [...names, "clocks limited by"]) expect(text).toContain(`<th scope="row">${name}</th>`);
	expect(text).toContain(`${row("change in GPU cycles", "")}<td class="n"></td><td class="n">+2.6 %</td>`);
});

it("the page survives odd shapes, and points at changes beyond its scale", () => {
	const slow = buildSlowWorkload();
	const runs = slow.runs.map((run) => ({ ...run, pair: 0, medianMs: 0 }));
	const interval: [number, number] = [-1e308, 1e308];
	const workloads = [0.04, 0.9, -0.9].map((estimate) => {
		return { ...slow, runs, latency: { ...slow.latency, estimate, interval } };
	});
	const elements = readMarkup(renderHtml(buildResult({ workloads })), "html");
	expect(elements.filter(({ attributes }) => /^beyond/.test(attributes.get("class") ?? ""))).toHaveLength(2);
});

it("the page folds unchanged rows, and all evidence but the first eight", () => {
	const workloads = Array.from({ length: 60 }, (_, at) =>
		(at < 20 ? buildSlowWorkload : buildWorkload)({ model: `net-${at}` }),
	);
	const all = readMarkup(renderHtml(buildResult({ workloads })), "html");
	const links = all.filter(({ attributes }) => /^#workload-\d+$/.test(attributes.get("href") ?? ""));
	expect(links).toHaveLength(60);
	expect(links.filter(({ path }) => path.includes("details"))).toHaveLength(40);
	expect(all.filter(({ attributes }) => attributes.has("open"))).toHaveLength(8);
});

it("the page shows another result first where one opens the page", () => {
	const recorded = buildResult({ outcome: "warn", notes: ["Recorded earlier."] });
	const all = renderHtml(buildResult({ notes: ["Live."] }), undefined, [recorded]);
	expect(all).toMatch(/Recorded earlier\.[\s\S]*Live\./);
	expect(all.match(/<h1>|<main>|<footer>/g)).toHaveLength(6);
});

describe.each(Object.entries(palettes))("the %s palette", (_, palette) => {
	/** By WCAG 2.2. */
	const luminance = (name: string) => {
		const [red = 0, green = 0, blue = 0] = [1, 3, 5]
			.map((start) => Number.parseInt(palette[name]!.slice(start, start + 2), 16) / 255)
			.map((share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4));
		return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
	};

	it.each(
		"fg bg|fg card|fg warnbg|mut bg|mut card|bad badbg|warn warnbg|ok okbg|open openbg|a1 bg".split("|"),
	)("the page shows text on its ground with a contrast of 4.5 or more: %s", (pair) => {
		const [one = 0, other = 0] = pair.split(" ").map((name) => Math.log(luminance(name) + 0.05));
		expect(Math.exp(Math.abs(one - other))).toBeGreaterThanOrEqual(4.5);
	});

	it("the colours of error maps grow away from the ground in lightness at every step", () => {
		const away = luminance("fg") > luminance("bg") ? 1 : -1;
		const steps = Array.from({ length: 10 }, (__, step) => `h${step}`);
		const all = ["card", ...steps].map((name) => away * luminance(name));
		expect(all).toEqual([...new Set(all)].sort((a, b) => a - b));
	});
});

const pictures = (...golden: GoldenVerdict[]) =>
	renderHtml(withGoldens(...golden)).match(/<article class="picture">.*?<\/article>/gs) ?? [];
const drawn = (overrides: Partial<ErrorMap> = {}) =>
	drawErrorMap(buildErrorMap(overrides), "logits, net · fp16")?.markup ?? "";
const noise = Array.from({ length: 48 * 48 }, (_, cell) => ((cell * 2_654_435_761) >>> 8) % 256);
const noisy = { rows: 48, columns: 48, cells: cellsOf(noise) };

function areas(text: string) {
	const area = (path = "") => [...path.matchAll(/h(\d+)v1/g)].reduce((sum, [, run]) => sum + Number(run), 0);
	const paths = [...text.matchAll(/<path class="(\w+)" d="([^"]+)"/g)];
	return Object.fromEntries(paths.map(([, name = "", path]) => [name, area(path)]));
}

it("an error map leaves equal cells blank, and has a colour for what is not finite", () => {
	const cells = cellsOf([0, 0, 1, 100, 200, 254, 255, 255]);
	expect(areas(drawn({ rows: 4, columns: 2, cells }))).toEqual({ h0: 1, h3: 1, h7: 1, h9: 1, hx: 2 });
	const text = drawn(noisy);
	const covered = Object.values(areas(text)).reduce((sum, area) => sum + area, 0);
	expect(covered).toBe(noise.filter((byte) => byte > 0).length);
	expect(text.length).toBeLessThan(40_000);
});

it("an error map says in words what it shows, with the axes and the scale", () => {
	const text = drawn();
	const label = "error map of logits, net · fp16: 64 of 64 cells differ, the largest by 0.5";
	expect(text).toContain(`role="img" aria-label="${label}`);
	for (const part of [">axis 3: 16<", ">axis 2: 16<", "each 2 × 2 elements", "strongest colour: 0.5"])
		expect(text).toContain(part);
	expect(text).not.toContain("NaN or infinite");
	expect(drawn({ rows: 1, columns: 2, cells: cellsOf([0, 255]) })).toContain("NaN or infinite on one side");
});

it.each([
	[32, 32, 268, 268],
	[64, 32, 268, 134],
	[32, 64, 134, 268],
	[1e9, 8, 268, 56],
])("an error map keeps the proportions of %d × %d within bounds", (width, height, ...size) => {
	const elements = readMarkup(drawn({ width, height }), "html");
	const ground = elements.find(({ attributes }) => attributes.get("class") === "ground");
	expect(["width", "height"].map((side) => Number(ground?.attributes.get(side)))).toEqual(size);
});

it.each([cellsOf([1, 2, 3]), cellsOf(new Array(65).fill(1)), "<script>", "AAA", "A=AA"])(
	"an error map is not drawn if its cells are too few, too many or no base64: %j",
	(cells) => {
		const check = buildDrawnCheck({ errorMap: buildErrorMap({ cells }) });
		expect(pictures(mismatch([check]))).toEqual([]);
	},
);

it("error pictures stand under the goldens, with measure, worst element and map", () => {
	const [picture = ""] = pictures(mismatch([buildDrawnCheck({ slice: { axis: 1, to: 1 } })]));
	expect(page("golden-pictures")).toMatch(/id="goldens".*<article class="picture"/s);
	const measure = "is 3.1e-2, 31 times the limit of 1e-3. Worst element [0,0,0,0]: got NaN, expected 0.25.";
	for (const part of ["<h3>depth <small>encoder · fp16 · case0</small>", measure, 'class="errmap"'])
		expect(picture).toContain(part);
	expect(picture).not.toMatch(/<script|style=|href|src=|url\(|data:/);
	const { errorMap: _, ...bare } = buildDrawnCheck();
	expect(pictures(mismatch([bare]))).toEqual([]);
});

it("error pictures show the loudest case of each output", () => {
	const shown = pictures(
		mismatch([buildDrawnCheck({ got: 0.01 }), buildDrawnCheck({ output: "mask" })], { case: "a" }),
		mismatch([buildDrawnCheck({ got: 0.5 })], { case: "b" }),
		mismatch([buildDrawnCheck({ got: 0.2 })], { case: "c" }),
	);
	const headings = shown.map((picture) => /<h3>(\w+) <small>[^<]*· (\w)</.exec(picture)?.slice(1));
	expect(headings.join(" ")).toBe("depth,b mask,a");
});

it("error pictures are at most 60 and 3 MB, and report that there are more", () => {
	const errorMap = buildErrorMap(noisy);
	const checks = Array.from({ length: 100 }, (_, at) => buildDrawnCheck({ output: `y${at}`, errorMap }));
	const text = renderHtml(withGoldens(mismatch(checks)));
	expect(text.match(/<article class="picture"/g)).toHaveLength(60);
	expect(text).toContain("… and 40 more pictures; result.json contains all.");
	expect(text.length).toBeLessThan(3e6);
});

it.each(hostileNames)("error pictures hold nothing of a user's but text: %j", (name) => {
	const check = buildDrawnCheck({ output: name, metric: name });
	const hostile = mismatch([check], { model: name, engine: name, case: name, part: name });
	const tags = readMarkup(renderHtml(withGoldens(hostile)), "html").map(({ name: tag }) => tag);
	expect(tags.filter((tag) => /^(script|img|image|use)$/.test(tag))).toEqual(["script"]);
});
