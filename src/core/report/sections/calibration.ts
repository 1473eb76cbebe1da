// Ranges of INT8 engines that another calibration changed.
import type { BuildRecord, RangeChange, Result } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, subjectName } from "../../text/labels.ts";
import { formatValue } from "../../text/units.ts";
import { engineKey } from "../index-gates.ts";
import { type Column, code, heading, numbers, type ReportSection, sentence, table } from "../section.ts";

interface Line extends RangeChange {
	build: BuildRecord;
}

const columns: readonly Column<Line>[] = [
	heading("Engine", ({ build }) => subjectName(build)),
	code("tensor", ({ tensor }) => cleanName(tensor, 120)),
	numbers("range base", ({ base }) => base, formatValue),
	numbers("range head", ({ head }) => head, formatValue),
	numbers(
		"head / base",
		({ base, head }) => (base > 0 ? head / base : null),
		(ratio) => formatValue(ratio, 3),
	),
];

function dataText(build: BuildRecord | undefined): string {
	const { method, cases, dataSha256 } = build?.calibration ?? {};
	if (method === undefined || cases === undefined || dataSha256 === undefined) return "a stored cache";
	return `${counted(cases, "case")} (${method}, data ${dataSha256.slice(0, 12)})`;
}

function sentenceOf(head: BuildRecord, { builds }: Result): string {
	const { changed = 0, tensors = 0 } = head.calibration ?? {};
	const base = builds.find((build) => build.arm === "base" && engineKey(build) === engineKey(head));
	return `${subjectName(head)}: ${changed} of ${counted(tensors, "range")} changed, from ${dataText(base)} to ${dataText(head)}.`;
}

export const calibrationSection: ReportSection = {
	id: "calibration",
	show({ result }) {
		const heads = result.builds.filter(({ arm, calibration }) => arm === "head" && calibration?.changed);
		if (heads.length === 0) return null;
		const lines = heads.flatMap((build) =>
			(build.calibration?.drift ?? []).map((change) => ({ ...change, build })),
		);
		const sentences = heads.map((head) => sentence(sentenceOf(head, result)));
		const title = `Calibration: other ranges in ${counted(heads.length, "engine")}`;
		return { title, blocks: [...sentences, table("calibration", columns, lines, { noun: "range" })] };
	},
};
