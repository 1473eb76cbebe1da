// Engines that base and head build differently: every setting that differs, as each side's own config has it.
import type { RecipeChange, RecipeRow, Result, WorkloadResult } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, subjectName } from "../../text/labels.ts";
import { type Column, html, section } from "../html/markup.ts";
import { defineSection } from "../section.ts";
import { foldedTable, htmlTable, terminalTable } from "../table.ts";

const maxInTerminal = 12;
const maxRows = 300;
const maxNamed = 4;
const noun = "setting";

interface Line {
	change: RecipeChange;
	row: RecipeRow;
}

const column = (title: string, text: (line: Line) => string): Column<Line> => ({
	title,
	wraps: true,
	text,
	cell: (line) => html`<code>${text(line)}</code>`,
});

const columns: readonly Column<Line>[] = [
	{
		title: "Engine",
		heading: true,
		text: ({ change }) => subjectName(change),
		cell: ({ change }) => html`<b>${subjectName(change)}</b>`,
	},
	column("setting", ({ row }) => cleanName(row.what, 80)),
	column("base", ({ row }) => cleanName(row.base, 200)),
	column("head", ({ row }) => cleanName(row.head, 200)),
];

function linesOf(change: RecipeChange): Line[] {
	const name = `${change.model}/${change.engine}`;
	const renamed =
		change.was === undefined ? [] : [{ change, row: { what: "name", base: change.was, head: name } }];
	return [...renamed, ...change.rows.map((row) => ({ change, row }))];
}

/** `Built differently: optimization-level 3 → 0, precision fp16 → int8.`; null where base and head have one recipe. */
export function recipeSentence(
	{ recipeChanges = [] }: Result,
	workload: Pick<WorkloadResult, "model" | "engine" | "part">,
): string | null {
	const change = recipeChanges.find(
		({ model, engine, part }) =>
			model === workload.model && engine === workload.engine && part === workload.part,
	);
	if (change === undefined || change.rows.length === 0) return null;
	const texts = change.rows.map(
		({ what, base, head }) => `${cleanName(what, 60)} ${cleanName(base, 60)} → ${cleanName(head, 60)}`,
	);
	const more = texts.length > maxNamed ? ` and ${texts.length - maxNamed} more` : "";
	return `Built differently: ${texts.slice(0, maxNamed).join(", ")}${more}.`;
}

/** A new name alone changes no build. */
function titleOf(changes: readonly RecipeChange[]): string {
	const built = changes.filter(({ rows }) => rows.length > 0).length;
	const renamed = changes.filter(({ was }) => was !== undefined).length;
	const parts = [
		...(built === 0 ? [] : [`${counted(built, "engine")} built differently`]),
		...(renamed === 0 ? [] : [built === 0 ? `${counted(renamed, "engine")} renamed` : `${renamed} renamed`]),
	];
	return `${parts.join(", ")}, base → head`;
}

export const recipeSection = defineSection({
	id: "recipes",
	select: ({ result: { recipeChanges = [] } }) => {
		const lines = recipeChanges.flatMap(linesOf);
		return lines.length === 0 ? null : { title: titleOf(recipeChanges), lines };
	},
	markdown: ({ title, lines: rows }, { rows: most }) => [foldedTable(title, columns, { rows, most, noun })],
	html: ({ title, lines: rows }) =>
		section(title, htmlTable("recipes", columns, { rows, most: maxRows, noun }), "recipes"),
	terminal: ({ title, lines: rows }, options) =>
		terminalTable(title, columns, { rows, most: maxInTerminal, noun, options }),
});
