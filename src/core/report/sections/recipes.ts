// Engines that base and head build differently: every setting that differs, as each side's own config has it.
import type { RecipeChange, RecipeRow, Result, WorkloadResult } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, listNames, subjectName } from "../../text/labels.ts";
import type { Column } from "../html/markup.ts";
import { type ReportSection, table } from "../section.ts";

interface Line {
	change: RecipeChange;
	row: RecipeRow;
}

const columns: readonly Column<Line>[] = [
	{ title: "Engine", heading: true, text: ({ change }) => subjectName(change) },
	{ title: "setting", code: true, text: ({ row }) => cleanName(row.what, 80) },
	{ title: "base", code: true, text: ({ row }) => cleanName(row.base, 200) },
	{ title: "head", code: true, text: ({ row }) => cleanName(row.head, 200) },
];

function linesOf(change: RecipeChange): Line[] {
	const { was, rows, model, engine } = change;
	const renamed = was === undefined ? [] : [{ what: "name", base: was, head: `${model}/${engine}` }];
	return [...renamed, ...rows].map((row) => ({ change, row }));
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
	return `Built differently: ${listNames(texts, 4)}.`;
}

/** A new name alone changes no build. */
function titleOf(changes: readonly RecipeChange[]): string {
	const built = changes.filter(({ rows }) => rows.length > 0).length;
	const renamed = changes.filter(({ was }) => was !== undefined).length;
	const parts = [
		...(built === 0 ? [] : [`${counted(built, "engine")} built differently`]),
		...(renamed === 0 ? [] : [`${built === 0 ? counted(renamed, "engine") : renamed} renamed`]),
	];
	return `${parts.join(", ")}, base → head`;
}

export const recipeSection: ReportSection = {
	id: "recipes",
	show({ result: { recipeChanges = [] } }) {
		const lines = recipeChanges.flatMap(linesOf);
		return lines.length === 0
			? null
			: { title: titleOf(recipeChanges), blocks: [table("recipes", columns, lines, { noun: "setting" })] };
	},
};
