// Why an engine changed: the sentence, the table, and pictures of the same rows.
import type { EngineDiff, EngineRow } from "../../../../generated/result.ts";
import { quoted } from "../../text/escape.ts";
import {
	accountSentence,
	changeText,
	detailTexts,
	headlineOf,
	machineSentences,
	repeatText,
	unchangedSentence,
	unitOf,
} from "../engine-format.ts";
import type { LayerUnit } from "../layer-format.ts";
import { graphPart } from "./engine-graph.ts";
import { waterfall } from "./engine-waterfall.ts";
import { type Column, coded, html, moreText, type Piece, sortableTable } from "./markup.ts";

const mostRows = 200;

/** `graph`: the changed neighbourhood alone, or all groups as well, folded. */
export function enginePart(
	diff: EngineDiff,
	label: string,
	{ graph = "all" }: { graph?: "near" | "all" } = {},
): Piece {
	const unit = unitOf(diff);
	const account = accountSentence(diff, unit);
	const warnings = diff.warnings.map((warning) => html`<p class="notice">${coded(warning)}</p>`);
	const machine = (diff.machine ?? []).map(({ try: advice }, index) => {
		const says = machineSentences(diff)[index] ?? "";
		return html`<p>${coded(says)}${advice === undefined ? null : coded(` Try: ${advice}`)}</p>`;
	});
	return [
		html`<p>${coded(headlineOf(diff, unit))}${account === null ? null : ` ${account}`}</p>${machine}${warnings}`,
		diff.rows.length === 0
			? null
			: sortableTable(
					`node groups that changed: ${label}`,
					columns(diff, unit),
					diff.rows.slice(0, mostRows),
				),
		waterfall(diff, unit),
		graphPart(diff.graph, unit, { label, all: graph === "all" }),
		moreText(diff.rows.length + diff.hidden - mostRows, "rows"),
		html`<p class="legend">${unchangedSentence(diff, unit)}</p>
`,
	];
}

function columns({ account }: EngineDiff, unit: LayerUnit): Column<EngineRow>[] {
	const time = (arm: "base" | "head"): Column<EngineRow> => ({
		title: `${arm}, ${unit.name}`,
		numeric: true,
		cell: (row) => (row[arm]?.meanMs == null ? "–" : unit.format(row[arm].meanMs)),
		sortBy: (row) => row[arm]?.meanMs ?? null,
	});
	const change: Column<EngineRow> = {
		title: `change, ${unit.name}`,
		numeric: true,
		cell: (row) => html`<b>${changeText(row, unit).replace(` ${unit.name}`, "") || "–"}</b>`,
		sortBy: ({ changeMs, isSignificant }) => (isSignificant ? changeMs : null),
	};
	const kernels: Column<EngineRow> = {
		title: "kernels",
		numeric: true,
		cell: ({ base, head }) => `${base?.kernels ?? 0} → ${head?.kernels ?? 0}`,
		sortBy: ({ base, head }) => (head?.kernels ?? 0) - (base?.kernels ?? 0),
	};
	return [
		{ title: "ONNX nodes", heading: true, cell: nameCell },
		...(account === null ? [] : [change, time("base"), time("head")]),
		kernels,
		{ title: "why", wraps: true, cell: whyCell },
	];
}

function nameCell(row: EngineRow): Piece {
	const repeats = repeatText(row);
	const others = row.members.filter((name) => name !== row.label).slice(0, 5);
	return html`${coded(quoted(row.label, 120))}${repeats === "" ? null : html`<small>${repeats}${others.length === 0 ? null : `: ${others.join(", ")}`}${row.members.length > 6 ? ", …" : null}</small>`}`;
}

function whyCell(row: EngineRow): Piece {
	const says = row.causes.map(({ says: text }) => text).join("; ");
	const details = detailTexts(row).map((text, at) => [at === 0 ? null : " · ", coded(text)]);
	return html`${coded(says === "" ? "unknown" : says)}<small>${details}</small>`;
}
