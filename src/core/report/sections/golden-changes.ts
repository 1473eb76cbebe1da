// Goldens that differ between base and head, with the stated reason.
import type { GoldenChange, MovedOutput, ToleranceChange } from "../../../../generated/result.ts";
import { cleanMessage, cleanName, quoted } from "../../text/escape.ts";
import { counted, present } from "../../text/labels.ts";
import { formatValue } from "../../text/units.ts";
import { movedText, sortable } from "../golden-format.ts";
import type { GateIndex, Highlight } from "../highlight.ts";
import {
	type Block,
	type Column,
	heading,
	long,
	numeric,
	plain,
	type ReportSection,
	sentence,
	table,
} from "../section.ts";

const maxChanged = 6;

const movedColumns: readonly Column<MovedOutput>[] = [
	heading("Output", ({ output }) => cleanName(output, 60)),
	plain("case", (moved) => cleanName(moved.case, 60)),
	long("moved by", movedText, { sortBy: ({ relativeL2 }) => sortable(relativeL2 ?? "NaN") }),
];

function limitText(value: ToleranceChange["base"]) {
	return typeof value === "number" ? formatValue(value) : cleanName(value ?? "default", 40);
}

const limitColumns: readonly Column<ToleranceChange>[] = [
	heading("Limit", ({ output }) => cleanName(output, 60)),
	plain("check", ({ kind }) => cleanName(kind, 40)),
	long("of", ({ what }) => cleanName(what, 80)),
	numeric("base", ({ base }) => limitText(base)),
	numeric("head", ({ head }) => limitText(head)),
	plain("", ({ looser }) => (looser ? "looser" : "tighter or new"), {
		tone: ({ looser }) => (looser ? "bad" : "plain"),
	}),
];

function whyText({ reason, author }: GoldenChange) {
	const who = author === undefined ? "The author" : cleanName(author, 80);
	return reason === undefined ? "No reason was given." : `${who} wrote: “${cleanMessage(reason, 300)}”`;
}

export function revisionText({ base, head }: Pick<GoldenChange, "base" | "head">): string {
	const from = cleanName(base ?? "none", 60);
	const to = cleanName(head ?? "removed", 60);
	return from === to ? from : `${from} → ${to}`;
}

export function changeBlocks({ moved, movedTotal, tolerances, weakened, notes }: GoldenChange): Block[] {
	const lines = [
		...weakened.slice(0, 100).map((text) => `WEAKER: ${cleanMessage(text, 400)}`),
		...notes.slice(0, 100).map((text) => cleanMessage(text, 400)),
	];
	return [
		{ kind: "list", items: lines },
		table("outputs that moved", movedColumns, moved, {
			noun: "moved output",
			hidden: movedTotal - moved.length,
		}),
		table("limits that changed", limitColumns, tolerances, { noun: "changed limit" }),
	];
}

function blocksOf(change: GoldenChange): Block[] {
	const { model, path } = change;
	return [
		{ kind: "heading", text: `${cleanName(model)}: ${cleanName(path, 120)}, ${revisionText(change)}` },
		sentence(whyText(change)),
		...changeBlocks(change),
	];
}

function sentencesOf(change: GoldenChange) {
	const { weakened, moved, movedTotal, notes, tolerances, reason } = change;
	const [first] = moved;
	const tighter = tolerances.filter(({ looser }) => !looser).length;
	const hidden = weakened.length - maxChanged;
	const furthest =
		first && `${quoted(first.output, 80)} of case ${quoted(first.case, 60)}: ${movedText(first)}`;
	return present([
		...weakened.slice(0, maxChanged).map((text) => `WEAKER: ${cleanMessage(text, 300)}`),
		hidden > 0 && `${counted(hidden, "more item")} became weaker.`,
		furthest && `${counted(movedTotal, "output")} moved, furthest ${furthest}.`,
		tighter > 0 && `${counted(tighter, "limit is", "limits are")} tighter or new.`,
		...notes.slice(0, 4).map((text) => cleanMessage(text, 300)),
		reason !== undefined && whyText(change),
	]);
}

function changeHighlight(change: GoldenChange, gates: GateIndex): Highlight[] {
	const { model, weakened } = change;
	if (gates.of("golden-change", { model }).length === 0) return [];
	const weaker = weakened.length > 0;
	return [
		{
			...gates.explain("golden-change", { model }, "warn"),
			topic: weaker ? ["weakened golden", "weakened goldens"] : ["changed golden", "changed goldens"],
			title: `${cleanName(model)}: the golden changed and needs review${weaker ? ": it is WEAKER" : ""} (${revisionText(change)})`,
			sentences: sentencesOf(change),
			fix: "Approve it only if the old golden was wrong or the new one is intended.",
		},
	];
}

export const goldenChangeSection: ReportSection = {
	id: "golden-changes",
	formats: ["html"],
	show: ({ result: { goldenChanges = [] } }) =>
		goldenChanges.length === 0
			? null
			: {
					title: `${counted(goldenChanges.length, "golden")} changed`,
					blocks: goldenChanges.slice(0, 100).flatMap(blocksOf),
				},
	highlights: ({ goldenChanges = [] }, gates) =>
		goldenChanges.flatMap((change) => changeHighlight(change, gates)),
};
