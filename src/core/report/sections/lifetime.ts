// The life of a process: how soon its first inference is done, and whether its memory grows.
import type {
	GrowthPhase,
	MemoryGrowthResult,
	StartUpResult,
	StartUpStats,
} from "../../../../generated/result.ts";
import { phaseLabels } from "../../compare/growth.ts";
import { cleanMessage } from "../../text/escape.ts";
import { counted, subjectName } from "../../text/labels.ts";
import { formatBytes, formatCount, formatMs, formatPercent } from "../../text/units.ts";
import { changeWithInterval, dash } from "../comparison-format.ts";
import {
	type Column,
	heading,
	long,
	numbers,
	plain,
	type ReportSection,
	sentence,
	table,
} from "../section.ts";

type StartRow = { start: StartUpResult; side: string; stats: StartUpStats | null };

function ofStats(title: string, of: (stats: StartUpStats) => number | null): Column<StartRow> {
	return numbers(title, ({ stats }) => stats && of(stats), formatMs);
}

const startColumns: readonly Column<StartRow>[] = [
	heading("Engine", ({ start }) => subjectName(start)),
	plain("side", ({ side }) => side),
	ofStats("first inference after", ({ totalMs }) => totalMs),
	ofStats("plugins", ({ pluginsMs }) => pluginsMs),
	ofStats("read", ({ readMs }) => readMs),
	ofStats("deserialize", ({ deserializeMs }) => deserializeMs),
	ofStats("context", ({ contextMs }) => contextMs),
	ofStats("first run", ({ firstMs }) => firstMs),
	ofStats("after a cold read", ({ coldMs }) => coldMs),
	numbers("runs until steady", ({ stats }) => stats?.steadyAfter, formatCount),
];

function startText({ comparison, ...start }: StartUpResult): string {
	const why = comparison.reason === undefined ? "" : ` ${cleanMessage(comparison.reason)}`;
	const change = comparison.estimate === null ? "" : `: ${changeWithInterval(comparison)}`;
	return `${subjectName(start)} ${comparison.verdict}${change}.${why}`;
}

export const startUpSection: ReportSection = {
	id: "start-ups",
	show({ result: { startUps = [] } }, { detail }) {
		if (startUps.length === 0) return null;
		const slower = startUps.filter(({ comparison }) => comparison.verdict === "regressed").length;
		const rows = startUps.flatMap((start) =>
			(["base", "head"] as const).flatMap((side) =>
				start[side] === null ? [] : [{ start, side, stats: start[side] }],
			),
		);
		return {
			title: `Start-up: ${slower} of ${counted(startUps.length, "engine")} slower`,
			isOpen: slower > 0,
			blocks: [
				{ kind: "list", items: startUps.slice(0, detail.foldedRows).map(startText) },
				table("start-up", startColumns, rows, { noun: "row" }),
			],
		};
	},
};

type PhaseRow = GrowthPhase & { growth: MemoryGrowthResult };

function growthOf(title: string, wanted: string): Column<PhaseRow> {
	return long(title, ({ figures }) => {
		const found = figures.find(({ figure }) => figure === wanted);
		if (found === undefined) return dash;
		return `${bytes(found.slope)} (${found.interval.map(bytes).join(" … ")})`;
	});
}

function bytes(value: number): string {
	return value < 0 ? `−${formatBytes(-value)}` : formatBytes(value);
}

const phaseColumns: readonly Column<PhaseRow>[] = [
	heading("Engine", ({ growth }) => subjectName(growth)),
	plain("steps", ({ phase, steps }) => `${formatCount(steps)} ${phaseLabels[phase]}`),
	growthOf("TensorRT's memory", "used"),
	growthOf("GPU memory", "reserved"),
	growthOf("host memory", "resident"),
	numbers("peak on the GPU", ({ peakBytes }) => peakBytes, formatBytes),
	numbers(
		"of it in use",
		({ usedBytes, peakBytes }) => (usedBytes === null || peakBytes <= 0 ? null : usedBytes / peakBytes),
		formatPercent,
	),
	numbers("live blocks", ({ liveBlocks }) => liveBlocks, formatCount),
];

const method =
	"Per 1,000 steps after a warm-up: Theil-Sen slopes with 99 % intervals. Memory taken and not in use is fragmentation, kernels and libraries.";

export const memoryGrowthSection: ReportSection = {
	id: "memory-growth",
	show({ result: { memoryGrowths = [] } }, { detail }) {
		if (memoryGrowths.length === 0) return null;
		const growing = memoryGrowths.filter(({ state }) => state === "grows" || state === "known");
		const open = memoryGrowths.filter(({ state }) => state !== "steady");
		const items = open.map((one) => `${subjectName(one)}: ${cleanMessage(one.message)}`);
		const rows = memoryGrowths.flatMap((growth) => growth.phases.map((phase) => ({ ...phase, growth })));
		return {
			title: `Memory: ${growing.length} of ${counted(memoryGrowths.length, "engine")} growing`,
			isOpen: open.length > 0,
			blocks: [
				{ kind: "list", items: items.slice(0, detail.foldedRows) },
				table("memory growth", phaseColumns, rows, { noun: "row" }),
				sentence(method, "quiet"),
			],
		};
	},
};
