// Ranges of INT8 engines that another calibration changed.
import type { BuildRecord, RangeChange } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, subjectName } from "../../text/labels.ts";
import { formatValue } from "../../text/units.ts";
import { engineKey } from "../index-gates.ts";
import { type Column, code, heading, numbers, type ReportSection, sentence, table } from "../section.ts";

const columns: readonly Column<RangeChange & { build: BuildRecord }>[] = [
	heading("Engine", ({ build }) => subjectName(build)),
	code("tensor", ({ tensor }) => cleanName(tensor, 120)),
	numbers("range base", ({ base }) => base, formatValue),
	numbers("range head", ({ head }) => head, formatValue),
];

function dataText({ calibration }: Partial<BuildRecord> = {}) {
	const { method, cases, dataSha256 } = calibration ?? {};
	if (cases === undefined) return "a stored cache";
	return `${counted(cases, "case")} (${method}, data ${dataSha256?.slice(0, 12)})`;
}

export const calibrationSection: ReportSection = {
	id: "calibration",
	show({ result: { builds } }) {
		const heads = builds.filter(({ arm, calibration }) => arm === "head" && calibration?.changed);
		if (heads.length === 0) return null;
		const sentences = heads.map((head) => {
			const { changed, tensors = 0 } = head.calibration ?? {};
			const base = builds.find((build) => build.arm === "base" && engineKey(build) === engineKey(head));
			const what = `${subjectName(head)}: ${changed} of ${counted(tensors, "range")} changed`;
			return sentence(`${what}, from ${dataText(base)} to ${dataText(head)}.`);
		});
		const rows = heads.flatMap((build) =>
			(build.calibration?.drift ?? []).map((change) => ({ ...change, build })),
		);
		const title = `Calibration: ${counted(heads.length, "engine")} with other ranges`;
		return { title, blocks: [...sentences, table("calibration", columns, rows, { noun: "range" })] };
	},
};
