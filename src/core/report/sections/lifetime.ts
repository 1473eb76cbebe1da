// The life of a process: how soon its first inference is done, and whether its memory grows.
import type {
	Arm,
	GrowthPhase,
	MemoryGrowthResult,
	StartUpResult,
	StartUpStats,
} from "../../../../generated/result.ts";
import { figureLabels, phaseLabels } from "../../compare/lifetime.ts";
import { counted, subjectName } from "../../text/labels.ts";
import { formatBytes, formatCount, formatMs, formatPercent } from "../../text/units.ts";
import { dash, sideChange, sidesOf } from "../comparison-format.ts";
import {
	type Column,
	heading,
	numbers,
	numeric,
	plain,
	type ReportSection,
	sentence,
	table,
} from "../section.ts";

type StartRow = StartUpResult & { side: Arm; stats: StartUpStats };

const startColumns: readonly Column<StartRow>[] = [
	heading("Engine", subjectName),
	plain("side", ({ side }) => side),
	plain("change", sideChange),
	numbers("first inference", ({ stats }) => stats.totalMs, formatMs),
	...["plugins", "read", "deserialize", "context", "first"].map((part) =>
		numbers<StartRow>(part === "first" ? "first run" : part, ({ stats }) => stats.parts[part], formatMs),
	),
	numbers("plan not in memory", ({ stats }) => stats.coldMs, formatMs),
	numbers("runs until steady", ({ stats }) => stats.steadyAfter, formatCount),
];

export const startUpSection: ReportSection = {
	id: "start-ups",
	show({ result: { startUps = [] } }) {
		const rows = startUps.flatMap(sidesOf);
		if (rows.length === 0) return null;
		return {
			title: `Start-up of ${counted(startUps.length, "engine")}`,
			blocks: [table("start-up", startColumns, rows, { noun: "row" })],
		};
	},
};

type PhaseRow = GrowthPhase & Pick<MemoryGrowthResult, "model" | "engine" | "part">;

function bytes(value: number) {
	return value < 0 ? `−${formatBytes(-value)}` : formatBytes(value);
}

const phaseColumns: readonly Column<PhaseRow>[] = [
	heading("Engine", subjectName),
	plain("steps", ({ phase, steps }) => `${formatCount(steps)} ${phaseLabels[phase]}`),
	...(["reserved", "used", "resident"] as const).map((wanted) =>
		numeric<PhaseRow>(figureLabels[wanted], ({ figures }) => {
			const found = figures.find(({ figure }) => figure === wanted);
			return found === undefined ? dash : `${bytes(found.slope)} (${found.interval.map(bytes).join(" … ")})`;
		}),
	),
	numbers("GPU peak", ({ peakBytes }) => peakBytes, formatBytes),
	numbers(
		"in use",
		({ usedBytes, peakBytes }) => (usedBytes === null || peakBytes <= 0 ? null : usedBytes / peakBytes),
		formatPercent,
	),
	numbers("live blocks", ({ liveBlocks }) => liveBlocks, formatCount),
];

const method =
	"Bytes per 1,000 steps after a warm-up, with 99 % intervals. GPU memory not in use holds kernels or is fragmented.";

export const memoryGrowthSection: ReportSection = {
	id: "memory-growth",
	show({ result: { memoryGrowths = [] } }) {
		const rows = memoryGrowths.flatMap(({ phases, ...of }) => phases.map((phase) => ({ ...of, ...phase })));
		if (rows.length === 0) return null;
		return {
			title: `Memory growth of ${counted(memoryGrowths.length, "engine")}`,
			blocks: [table("memory growth", phaseColumns, rows, { noun: "row" }), sentence(method, "quiet")],
		};
	},
};
