// How much of each engine runs in its declared precision, and what does not.
import type { BuildRecord, Result, UncoveredCause, UncoveredLayer } from "../../../../generated/result.ts";
import { groupBy } from "../../group.ts";
import { cleanMessage, cleanName } from "../../text/escape.ts";
import { counted, present, subjectName } from "../../text/labels.ts";
import { formatPercent } from "../../text/units.ts";
import { dash } from "../comparison-format.ts";
import type { Highlight } from "../highlight.ts";
import { engineKey, failingGates, type GateIndex } from "../index-gates.ts";
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

type Covered = BuildRecord & { precisionCoverage: NonNullable<BuildRecord["precisionCoverage"]> };
interface Row {
	head: Covered;
	base: BuildRecord | undefined;
}

const causes: Readonly<Record<UncoveredCause, { why(at: string): string; fix: string }>> = {
	cast: {
		why: (at) => `the Cast ${at} beside it`,
		fix: "Remove the casts, or keep them if they guard accuracy and lower `gates.precision-coverage`.",
	},
	"no-qdq": {
		why: (at) => (at === "" ? "the file has no Q/DQ nodes" : `no Q/DQ on ${at}`),
		fix: "Put Q and DQ on both inputs of the product, directly before it, or calibrate.",
	},
	"qdq-before-add": {
		why: (at) => `Q/DQ stand before the Add ${at}, not behind it`,
		fix: "Put Q and DQ behind the residual Add too, on the tensor that the product reads.",
	},
	range: {
		why: () => "the builder warned of ranges; see the build's log",
		fix: "Give every tensor a scale, or scale weights that half precision cannot hold.",
	},
	kernel: {
		why: () => "the builder chose this kernel: it has none in the precision, or only slower ones",
		fix: "Check channel counts (multiples of 8, in int8 of 32) and the builder's verbose log.",
	},
};

const layerText = ({ layer, precision, share, cause, at }: UncoveredLayer) => {
	const why = causes[cause].why(at === undefined ? "" : cleanName(at, 80));
	return `${cleanName(layer, 100)} in ${cleanName(precision, 20)} (${formatPercent(share)}; ${why})`;
};

function layersText({ precisionCoverage: { outside, outsideCount } }: Covered, most: number): string {
	const more = outsideCount - Math.min(most, outside.length);
	const names = outside.slice(0, most).map(layerText);
	return present([...names, more > 0 && `${counted(more, "more layer")}`]).join(" · ");
}

function rowsOf({ builds }: Result): Row[] {
	return [...groupBy(builds, engineKey).values()].flatMap((own) => {
		const head = own.findLast(({ arm }) => arm === "head");
		const base = own.findLast(({ arm }) => arm === "base");
		const { precisionCoverage } = head ?? {};
		return head === undefined || precisionCoverage === undefined
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
	long("heaviest layers in another precision", ({ head }) => layersText(head, 3) || dash),
];

function highlightOf(result: Result, gates: GateIndex): Highlight[] {
	const rows = new Map(rowsOf(result).map(({ head }) => [engineKey(head), head]));
	return failingGates(result).flatMap((gate) => {
		const { engine = "", model, part } = gate;
		const head =
			gate.gate === "precision-coverage"
				? rows.get(engineKey({ model, engine, ...(part && { part }) }))
				: undefined;
		if (head === undefined) return [];
		const { precision, multiplyAdds, outside } = head.precisionCoverage;
		const share = multiplyAdds === null ? "an unknown share" : formatPercent(multiplyAdds);
		return [
			{
				...gates.explain("precision-coverage", head, "warn"),
				topic: ["engine not in its precision", "engines not in their precision"],
				title: `${subjectName(head)} is declared ${cleanName(precision, 20)}, and ${share} of its multiply-adds run so`,
				sentences: [
					cleanMessage(present([gate.message, layersText(head, 3)]).join(" Heaviest outside: "), 500),
				],
				fix: outside[0] && causes[outside[0].cause].fix,
			},
		];
	});
}

const intro =
	"Shares of multiply-adds, by the layers that the builder lists. The time is of a profile. *Known* is what of the graph could be assigned to layers.";

export const precisionSection: ReportSection = {
	id: "precision",
	show({ result }, { format }) {
		const rows = rowsOf(result);
		if (rows.length === 0) return null;
		const partly = rows.filter(({ head }) => head.precisionCoverage.outsideCount > 0);
		const shown = format === "html" ? rows : partly;
		return {
			title: `Precision: ${rows.length - partly.length} of ${counted(rows.length, "engine runs", "engines run")} entirely as declared`,
			blocks: [
				...(format === "html" ? [sentence(intro)] : []),
				...(shown.length === 0 ? [] : [table("precision", columns, shown, { noun: "engine" })]),
			],
		};
	},
	highlights: highlightOf,
};
