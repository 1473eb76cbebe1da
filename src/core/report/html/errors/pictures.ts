// The pictures of golden checks that do not pass: the worst of each output open, the rest folded.

import type {
	GoldenCheck,
	GoldenElement,
	GoldenVerdict,
	Numeric,
	Result,
} from "../../../../../generated/result.ts";
import { ofSlice } from "../../../golden/tensor/slice.ts";
import { cleanName } from "../../../text/escape.ts";
import { subjectName } from "../../../text/labels.ts";
import { formatValue } from "../../../text/units.ts";
import { apartTexts, capRatio, measureText, offBy } from "../../golden-format.ts";
import { type Column, html, type Markup, moreText, type Piece, pill, sortableTable } from "../markup.ts";
import { drawErrorMap } from "./map.ts";

interface Drawn {
	verdict: GoldenVerdict;
	check: GoldenCheck;
}

const maxPictures = 60;

/** The worst check of each output of each engine, in the order of the result. */
function worstOfEach(result: Result): Drawn[] {
	const worst = new Map<string, Drawn>();
	for (const verdict of result.golden) {
		const { model, engine, part } = verdict;
		for (const check of verdict.checks) {
			if (check.errorMap === undefined && (check.largest ?? []).length === 0) continue;
			const key = JSON.stringify([part ?? null, model, engine, check.output]);
			const known = worst.get(key);
			if (known === undefined || capRatio(check) > capRatio(known.check)) worst.set(key, { verdict, check });
		}
	}
	return [...worst.values()];
}

function sortable(value: Numeric): number {
	return typeof value === "number" ? value : 1e300;
}

const elementColumns: readonly Column<GoldenElement>[] = [
	{
		title: "element",
		heading: true,
		cell: ({ index }) => html`<code>${index.slice(0, 12).join(", ")}</code>`,
	},
	{
		title: "golden",
		numeric: true,
		cell: (element) => apartTexts(element).expected,
		sortBy: ({ expected }) => sortable(expected),
	},
	{
		title: "head",
		numeric: true,
		cell: (element) => html`<span class="strong">${apartTexts(element).got}</span>`,
		sortBy: ({ got }) => sortable(got),
	},
	{
		title: "off by",
		numeric: true,
		cell: (element) => formatValue(offBy(element), 3),
		sortBy: (element) => sortable(offBy(element)),
	},
];

const allowedColumn: Column<GoldenElement> = {
	title: "allowed",
	numeric: true,
	cell: ({ allowed }) => (allowed === undefined ? "–" : `± ${formatValue(allowed, 3)}`),
	sortBy: ({ allowed }) => allowed ?? null,
};

function elementsPart({ check }: Drawn, name: string): Piece {
	const elements = (check.largest ?? []).slice(0, 5);
	if (elements.length === 0) return null;
	const spoken = elements.some(({ allowed }) => allowed !== undefined);
	const note =
		spoken || check.allowed === null
			? null
			: html`<p class="legend">the limit is on all elements together, not on each</p>`;
	const columns = [...elementColumns, ...(spoken ? [allowedColumn] : [])];
	return html`<div><h4>Furthest from the golden</h4>${sortableTable(`furthest elements of ${name}`, columns, elements)}${note}</div>`;
}

function mapPart({ check }: Drawn, name: string): Piece {
	if (check.errorMap === undefined) return null;
	const rank = check.largest?.[0]?.index.length ?? 0;
	const map = drawErrorMap(check.errorMap, { name, rank });
	return map === null ? null : html`<div><h4>Where</h4>${map}</div>`;
}

function picture(drawn: Drawn): Markup {
	const { verdict, check } = drawn;
	const { model, engine, case: id, part } = verdict;
	const output = cleanName(check.output, 60);
	const subject = subjectName({ model, engine, case: id, part });
	const name = `${output}${ofSlice(check.slice)}, ${subject}`;
	const sample = check.sample === undefined ? "" : `, sample ${check.sample}`;
	const label = check.severity === "warn" ? pill("warn", "warn") : pill("fail", "bad");
	return html`<article class="picture"><h3>${output} <small>${subject}${sample}</small> ${label}</h3>
<p>${measureText(check)}.</p><div class="errors">${mapPart(drawn, name)}${elementsPart(drawn, name)}</div></article>
`;
}

export function errorPictures(result: Result): Piece {
	const worst = worstOfEach(result);
	return [
		worst.slice(0, maxPictures).map(picture),
		moreText(Math.max(0, worst.length - maxPictures), "pictures"),
	];
}
