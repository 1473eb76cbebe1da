// What each precision of a model costs and is worth: engines that `against` links.

import { cleanName } from "../../text/escape.ts";
import { subjectName } from "../../text/labels.ts";
import { formatBytes, formatMs } from "../../text/units.ts";
import { changeText, dash, intervalText, levelText } from "../comparison-format.ts";
import { drawTradeOff } from "../html/charts.ts";
import { nameOf } from "../html/markup.ts";
import {
	type Block,
	type Column,
	heading,
	long,
	numbers,
	numeric,
	plain,
	type ReportSection,
	sentence,
	table,
} from "../section.ts";
import { type SiblingRow, siblingFamilies } from "../sibling-rows.ts";

function columnsOf(rows: readonly SiblingRow[]): Column<SiblingRow>[] {
	const first = rows.find(({ latency }) => latency?.interval != null)?.latency;
	const level = first === undefined ? "" : ` (${levelText(first)} interval)`;
	return [
		heading<SiblingRow>("Engine", subjectName, {
			cell: ({ model, engine, workload, part }) => nameOf(model, [engine, workload], part),
		}),
		plain("precision", ({ precision }) => (precision === "" ? dash : cleanName(precision, 20))),
		plain("best", bestText, {
			tone: ({ isBest, error }) => (isBest ? "ok" : error.isWrong ? "bad" : null),
		}),
		numbers("time", ({ ms }) => ms, formatMs),
		numeric("error", ({ error }) => error.text ?? dash, { sortBy: ({ error }) => error.value }),
		numbers("GPU memory", ({ memoryBytes }) => memoryBytes, formatBytes),
		numbers("plan", ({ engineBytes }) => engineBytes, formatBytes),
		long(`against sibling${level}`, againstText, { sortBy: ({ latency }) => latency?.estimate ?? null }),
	];
}

function bestText({ isBest, error, place }: SiblingRow) {
	if (error.isWrong) return "fails golden";
	return isBest ? "best" : place === null ? "not compared" : dash;
}

function againstText({ against, latency }: SiblingRow) {
	if (against === undefined || latency === undefined) return "reference";
	const interval = latency.interval === null ? "" : ` (${intervalText(latency)})`;
	return `${changeText(latency)}${interval} against ${cleanName(against)}`;
}

const legend =
	"Best: no other engine is faster or more accurate beyond doubt without being worse in the other. Errors are the worst of the golden; within a factor of two they count as equal.";

export const siblingSection: ReportSection = {
	id: "siblings",
	show({ result }, { format }) {
		const families = siblingFamilies(result);
		const rows = families.flat();
		if (rows.length === 0) return null;
		const blocks: Block[] = [
			table("engines against their siblings", columnsOf(rows), rows, { noun: "engine" }),
			sentence(legend, "quiet"),
		];
		const drawn = families.map(drawTradeOff);
		return {
			title: "Payoff: time against error",
			blocks: format === "html" ? [{ kind: "figure", drawn }, ...blocks] : blocks,
			isOpen: true,
		};
	},
};
