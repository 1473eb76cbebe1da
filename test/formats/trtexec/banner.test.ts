import { expect, it } from "vitest";
import {
	parseBannerCommand,
	parseVersionLine,
	parseVersionNumber,
	parseVersionText,
} from "../../../src/formats/trtexec/banner.ts";
import { recordedLines } from "./recorded.ts";

it("parseVersionNumber reads the digits of every release, and no others", () => {
	const digits = ["8601", "8001", "9300", "100001", "100600", "101303", "110100", "1000000"];
	expect(digits.map((text) => parseVersionNumber(text)?.text).join(" ")).toBe(
		"8.6.1 8.0.1 9.3.0 10.0.1 10.6.0 10.13.3 11.1.0 100.0.0",
	);
	for (const text of ["", "12", "1.2", "abc", "123456789"]) expect(parseVersionNumber(text)).toBeNull();
});

it("parseVersionLine reads the first line of every recorded version, the line inside the log, and no other", () => {
	const first = (version: string) =>
		parseVersionLine(recordedLines(`${version}/info-help`)[0]?.text ?? "")?.text;
	expect(["10.6", "10.15", "11.2"].map(first)).toEqual(["10.6.0", "10.15.1", "11.1.0"]);
	expect(parseVersionLine("[11/21/2026-08:04:27] [I] TensorRT version: 10.6.0")?.text).toBe("10.6.0");
	expect(parseVersionLine("[11/21/2026-08:04:27] [I] Model version: 3")).toBeNull();
});

it("parseBannerCommand gives the command back", () => {
	const banner = "&&&& RUNNING TensorRT.trtexec [TensorRT v100600] [b26] # trtexec --onnx=a #b.onnx";
	expect(parseBannerCommand(banner)).toEqual(["trtexec", "--onnx=a", "#b.onnx"]);
	expect(parseBannerCommand(banner.replace("RUNNING", "PASSED"))).toEqual(parseBannerCommand(banner));
	expect(parseBannerCommand("[I] # trtexec --onnx=a")).toBeNull();
});

it("parseVersionText reads what people and packages write", () => {
	const texts = ["10.6.0", "10.6", "v8.6.1", "10.16.1.11", "10.6.0-1+cuda12.6"];
	expect(texts.map((text) => parseVersionText(text)?.text)).toEqual([
		...["10.6.0", "10.6.0", "8.6.1", "10.16.1", "10.6.0"],
	]);
});
