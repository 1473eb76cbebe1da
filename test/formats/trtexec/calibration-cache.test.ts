import fc from "fast-check";
import { expect, it } from "vitest";
import { asEntropyCache, parseCalibrationCache } from "../../../src/formats/trtexec/calibration-cache.ts";

const header = "TRT-100600-EntropyCalibration2";

/** 3c008912 is NVIDIA's own example (sampleINT8). */
it.each<[string, string, [string, number][] | null]>([
	["a tensor", `${header}\ndata: 3c008912\n`, [["data", 0.0078451]]],
	["Windows' line ends", `${header}\r\ndata: 3c008912\r\n`, [["data", 0.0078451]]],
	[
		"colons and spaces in names",
		`${header}\n(Unnamed Layer* 3): out: 3f800000`,
		[["(Unnamed Layer* 3): out", 1]],
	],
	["a tensor that is always zero", `${header}\na: 0`, [["a", 0]]],
	["no tensors", `${header}\n`, []],
	["a negative scale, NaN and infinity", `${header}\na: bf800000\nb: 7fc00000\nc: 7f800000`, []],
	["lines of another form", `${header}\na\na:3f800000\n: 3f800000\na: 3f80000g\na: 3f8000000`, []],
	["another file", "a: 3f800000", null],
	["an empty file", "", null],
])("parseCalibrationCache reads %s", (_, text, scales) => {
	const found = parseCalibrationCache(text);
	expect(found && [...found.keys()]).toEqual(scales?.map(([name]) => name) ?? null);
	for (const [name, scale] of scales ?? []) expect(found?.get(name)).toBeCloseTo(127 * scale, 4);
});

it("parseCalibrationCache reads back every scale that float32 holds", () => {
	const name = fc.string({ minLength: 1 }).filter((text) => !/[\r\n]/.test(text));
	const scale = fc.float({ min: 0, noNaN: true, noDefaultInfinity: true });
	fc.assert(
		fc.property(fc.dictionary(name, scale, { noNullPrototype: true }), (scales) => {
			const lines = Object.entries(scales).map(([tensor, value]) => {
				const bytes = Buffer.alloc(4);
				bytes.writeFloatBE(value);
				return `${tensor}: ${bytes.toString("hex")}`;
			});
			const ranges = Object.entries(scales).map(([tensor, value]) => [tensor, 127 * value]);
			expect([...(parseCalibrationCache([header, ...lines].join("\n")) ?? [])]).toEqual(ranges);
		}),
	);
});

it("asEntropyCache changes the header's calibrator and nothing else", () => {
	expect(asEntropyCache("TRT-8601-MinMaxCalibration\nTRT-1-MinMax: 3f800000\n")).toBe(
		"TRT-8601-EntropyCalibration2\nTRT-1-MinMax: 3f800000\n",
	);
});
