// The progress of a build, from a recorded verbose log.
import { expect, it } from "vitest";
import { createBuildProgress } from "../../../src/formats/trtexec/build-progress.ts";
import { createVerboseTest } from "../../../src/formats/trtexec/transcript.ts";
import { recordedLines } from "./recorded.ts";

const lines = recordedLines("10.6/build-classifier-verbose");

function progressOf(texts: readonly string[]): string[] {
	const told: string[] = [];
	const reader = createBuildProgress((phase) => told.push(phase));
	for (const text of texts) reader(text);
	return told;
}

it("a verbose log tells which layer of how many is timed, then that conversions are, and that kernels are chosen", () => {
	const told = progressOf(lines.map(({ text }) => text));
	expect([...new Set(told)]).toEqual([
		"timing kernels",
		...Array.from({ length: 8 }, (_, layer) => `timing kernels: layer ${layer + 1} of 8`),
		"timing conversions between layers",
		"kernels are chosen",
	]);
});

it("a log that does not count its layers names none of them", () => {
	const told = progressOf(["=============== Computing costs for a", "=============== Computing costs for b"]);
	expect(told).toEqual(["timing kernels", "timing kernels"]);
});

it("all lines of verbose messages are told from others, and the error stream has none", () => {
	const isVerbose = createVerboseTest();
	const kept = lines.filter(({ text, stream }) => !isVerbose(text, stream ?? "out"));
	expect(kept.filter(({ level }) => level === "verbose")).toEqual([]);
	expect(kept.filter(({ text }) => text.startsWith("Layer("))).toEqual([]);
	expect(kept.filter(({ level, text }) => level === "info" || text.startsWith("&&&&"))).toEqual(
		lines.filter(({ level, text }) => level === "info" || text.startsWith("&&&&")),
	);
	expect(isVerbose("[11/22/2026-02:38:26] [V] [TRT] Layers:", "out")).toBe(true);
	expect(isVerbose("Segmentation fault", "err")).toBe(false);
	expect(isVerbose("Name: conv1, LayerType: Conv", "out")).toBe(true);
});
