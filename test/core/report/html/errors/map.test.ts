// The error map: colours by size, runs as rectangles, a ring, words for those who cannot see it, nothing of what is no map.
import { expect, it } from "vitest";
import type { ErrorMap } from "../../../../../generated/result.ts";
import { drawErrorMap } from "../../../../../src/core/report/html/errors/map.ts";
import { buildErrorMap, cellsOf } from "../../../../support/error-pictures.ts";
import { readMarkup } from "../../../../support/read-markup.ts";

function drawn(overrides: Partial<ErrorMap> = {}, rank = 4): string {
	return drawErrorMap(buildErrorMap(overrides), { name: "logits, net · fp16", rank })?.markup ?? "";
}

/** Squares of the grid that each colour covers. */
function areas(text: string): Record<string, number> {
	const paths = [...text.matchAll(/<path class="(\w+)" d="([^"]+)"/g)];
	return Object.fromEntries(
		paths.map(([, name = "", d = ""]) => [
			name,
			[...d.matchAll(/h(\d+)v1/g)].reduce((sum, [, run]) => sum + Number(run), 0),
		]),
	);
}

const grid = (bytes: readonly number[]): Partial<ErrorMap> => ({
	rows: 2,
	columns: bytes.length / 2,
	cells: cellsOf(bytes),
});

it.each<[string, number[], Record<string, number>]>([
	["leaves what is equal blank", [0, 0, 0, 254], { h9: 1 }],
	["goes from the palest to the strongest step", [1, 100, 200, 254], { h0: 1, h3: 1, h7: 1, h9: 1 }],
	["tells what is not finite apart", [255, 255, 100, 254], { h3: 1, h9: 1, hx: 2 }],
	[
		"takes decades where one peak would leave all else palest",
		[254, 20, 2, 1],
		{ h0: 1, h1: 1, h5: 1, h9: 1 },
	],
])("an error map %s", (_, bytes, expected) => {
	expect(areas(drawn(grid(bytes)))).toEqual(expected);
});

it("an error map covers each cell that differs once, whatever the runs", () => {
	const bytes = Array.from({ length: 48 * 48 }, (_, cell) => (cell * 7919) % 256);
	const text = drawn({ rows: 48, columns: 48, cells: cellsOf(bytes) });
	const covered = Object.values(areas(text)).reduce((sum, area) => sum + area, 0);
	expect(covered).toBe(bytes.filter((byte) => byte > 0).length);
});

it("an error map says in words what it shows, with the scale and its unit", () => {
	const text = drawn({ sample: 3 });
	expect(text).toContain(
		'role="img" aria-label="error map of logits, net · fp16: 64 of 64 cells differ, the largest by 0.5',
	);
	expect(text).toContain("furthest near 1, 1 of 16 × 16");
	expect(text).toContain(
		"of up to 2 × 2 pixels over all channels of sample 3, in the output’s unit, linear scale",
	);
	expect(text).toMatch(/>0<\/text>.*>0\.25<\/text>.*>0\.5<\/text>/);
	expect(text).toContain(">width 16</text>");
	expect(drawn({ image: false, axes: [1, 2] }, 3)).toContain(">axis 2 16</text>");
	expect(drawn({ image: false }, 3)).toContain("of up to 2 × 2 elements, in the output’s unit");
});

it("an error map keeps the plane's proportions, within bounds", () => {
	const size = (width: number, height: number) => {
		const ground = readMarkup(drawn({ width, height }), "html").find(
			({ attributes }) => attributes.get("class") === "ground",
		);
		return [Number(ground?.attributes.get("width")), Number(ground?.attributes.get("height"))];
	};
	expect(size(32, 32)).toEqual([268, 268]);
	expect(size(64, 32)).toEqual([268, 134]);
	expect(size(32, 64)).toEqual([134, 268]);
	expect(size(1e9, 8)).toEqual([268, 56]);
});

it("an error map has no scale where nothing finite differs", () => {
	const text = drawn({ ...grid([0, 255, 0, 0]), largest: 0 });
	expect(areas(text)).toEqual({ hx: 1 });
	expect(text).not.toContain('class="h0"');
	expect(text).toContain("NaN or infinite on one side");
});

it.each<[string, Partial<ErrorMap>]>([
	["has too few cells", { cells: cellsOf([1, 2, 3]) }],
	["has too many cells", { cells: cellsOf(new Array(65).fill(1)) }],
	["is no base64", { cells: "<script>" }],
	["is cut", { cells: "AAA" }],
	["is padded in the middle", { cells: "A=AA" }],
])("an error map is not drawn where what is stored %s", (_, overrides) => {
	expect(drawErrorMap(buildErrorMap(overrides), { name: "y", rank: 4 })).toBeNull();
});

it("an error map of the noisiest plane is below 40 kB", () => {
	const bytes = Array.from({ length: 48 * 48 }, (_, cell) => ((cell * 2_654_435_761) >>> 8) % 255);
	expect(drawn({ rows: 48, columns: 48, cells: cellsOf(bytes) }).length).toBeLessThan(40_000);
});
