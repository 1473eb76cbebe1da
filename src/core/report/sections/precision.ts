// How much of each engine runs in its declared precision, and the INT8 ranges that another calibration changed.
import type { BuildRecord, RangeChange, Result } from "../../../../generated/result.ts";
import { causes, layerTexts, typeChanges } from "../../../engine/core/uncovered.ts";
import { dash } from "../../compare/sentence.ts";
import { cleanMessage, cleanName } from "../../text/escape.ts";
import { counted, present, subjectName } from "../../text/labels.ts";
import { formatPercent, formatValue } from "../../text/units.ts";
import { engineKey, failingGates, type GateIndex, type Highlight } from "../highlight.ts";
import {
	type Column,
	code,
	heading,
	long,
	numbers,
	plain,
	type ReportSection,
	sentence,
	table,
} from "../section.ts";
import { buildPairs } from "./builds.ts";

type Covered = BuildRecord & { precisionCoverage: NonNullable<BuildRecord["precisionCoverage"]> };
interface Row {
	head: Covered;
	base: BuildRecord | null;
}

function heaviestOf({ precisionCoverage: { outside, outsideCount } }: Covered) {
	return layerTexts(outside.slice(0, 3), outsideCount);
}

function changesOf({ head }: Row) {
	const { lost, gained } = typeChanges(head.precisionCoverage);
	const texts = present([lost, gained]);
	return texts.length === 0 ? [] : [`${subjectName(head)}: ${texts.join(" ")}`];
}

function rowsOf(result: Result) {
	return buildPairs(result).flatMap(({ head, base }) => {
		const { precisionCoverage } = head ?? {};
		return head === null || precisionCoverage === undefined
			? []
			: [{ head: { ...head, precisionCoverage }, base }];
	});
}

const columns: readonly Column<Row>[] = [
	heading("Engine", ({ head }) => subjectName(head)),
	plain("declared", ({ head }) => cleanName(head.precisionCoverage.precision, 20)),
	numbers("base", ({ base }) => base?.precisionCoverage?.multiplyAdds, formatPercent),
	numbers("head", ({ head }) => head.precisionCoverage.multiplyAdds, formatPercent),
	numbers("of the time", ({ head }) => head.precisionCoverage.time, formatPercent),
	numbers("known", ({ head }) => head.precisionCoverage.known, formatPercent),
	long("heaviest layers in another precision", ({ head }) => heaviestOf(head).join(" · ") || dash),
];

function highlightOf(result: Result, gates: GateIndex): Highlight[] {
	const rows = new Map(rowsOf(result).map(({ head }) => [engineKey(head), head]));
	return failingGates(result).flatMap((gate) => {
		const { engine = "", model, part } = gate;
		const head =
			gate.gate === "precision-coverage" ? rows.get(engineKey({ model, engine, part })) : undefined;
		if (head === undefined) return [];
		const { precision, multiplyAdds, outside } = head.precisionCoverage;
		const share = multiplyAdds === null ? "an unknown share" : formatPercent(multiplyAdds);
		return [
			{
				...gates.explain("precision-coverage", head, "warn"),
				topic: ["engine not in its precision", "engines not in their precision"],
				title: `${subjectName(head)} is declared ${cleanName(precision, 20)}, and ${share} of its multiply-adds run so`,
				lines: heaviestOf(head),
				sentences: gate.message === undefined ? [] : [cleanMessage(gate.message)],
				fix: outside[0] && causes[outside[0].cause].fix,
			},
		];
	});
}

const intros = {
	html: "Shares of multiply-adds, by the layers that the builder lists. The time is of a profile. *Known* is what of the graph could be assigned to layers.",
	markdown: "The shares of each engine are in `report.html`.",
};

export const precisionSection: ReportSection = {
	id: "precision",
	show({ result }, { format }) {
		const rows = rowsOf(result);
		if (rows.length === 0) return null;
		const partly = rows.filter(({ head }) => head.precisionCoverage.outsideCount > 0);
		const shown = format === "html" ? rows : partly;
		const changes = rows.flatMap(changesOf);
		return {
			title: `Precision: ${rows.length - partly.length} of ${counted(rows.length, "engine runs", "engines run")} entirely as declared`,
			blocks: [
				...(format === "terminal" ? [] : [sentence(intros[format])]),
				...(shown.length === 0 ? [] : [table("precision", columns, shown, { noun: "engine" })]),
				...(changes.length === 0 ? [] : [{ kind: "list", items: changes } as const]),
			],
		};
	},
	highlights: highlightOf,
};

const rangeColumns: readonly Column<RangeChange & { build: BuildRecord }>[] = [
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
		return { title, blocks: [...sentences, table("calibration", rangeColumns, rows, { noun: "range" })] };
	},
};
