// The pictures in the page: which are open, what is shown beside them, how much there may be, and nothing of a user's but text.
import { describe, expect, it } from "vitest";
import type { GoldenCheck, GoldenVerdict } from "../../../../../generated/result.ts";
import { renderHtml } from "../../../../../src/core/report/html/report.ts";
import { palettes } from "../../../../../src/core/report/html/style.ts";
import { buildGolden, buildResult } from "../../../../support/build-result.ts";
import { buildDrawnCheck, buildErrorMap, cellsOf } from "../../../../support/error-pictures.ts";
import { readMarkup } from "../../../../support/read-markup.ts";
import { hostileNames } from "../../../../support/result-cases.ts";

function pageOf(golden: GoldenVerdict[]): string {
	return renderHtml(buildResult({ outcome: "fail", golden }));
}

const mismatch = (checks: GoldenCheck[], overrides: Partial<GoldenVerdict> = {}): GoldenVerdict =>
	buildGolden({ state: "mismatch", checks, ...overrides });

const pictures = (text: string): string[] => text.match(/<article class="picture">.*?<\/article>/gs) ?? [];

it("error pictures stand under the golden section, with map and furthest elements", () => {
	const text = pageOf([mismatch([buildDrawnCheck()])]);
	const [picture = ""] = pictures(text);
	expect(text.indexOf('<article class="picture"')).toBeGreaterThan(text.indexOf('id="goldens"'));
	expect(picture).toContain("<h3>depth <small>encoder · fp16 · case0</small>");
	expect(picture).toContain("share of elements outside tolerance is 3.1e-2, 31 times the limit of 1e-3.");
	for (const part of ['class="errmap"', "Furthest from the golden"]) expect(picture).toContain(part);
	const cells = [...picture.matchAll(/<(?:th|td)[^>]*data-v="[^"]*"[^>]*>(.*?)<\/t[hd]>/g)].map(
		([, cell]) => cell,
	);
	expect(picture).toContain("<code>0, 0, 3, 1</code>");
	expect(cells).toContain("± 1.8e-3");
	expect(picture).toContain('<span class="strong">NaN</span>');
});

it("error pictures give both values more digits where short forms look alike", () => {
	const largest = [{ index: [3], got: 1.00000012, expected: 1 }];
	const [picture = ""] = pictures(pageOf([mismatch([buildDrawnCheck({ largest })])]));
	expect(picture).toContain("1.0000001");
});

it("error pictures report that a limit on all elements is none on each", () => {
	const plain = { index: [1], got: 2, expected: 1 };
	const text = pageOf([mismatch([buildDrawnCheck({ metric: "relative-l2", largest: [plain] })])]);
	expect(text).toContain("the limit is on all elements together, not on each");
	expect(pictures(text)[0]).not.toContain(">allowed</button>");
});

it("error pictures show the loudest case of each output", () => {
	const text = pageOf([
		mismatch([buildDrawnCheck({ got: 0.01 }), buildDrawnCheck({ output: "mask" })], { case: "a" }),
		mismatch([buildDrawnCheck({ got: 0.5 })], { case: "b" }),
		mismatch([buildDrawnCheck({ got: 0.2 })], { case: "c" }),
	]);
	const headings = pictures(text).map((picture) =>
		/<h3>(\w+) <small>[^<]*· (\w)</.exec(picture)?.slice(1).join(" "),
	);
	expect(headings).toEqual(["depth b", "mask a"]);
});

it("error pictures are none of a check that keeps nothing to draw", () => {
	const { errorMap: _m, largest: _l, ...bare } = buildDrawnCheck();
	expect(pictures(pageOf([mismatch([bare])]))).toEqual([]);
});

it("error pictures leave out a map that is none, and keep the rest", () => {
	const [picture = ""] = pictures(
		pageOf([mismatch([buildDrawnCheck({ errorMap: buildErrorMap({ cells: "AAAA" }) })])]),
	);
	expect(picture).not.toContain("errmap");
	expect(picture).toContain("Furthest from the golden");
});

it("error pictures are at most 60 and 3 MB, and report that there are more", () => {
	const noise = Array.from({ length: 48 * 48 }, (_, cell) => ((cell * 2_654_435_761) >>> 8) % 255);
	const errorMap = buildErrorMap({ rows: 48, columns: 48, cells: cellsOf(noise) });
	const text = pageOf(
		Array.from({ length: 100 }, (_, at) => mismatch([buildDrawnCheck({ output: `y${at}`, errorMap })])),
	);
	expect(pictures(text)).toHaveLength(60);
	expect(text).toContain("… and 40 more pictures; result.json contains all.");
	expect(text.length).toBeLessThan(3e6);
});

it.each(hostileNames)("error pictures hold nothing of a user's but text: %j", (name) => {
	const check = buildDrawnCheck({ output: name, metric: name });
	const elements = readMarkup(
		pageOf([mismatch([check], { model: name, engine: name, case: name, part: name })]),
		"html",
	);
	expect(elements.filter(({ name: tag }) => tag === "script")).toHaveLength(1);
	expect(elements.filter(({ name: tag }) => tag === "img" || tag === "image" || tag === "use")).toEqual([]);
});

it("error pictures need no script, no style of their own and nothing from elsewhere", () => {
	const [picture = ""] = pictures(pageOf([mismatch([buildDrawnCheck()])]));
	expect(picture).not.toMatch(/<script|style=|href|src=|url\(|data:/);
});

describe.each(Object.entries(palettes))("the colours of error maps in the %s palette", (_, palette) => {
	const luminance = (hex: string): number => {
		const [red = 0, green = 0, blue = 0] = [1, 3, 5]
			.map((start) => Number.parseInt(hex.slice(start, start + 2), 16) / 255)
			.map((share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4));
		return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
	};
	const steps = ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9] as const).map((step) => luminance(palette[`h${step}`]));

	it("the colours of error maps grow away from the ground in lightness at every step", () => {
		const away = luminance(palette.fg) > luminance(palette.bg) ? 1 : -1;
		for (const [at, value] of [luminance(palette.card), ...steps].entries())
			if (at > 0)
				expect(away * (value - ([luminance(palette.card), ...steps][at - 1] ?? 0))).toBeGreaterThan(0);
	});
});
