// Error maps in the page: colours, words for those who cannot see them, bounds, and nothing of a user's but text.
import { expect, it } from "vitest";
import type { ErrorMap, GoldenCheck, GoldenVerdict } from "../../../../../generated/result.ts";
import { drawErrorMap } from "../../../../../src/core/report/html/errors/pictures.ts";
import { renderHtml } from "../../../../../src/core/report/html/report.ts";
import { buildGolden, buildResult } from "../../../../support/build-result.ts";
import { buildDrawnCheck, buildErrorMap, cellsOf } from "../../../../support/error-pictures.ts";
import { readMarkup } from "../../../../support/read-markup.ts";
import { hostileNames } from "../../../../support/result-cases.ts";

const pageOf = (golden: GoldenVerdict[]): string => renderHtml(buildResult({ outcome: "fail", golden }));
const mismatch = (checks: GoldenCheck[], overrides: Partial<GoldenVerdict> = {}): GoldenVerdict =>
	buildGolden({ state: "mismatch", checks, ...overrides });
const pictures = (text: string): string[] => text.match(/<article class="picture">.*?<\/article>/gs) ?? [];
const drawn = (overrides: Partial<ErrorMap> = {}): string =>
	drawErrorMap(buildErrorMap(overrides), "logits, net · fp16")?.markup ?? "";
const noise = Array.from({ length: 48 * 48 }, (_, cell) => ((cell * 2_654_435_761) >>> 8) % 256);
const noisy = { rows: 48, columns: 48, cells: cellsOf(noise) };

/** Cells that each colour covers. */
function areas(text: string): Record<string, number> {
	const area = (path = "") => [...path.matchAll(/h(\d+)v1/g)].reduce((sum, [, run]) => sum + Number(run), 0);
	const paths = [...text.matchAll(/<path class="(\w+)" d="([^"]+)"/g)];
	return Object.fromEntries(paths.map(([, name = "", path]) => [name, area(path)]));
}

it.each<[string, number[], Record<string, number>]>([
	["leaves what is equal blank", [0, 0, 0, 254], { h9: 1 }],
	["goes from the palest to the strongest colour", [1, 100, 200, 254], { h0: 1, h3: 1, h7: 1, h9: 1 }],
	["tells what is not finite apart", [255, 255, 100, 254], { h3: 1, h9: 1, hx: 2 }],
])("an error map %s", (_, bytes, expected) => {
	expect(areas(drawn({ rows: 2, columns: 2, cells: cellsOf(bytes) }))).toEqual(expected);
});

it("an error map covers each cell that differs once, in less than 40 kB", () => {
	const text = drawn(noisy);
	const covered = Object.values(areas(text)).reduce((sum, area) => sum + area, 0);
	expect(covered).toBe(noise.filter((byte) => byte > 0).length);
	expect(text.length).toBeLessThan(40_000);
});

it("an error map says in words what it shows, with the axes and the scale", () => {
	const text = drawn();
	expect(text).toContain(
		'role="img" aria-label="error map of logits, net · fp16: 64 of 64 cells differ, the largest by 0.5',
	);
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

it.each<[string, string]>([
	["has too few cells", cellsOf([1, 2, 3])],
	["has too many cells", cellsOf(new Array(65).fill(1))],
	["is no base64", "<script>"],
	["is cut", "AAA"],
	["is padded in the middle", "A=AA"],
])("an error map is not drawn if the stored map %s", (_, cells) => {
	expect(drawn({ cells })).toBe("");
	expect(pictures(pageOf([mismatch([buildDrawnCheck({ errorMap: buildErrorMap({ cells }) })])]))).toEqual([]);
});

it("error pictures stand under the golden section, with measure, worst element and map", () => {
	const text = pageOf([mismatch([buildDrawnCheck({ slice: { axis: 1, to: 1 } })])]);
	const [picture = ""] = pictures(text);
	expect(text.indexOf('<article class="picture"')).toBeGreaterThan(text.indexOf('id="goldens"'));
	const measure = "is 3.1e-2, 31 times the limit of 1e-3. Worst element [0,0,0,0]: got NaN, expected 0.25.";
	for (const part of ["<h3>depth <small>encoder · fp16 · case0</small>", measure, 'class="errmap"'])
		expect(picture).toContain(part);
	expect(picture).not.toMatch(/<script|style=|href|src=|url\(|data:/);
	const { errorMap: _, ...bare } = buildDrawnCheck();
	expect(pictures(pageOf([mismatch([bare])]))).toEqual([]);
});

it("error pictures show the loudest case of each output", () => {
	const text = pageOf([
		mismatch([buildDrawnCheck({ got: 0.01 }), buildDrawnCheck({ output: "mask" })], { case: "a" }),
		mismatch([buildDrawnCheck({ got: 0.5 })], { case: "b" }),
		mismatch([buildDrawnCheck({ got: 0.2 })], { case: "c" }),
	]);
	const headings = pictures(text).map((picture) => /<h3>(\w+) <small>[^<]*· (\w)</.exec(picture)?.slice(1));
	expect(headings.join(" ")).toBe("depth,b mask,a");
});

it("error pictures are at most 60 and 3 MB, and report that there are more", () => {
	const errorMap = buildErrorMap(noisy);
	const checks = Array.from({ length: 100 }, (_, at) => buildDrawnCheck({ output: `y${at}`, errorMap }));
	const text = pageOf([mismatch(checks)]);
	expect(pictures(text)).toHaveLength(60);
	expect(text).toContain("… and 40 more pictures; result.json contains all.");
	expect(text.length).toBeLessThan(3e6);
});

it.each(hostileNames)("error pictures hold nothing of a user's but text: %j", (name) => {
	const check = buildDrawnCheck({ output: name, metric: name });
	const page = pageOf([mismatch([check], { model: name, engine: name, case: name, part: name })]);
	const tags = readMarkup(page, "html").map(({ name: tag }) => tag);
	expect(tags.filter((tag) => /^(script|img|image|use)$/.test(tag))).toEqual(["script"]);
});
