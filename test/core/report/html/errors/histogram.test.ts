// The histogram of errors: which bars, which colours, where the tolerance stands, linear or in decades.
import { expect, it } from "vitest";
import { drawErrorHistogram } from "../../../../../src/core/report/html/errors/histogram.ts";
import type { ErrorHistogram } from "../../../../../src/core/schema/result.ts";
import { buildHistogram } from "../../../../support/error-pictures.ts";
import { readMarkup } from "../../../../support/read-markup.ts";

function drawn(overrides: Partial<ErrorHistogram> = {}): string {
	return drawErrorHistogram(buildHistogram(overrides), "logits")?.markup ?? "";
}

function bars(text: string): { tone: string; title: string; x: number; height: number }[] {
	const found = text.matchAll(/<rect class="err (\w+)" x="([\d.]+)" y="[\d.]+" width="[\d.]+" height="([\d.]+)"><title>([^<]*)</g);
	return [...found].map(([, tone = "", x, height, title = ""]) => ({ tone, title, x: Number(x), height: Number(height) }));
}

function tones(text: string): Record<string, number> {
	const counts: Record<string, number> = {};
	for (const { tone } of bars(text)) counts[tone] = (counts[tone] ?? 0) + 1;
	return counts;
}

const fourBins = { from: 1e-4, to: 1, counts: [4, 3, 2, 1] };

it.each<[string, Partial<ErrorHistogram>, Record<string, number>]>([
	["is of one colour where nothing is allowed of elements", fourBins, { plain: 4 }],
	["tells within from beyond", { ...fourBins, tolerance: [1e-2, 1e-2] }, { ok: 2, bad: 2 }],
	["tells where the element decides", { ...fourBins, tolerance: [1e-3, 1e-1] }, { ok: 1, warn: 2, bad: 1 }],
	["holds all for beyond where nothing is allowed", { ...fourBins, tolerance: [0, 0] }, { bad: 4 }],
	["shows what is equal and what is not finite beside the axis", { ...fourBins, equal: 9, notFinite: 2 }, { mute: 1, plain: 4, open: 1 }],
	["draws no bar of nothing", { ...fourBins, counts: [0, 0, 0, 7] }, { plain: 1 }],
	["draws only equal elements", { from: 1, to: 10, counts: [], equal: 12 }, { mute: 1 }],
])("a histogram of errors %s", (_, overrides, expected) => {
	expect(tones(drawn(overrides))).toEqual(expected);
});

it("a histogram of errors names the range of each bar", () => {
	expect(bars(drawn(fourBins)).map(({ title }) => title)).toEqual([
		"4 elements off by 1e-4 to 1e-3",
		"3 elements off by 1e-3 to 1e-2",
		"2 elements off by 1e-2 to 0.1",
		"1 element off by 0.1 to 1",
	]);
});

it("a histogram of errors counts in decades where one bar would hide another, and a lone element still has a bar", () => {
	expect(drawn(fourBins)).not.toContain("logarithmic");
	const text = drawn({ ...fourBins, counts: [100_000, 10, 0, 1] });
	expect(text).toContain("counts on a logarithmic scale");
	expect(Math.min(...bars(text).map(({ height }) => height))).toBeGreaterThan(10);
	expect(text).toContain(">10 k</text>");
});

it.each<[string, Partial<ErrorHistogram>, number, string]>([
	["one line where all elements are allowed the same", { ...fourBins, tolerance: [0.02, 0.02] }, 1, "allowed: 2e-2"],
	["two lines and a zone where they are not", { ...fourBins, tolerance: [1e-3, 0.1] }, 2, "allowed: 1e-3 to 0.1"],
	["a line outside of the errors, the axis stretched", { ...fourBins, tolerance: [1e-6, 1e-6] }, 1, "allowed: 1e-6"],
	["only words where it lies too far away", { ...fourBins, tolerance: [1e-12, 1e-12] }, 0, "beyond what is allowed (allowed: 1e-12)"],
	["only words where nothing is allowed", { ...fourBins, tolerance: [0, 0] }, 0, "different, where no difference is allowed"],
])("a histogram of errors draws the tolerance as %s", (_, overrides, lines, words) => {
	const text = drawn(overrides);
	expect(text.match(/class="gate"/g) ?? []).toHaveLength(lines);
	expect(text.includes('class="zone"')).toBe(lines === 2);
	expect(text).toContain(words);
});

it("a histogram of errors says in words what it shows", () => {
	expect(drawn({ ...fourBins, equal: 12, notFinite: 1, tolerance: [1e-3, 1e-3] })).toContain(
		'aria-label="histogram of the differences of logits: 16,384 elements, 12 equal, 1 not finite on one side; allowed: 1e-3"',
	);
});

it.each<Partial<ErrorHistogram>>([
	{ counts: [], equal: 0, notFinite: 0 },
	{ counts: [0, 0] },
	{ from: 1, to: 1 },
	{ from: 0, to: 1 },
	{ from: Number.NaN, to: 1 },
	{ from: 1, to: Number.POSITIVE_INFINITY },
])("a histogram of errors draws nothing of %j", (overrides) => {
	expect(drawErrorHistogram(buildHistogram(overrides), "y")).toBeNull();
});

it.each<Partial<ErrorHistogram>>([
	{ from: 1e-290, to: 1e308, counts: new Array(64).fill(9e15), equal: 9e15, tolerance: [0, 1e308] },
	{ from: 5e-324, to: 1e-300, tolerance: [5e-324, 1] },
	{ from: 1, to: 1.0000001, tolerance: [0.5, 2] },
	{ tolerance: [1, -1] },
])("a histogram of errors keeps its coordinates numbers at the ends of binary64: %j", (overrides) => {
	const elements = readMarkup(drawn(overrides), "html");
	const values = elements.flatMap(({ attributes }) =>
		["x", "y", "x1", "x2", "y1", "y2", "width", "height"].flatMap((name) => attributes.get(name) ?? []),
	);
	expect(values.filter((value) => !/^-?\d+(\.\d+)?$/.test(value))).toEqual([]);
	const outside = elements.filter(({ name, attributes }) => name === "rect" && Number(attributes.get("x")) > 413);
	expect(outside).toEqual([]);
});
