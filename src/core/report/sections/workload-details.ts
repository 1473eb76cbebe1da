import type { Result, WorkloadResult } from "../../../../generated/result.ts";
import { workText } from "../../compare/sentence.ts";
import { comparedOf } from "../../stats/summary.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, speedLabel, subjectName, withCaveat } from "../../text/labels.ts";
import { formatPercent } from "../../text/units.ts";
import {
	changeWithInterval,
	cleanMessage,
	noiseTexts,
	pairsText,
	unchangedText,
} from "../comparison-format.ts";
import { kernelBlocks, layerBlocks } from "../engine-blocks.ts";
import { backendOfRow } from "../facts.ts";
import { figureBlocks, runBlocks } from "../figures.ts";
import type { WorkloadRow } from "../rows.ts";
import { type Block, details, type ReportSection, sentence } from "../section.ts";

const maxChanged = 100;
const maxUnchanged = 300;
/** Workloads whose evidence is open. */
const maxOpen = 8;

function wasTimed({ layers, runs }: WorkloadResult): boolean {
	return layers !== undefined || runs.some(({ medianMs }) => medianMs !== undefined);
}

function verdictText(workload: WorkloadResult, result: Result): string {
	const compared = comparedOf(workload);
	const backend = backendOfRow(result, workload);
	if (workload.verdict === "unchanged") return unchangedText(workload, backend);
	const label = speedLabel(workload, backend);
	const change = workload.work === undefined ? changeWithInterval(compared) : workText(compared);
	const why = compared.reason ?? workload.doubt;
	return `${label.charAt(0).toUpperCase()}${label.slice(1)}${compared.estimate === null ? "" : `: ${change}`}.${why === undefined ? "" : ` ${cleanMessage(why)}`}`;
}

function basisText(workload: WorkloadResult): string {
	const { noise, latency, replaced, streams, precision } = workload;
	const shapes = Object.entries(workload.shapes)
		.slice(0, 12)
		.map(([name, shape]) => `${cleanName(name, 40)} ${shape.slice(0, 12).join("×")}`);
	return [
		...(latency.pairs === 0 ? [] : [pairsText(latency)]),
		...noiseTexts(workload),
		...(noise.detectable === null ? [] : [`smallest detectable change ${formatPercent(noise.detectable)}`]),
		...(replaced === 0 ? [] : [`${counted(replaced, "run")} discarded as invalid and repeated`]),
		...shapes,
		counted(streams, "stream"),
		cleanName(precision, 20),
	].join(" · ");
}

function evidence({ workload, isSpeedUnchanged }: WorkloadRow, result: Result): Block[] {
	return [
		sentence(verdictText(workload, result)),
		sentence(basisText(workload), "quiet"),
		...(workload.notes ?? []).slice(0, 20).map((note) => sentence(cleanMessage(note))),
		...layerBlocks(workload, !isSpeedUnchanged),
		...kernelBlocks(workload),
		...figureBlocks(workload),
		...runBlocks(workload),
	];
}

/** Changed rows first. */
export function workloadAnchors(rows: readonly WorkloadRow[]): Map<WorkloadRow, string> {
	const timed = rows.filter((row) => wasTimed(row.workload));
	const changed = timed.filter((row) => !row.isSpeedUnchanged).slice(0, maxChanged);
	const unchanged = timed.filter((row) => row.isSpeedUnchanged).slice(0, maxUnchanged);
	return new Map([...changed, ...unchanged].map((row) => [row, `workload-${rows.indexOf(row) + 1}`]));
}

export const evidenceSection: ReportSection = {
	id: "evidence",
	formats: ["html"],
	show({ result, rows }) {
		const found = [...workloadAnchors(rows)];
		if (found.length === 0) return null;
		const drawn = found.map(([row, id], index): [WorkloadRow, Block] => [
			row,
			{
				kind: "details",
				id,
				title: withCaveat(subjectName(row.workload), backendOfRow(result, row.workload)),
				blocks: evidence(row, result),
				isOpen: index < maxOpen && !row.isSpeedUnchanged,
			},
		]);
		const blocksOf = (isUnchanged: boolean): Block[] =>
			drawn.flatMap(([row, block]) => (row.isSpeedUnchanged === isUnchanged ? [block] : []));
		const unchanged = blocksOf(true);
		const label = result.arms.base === null ? "timed workload" : "unchanged workload";
		return {
			title: "Evidence by workload",
			blocks: [...blocksOf(false), ...details(`${counted(unchanged.length, label)}, run by run`, unchanged)],
		};
	},
};
