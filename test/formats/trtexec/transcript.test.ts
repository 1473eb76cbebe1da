import fc from "fast-check";
import { expect, it } from "vitest";
import { diagnose } from "../../../src/formats/trtexec/diagnose.ts";
import { createLogScan } from "../../../src/formats/trtexec/log-scan.ts";
import {
	createLineReader,
	createVerboseTest,
	type LogLine,
	longestLineChars,
} from "../../../src/formats/trtexec/transcript.ts";
import { parseLog, recordedLines, recordedText } from "./recorded.ts";

function read(chunks: Uint8Array[]) {
	const lines: LogLine[] = [];
	const reader = createLineReader((line) => lines.push(line));
	for (const chunk of chunks) reader.push(chunk);
	reader.end();
	return lines;
}

const bytes = (text: string) => new TextEncoder().encode(text);

it("parseLog reports the level of each line", () => {
	const dated = [..."VIWEF"].map((letter) => `[11/21/2026-08:04:27] [${letter}] x`);
	const levels = parseLog([...dated, 'op_type: "Add"', "[E] without a date"].join("\n")).map(
		({ level }) => level,
	);
	expect(levels).toEqual(["verbose", "info", "warning", "error", "error", "none", "none"]);
});

it("parseLog drops colours, carriage returns and control characters", () => {
	const text = "\u001b[31m[11/21/2026-08:04:27] [E] no\u0000\u0007\u001b[0m\r\n\u001b]0;title\u0007next";
	expect(parseLog(text).map((line) => line.text)).toEqual(["[11/21/2026-08:04:27] [E] no", "next"]);
	expect(parseLog(text)[0]?.level).toBe("error");
});

it("createLineReader reads UTF-16", () => {
	expect(read([Buffer.from("\ufeffé\r\nnext", "utf16le")]).map((line) => line.text)).toEqual(["é", "next"]);
});

it("parseLog cuts a line that is too long and finds the next one", () => {
	const lines = parseLog(`${"x".repeat(3_000_000)}\nnext`);
	expect(lines[0]?.text).toHaveLength(longestLineChars);
	expect(lines[1]).toMatchObject({ number: 2, text: "next" });
});

it("parseLog gives the same lines however the bytes are cut", () => {
	const whole = `${recordedText("10.6/fail-bad-custom-op").slice(-3000)}é→\n`;
	fc.assert(
		fc.property(fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 20 }), (sizes) => {
			const all = bytes(whole);
			const chunks: Uint8Array[] = [];
			for (let at = 0, index = 0; at < all.length; index++) {
				const size = sizes[index % sizes.length] ?? 1;
				chunks.push(all.subarray(at, at + size));
				at += size;
			}
			expect(read(chunks)).toEqual(read([all]));
		}),
		{ numRuns: 30 },
	);
});

it("createVerboseTest separates all lines of verbose messages, and finds none on the error stream", () => {
	const isVerbose = createVerboseTest();
	const lines = recordedLines("10.6/build-classifier-verbose");
	const kept = lines.filter(({ text }) => !isVerbose(text, "out"));
	expect(kept.filter(({ level, text }) => level === "verbose" || text.startsWith("Layer("))).toEqual([]);
	const wanted = ({ level, text }: LogLine) => level === "info" || text.startsWith("&&&&");
	expect(kept.filter(wanted)).toEqual(lines.filter(wanted));
	expect(isVerbose("[11/22/2026-02:38:26] [V] [TRT] Layers:", "out")).toBe(true);
	expect(isVerbose("Segmentation fault", "err")).toBe(false);
	expect(isVerbose("Name: conv1, LayerType: Conv", "out")).toBe(true);
});

it("createLogScan keeps little of a log of a hundred thousand lines", () => {
	const scanner = createLogScan();
	for (let number = 1; number <= 100_000; number++) {
		const text = `Using random values for input n${number}`;
		scanner.feed({ number, level: number % 2 === 0 ? "error" : "info", text });
	}
	const scan = scanner.result();
	expect(scan.errors.length + scan.lastErrors.length + scan.tail.length).toBeLessThan(300);
	expect(scan.facts.randomInputs.size).toBeLessThanOrEqual(4096);
	expect(diagnose({ scan, exitCode: 1, signal: null }).excerpt.at(-1)?.line).toBe(100_000);
});

it("createLogScan never throws, whatever the lines are", () => {
	fc.assert(
		fc.property(
			fc.array(fc.string({ unit: "binary", maxLength: 200 }), { maxLength: 30 }),
			fc.option(fc.integer({ min: -1, max: 300 })),
			(texts, exitCode) => {
				const diagnosis = diagnose({ lines: parseLog(texts.join("\n")), exitCode, signal: null });
				expect(diagnosis.code).not.toBe("");
			},
		),
		{ numRuns: 200 },
	);
});

it("createLogScan is not much slower on hostile long lines than on short ones of the same text", () => {
	const parts = [
		"Dimension mismatch for tensor a and profile 1. At dimension axis 1, ",
		"profile 1 dim ",
		"Cuda failure",
		" (with datatype a and dimensions ",
		"[E] is not in [",
		'" -> "',
		"While parsing node number 1 [",
	];
	const cpuMs = (texts: string[]) => {
		const start = process.cpuUsage().user;
		for (const text of texts) parseLog(text).forEach(createLogScan().feed);
		return (process.cpuUsage().user - start) / 1000;
	};
	const line = (text: string) => `[11/21/2026-08:04:27] [E] ${text}`;
	const shortMs = cpuMs(
		parts.map((part) => Array.from({ length: 200 }, () => line(part.repeat(10))).join("\n")),
	);
	const longMs = cpuMs(parts.map((part) => line(part.repeat(2000))));
	expect(longMs).toBeLessThan(50 * (shortMs + 10));
});
