import { expect, test } from "vitest";
import {
	formatBytes,
	formatCount,
	formatDuration,
	formatLarge,
	formatLimit,
	formatMs,
	formatPercent,
	formatValue,
	percentDigits,
} from "../../../src/core/text/units.ts";

test.each([
	[0.0418, "+4.2 %"],
	[-0.0006, "\u22120.1 %"],
	[-0.0004, "0.0 %"],
	[-0, "0.0 %"],
	[0.9994, "+99.9 %"],
	[0.9996, "+100 %"],
	[31.4, "+3140 %"],
	[Number.NaN, "n/a"],
])("a change of %d is written %s", (fraction, text) => {
	expect(formatPercent(fraction, { sign: true })).toBe(text);
});

test("a percentage without sign still shows a minus, and a narrow interval two decimals", () => {
	const texts = [formatPercent(0.02), formatPercent(-0.02), formatPercent(0.00034, { digits: 2 })];
	expect(texts.join()).toBe("2.0 %,\u22122.0 %,0.03 %");
	expect([percentDigits(0.004), percentDigits(0.0002)]).toEqual([1, 2]);
});

test("a limit is written as its owner wrote it", () => {
	const texts = [0.02, 0.025, 0.1, 0.07, 1, 0.0015].map(formatLimit);
	expect(texts.join()).toBe("2 %,2.5 %,10 %,7 %,100 %,0.15 %");
});

test.each([
	[0.027_912, "27.91 µs"],
	[1.2036, "1.204 ms"],
	[999.96, "1.000 s"],
	[123_456, "123.5 s"],
	[1_234_567, "1235 s"],
	[0.000_012_34, "12.34 ns"],
	[1e-9, "0.001 ns"],
	[-0.5, "\u2212500.0 µs"],
	[0, "0 ms"],
	[Number.NaN, "n/a"],
])("a time of %d ms is written %s", (ms, text) => {
	expect(formatMs(ms)).toBe(text);
});

test.each([
	[0, "0 B"],
	[1023, "1023 B"],
	[1024, "1.00 KiB"],
	[455_836, "445 KiB"],
	[743 * 2 ** 20, "743 MiB"],
	[1023.7 * 2 ** 20, "1.00 GiB"],
	[-2 * 2 ** 20, "\u22122.00 MiB"],
	[Number.NaN, "n/a"],
])("a size of %d bytes is written %s", (bytes, text) => {
	expect(formatBytes(bytes)).toBe(text);
});

test.each([
	[0, "0 ms"],
	[999.6, "1.0 s"],
	[59_960, "1 min 00 s"],
	[72_000, "1 min 12 s"],
	[3_599_600, "1 h 00 min"],
	[7_500_000, "2 h 05 min"],
	[Number.NaN, "n/a"],
])("a duration of %d ms is written %s", (ms, text) => {
	expect(formatDuration(ms)).toBe(text);
});

test.each([
	[0, "0"],
	[0.0332, "3.3e-2"],
	[0.001, "1e-3"],
	[0.9987, "0.9987"],
	[-1.84216, "\u22121.842"],
	[123456.7, "123457"],
	[4.2e7, "4.2e+7"],
	["NaN", "NaN"],
	["-Infinity", "\u2212Infinity"],
	[Number.NaN, "n/a"],
	[null, "–"],
] as const)("a metric value %j is written %s", (value, text) => {
	expect(formatValue(value)).toBe(text);
});

test("a metric value gives more digits if they are requested", () => {
	expect(formatValue(0.001004, 8)).toBe("1.004e-3");
	expect(formatValue(33.2, 2)).toBe("33");
});

test.each([0, -0.0001, 7, 999, 1000, 12_345.6, -1_234_567, 0.0004, 2 / 3, 999_999.9999, 2 ** 53, 1e20])(
	"formatCount(%d) writes what the en-US locale writes",
	(value) => {
		expect(formatCount(value)).toBe(value.toLocaleString("en-US").replace("-0", "0"));
	},
);

test.each([
	[0, "0"],
	[6400, "6,400"],
	[9999, "9,999"],
	[10_000, "10.0 k"],
	[131_999, "132 k"],
	[999_500, "1.00 M"],
	[4_089_184_256, "4.09 G"],
	[1.94e10, "19.4 G"],
	[2 ** 53, "9.01 P"],
	[Number.POSITIVE_INFINITY, "n/a"],
])("a count of %d is written %s", (count, text) => {
	expect(formatLarge(count)).toBe(text);
});
