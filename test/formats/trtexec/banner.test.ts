// Versions as trtexec, packages and people write them.
import { describe, expect, it } from "vitest";
import {
	parseBannerCommand,
	parseVersionLine,
	parseVersionNumber,
	parseVersionText,
} from "../../../src/formats/trtexec/banner.ts";
import { recordedLines } from "./recorded.ts";

describe("the banner's version", () => {
	for (const [digits, text] of [
		["8601", "8.6.1"],
		["8001", "8.0.1"],
		["9300", "9.3.0"],
		["100001", "10.0.1"],
		["100600", "10.6.0"],
		["101303", "10.13.3"],
		["110100", "11.1.0"],
		["1000000", "100.0.0"],
	] as const) {
		it(`parseVersionText reads ${digits} as ${text}`, () => {
			expect(parseVersionNumber(digits)?.text).toBe(text);
		});
	}

	it("the banner's version reads none from what is none", () => {
		for (const digits of ["", "12", "1.2", "abc", "123456789"]) expect(parseVersionNumber(digits)).toBeNull();
	});

	it("the banner's version reads the first line of every recorded version", () => {
		const first = (version: string) =>
			parseVersionLine(recordedLines(`${version}/info-help`)[0]?.text ?? "")?.text;
		expect([first("10.6"), first("10.15"), first("11.2")]).toEqual(["10.6.0", "10.15.1", "11.1.0"]);
	});

	it("the banner's version reads the line inside the log, and no other line", () => {
		expect(parseVersionLine("[11/21/2026-08:04:27] [I] TensorRT version: 10.6.0")?.text).toBe("10.6.0");
		expect(parseVersionLine("[11/21/2026-08:04:27] [I] Model version: 3")).toBeNull();
	});

	it("the banner's version gives the command back", () => {
		expect(
			parseBannerCommand("&&&& RUNNING TensorRT.trtexec [TensorRT v100600] [b26] # trtexec --onnx=a #b.onnx"),
		).toEqual(["trtexec", "--onnx=a", "#b.onnx"]);
		expect(parseBannerCommand("&&&& PASSED TensorRT.trtexec [TensorRT v100600] # trtexec")).toBeNull();
	});
});

it("parseVersionText reads what people and packages write", () => {
	expect(
		["10.6.0", "10.6", "v8.6.1", "10.16.1.11", "10.6.0-1+cuda12.6"].map(
			(text) => parseVersionText(text)?.text,
		),
	).toEqual(["10.6.0", "10.6.0", "8.6.1", "10.16.1", "10.6.0"]);
});
