import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { createFactReader, factLines } from "../../../src/formats/trtexec/log-lines.ts";
import { upgradeLog } from "../../support/recorded-upgrade.ts";

type Fact = keyof typeof factLines;

it.each([
	["weights", 0, "build-onet-fp32-head"],
	["weights", 1, "build-onet-fp32-base"],
	["context", 0, "measure-onet-fp32-b1-1"],
	["managed", 0, "measure-onet-fp32-b1-0"],
	["activations", 0, "build-onet-fp32-base"],
	["scratch", 0, "build-onet-fp32-head"],
	["throughput", 0, "measure-onet-fp32-b1-0"],
	["entries", 0, "build-onet-fp32-head"],
	["kept", 0, "build-onet-fp32-base"],
] as const)("row %2$d of %s stands in %3$s", (fact, row, step) => {
	const line: { versions: string; pattern: RegExp } | undefined = factLines[fact][row];
	const log = upgradeLog(step);
	expect(log.filter(({ text }) => line?.pattern.test(text))).not.toEqual([]);
	const version = log.some(({ text }) => text.includes("TensorRT v8601")) ? "8.6" : "10";
	expect(line?.versions.split(", ")).toContain(version);
});

function read(fact: Fact, ...steps: string[]) {
	const reader = createFactReader();
	for (const line of steps.flatMap(upgradeLog)) reader.feed(line);
	return { value: reader.value(fact), line: reader.lineOf(fact) };
}
const MiB = 1024 * 1024;

// GPU figures of the logs; the activations of 8.6 are 128,466,944 bytes, those of 10.6 109,199,360.
it.each([
	["orientation", 1, 0, { base: [6, 128], head: [6_694_788 / MiB, 104.141] }],
	["onet", 0, 1, { base: [1, 18], head: [1_734_784 / MiB, 16.5356] }],
] as const)("memory of %s means the same in 8.6 and 10.6", (model, base, head, expected) => {
	const own = (arm: string, run: number) =>
		[`build-${model}-fp32-${arm}`, `measure-${model}-fp32-b1-${run}`] as const;
	const [old, now] = [own("base", base), own("head", head)];
	const inMiB = (fact: Fact, steps: readonly string[]) => (read(fact, ...steps).value ?? Number.NaN) / MiB;
	expect([inMiB("weights", [old[0]]), inMiB("managed", [old[1]])]).toEqual(expected.base);
	expect(inMiB("weights", [now[0]])).toBeCloseTo(expected.head[0], 6);
	expect(inMiB("context", [now[1]])).toBeCloseTo(expected.head[1], 6);
	// 8.6 states no context alone; 10.6 states the sum as well, which is that of its parts.
	expect(read("context", ...old).value).toBeNull();
	expect(inMiB("managed", [now[1]])).toBe(Math.floor(expected.head[0] + expected.head[1]));
	expect(inMiB("activations", [old[0]]) + inMiB("weights", [old[0]])).toBeCloseTo(expected.base[1], -0.3);
});

it("the largest of several figures counts, and the row that comes first", () => {
	const reader = createFactReader();
	const feed = (text: string) => reader.feed({ level: "info", text });
	for (const [now, plus] of [
		[6, 6],
		[128, 122],
		[250, 122],
	])
		feed(
			`[x] [I] [TRT] [MemUsageChange] TensorRT-managed allocation in IExecutionContext creation: CPU +0, GPU +${plus}, now: CPU 0, GPU ${now} (MiB)`,
		);
	expect(reader.value("managed")).toBe(250 * MiB);
	feed(
		"[x] [I] [TRT] [MemUsageChange] TensorRT-managed allocation in engine deserialization: CPU +0, GPU +6, now: CPU 0, GPU 6 (MiB)",
	);
	feed("[x] [I] [TRT] Total Weights Memory: 100 bytes");
	expect(reader.value("weights")).toBe(100);
	expect(reader.lineOf("context", "managed")).toContain("GPU 250");
});

it("a log without a known line gives its last line on memory", () => {
	const reader = createFactReader();
	reader.feed({ level: "info", text: "[x] [I] [TRT] Context memory: 3 pages, device memory" });
	expect([reader.value("context"), reader.lineOf("context")]).toEqual([
		null,
		"[x] [I] [TRT] Context memory: 3 pages, device memory",
	]);
});

it("the documentation shows each line", () => {
	const page = readFileSync("docs/tensorrt.md", "utf8");
	for (const text of [
		"Total Weights Memory",
		"engine deserialization",
		"IExecutionContext creation",
		"Created execution context",
	])
		expect(page).toContain(text);
});
