import { readFileSync } from "node:fs";
import type { TelemetrySample } from "../../src/core/telemetry/window.ts";
import { parseSampleLine } from "../../src/formats/nvidia-smi/rows.ts";

export interface RecordedComparison {
	samples: TelemetrySample[];
	runs: { arm: "base" | "head"; pair: number; fromMs: number; toMs: number }[];
}

const fields = [
	"",
	"",
	"clocks.sm",
	"clocks.mem",
	"power.draw",
	"temperature.gpu",
	"utilization.gpu",
	"memory.used",
	"reasons",
].map((key, at) => ({
	key: key === "" ? `other${at}` : key,
	name: key,
}));

const timeOf = (text: string): number => Date.parse(`${text.replaceAll("/", "-").replace(" ", "T")}Z`);

export function readComparison(name: string): RecordedComparison {
	const { startedAt, runs } = JSON.parse(
		readFileSync(`test/fixtures/nvidia-smi/comparison-${name}.json`, "utf8"),
	);
	const [, ...lines] = readFileSync(`test/fixtures/nvidia-smi/comparison-${name}.csv`, "utf8")
		.trim()
		.split("\n");
	const samples = lines.map((line) => {
		const read = parseSampleLine(line, fields, timeOf(line.slice(0, 23)) - timeOf(startedAt));
		if (read.state !== "sample") throw new Error(`${name}: ${read.why}`);
		return read.sample;
	});
	return { samples, runs };
}
