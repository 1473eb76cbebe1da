// `trtgate explain`
import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { parseArguments } from "../../app/commands/arguments.ts";
import { readResult } from "../../app/commands/read-result.ts";
import { explainTable } from "../../app/commands/tables.ts";
import { exitCodes } from "../../app/exit.ts";
import type { Terminal } from "../../app/terminal.ts";
import { renderDiffs, renderEngines, type TitledEngine } from "../../core/report/engine-page.ts";
import { recipeSentence } from "../../core/report/sections/changes.ts";
import { subjectName } from "../../core/text/labels.ts";
import { reportFiles } from "../../stages/report.ts";
import { explainEngine } from "../core/alone.ts";
import { findEngines, readEngine } from "./find-engines.ts";

export async function explain(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, explainTable);
	const path = args.positionals[0] ?? "";
	const format = args.text("format");
	const result = await resultAt(path, terminal.cwd);
	if (result !== null) {
		const explained = await explainedRows(result, terminal.cwd);
		terminal.out(
			explained.length === 0 && format !== "json"
				? `${result} explains no workload: none changed, or its engines were not profiled.\n`
				: renderDiffs(explained, format, `trtgate explain ${path}`),
		);
		return exitCodes.ok;
	}
	const engines: TitledEngine[] = [];
	for (const found of await findEngines(path, terminal.cwd, "head")) {
		const alone = explainEngine(await readEngine(found), args.text("gpu") ?? null);
		engines.push({ title: found.name === "" ? path : `${path}: ${found.name}`, alone });
	}
	terminal.out(renderEngines(engines, format));
	return exitCodes.ok;
}

async function resultAt(path: string, cwd: string) {
	if (basename(path) === reportFiles.result) return path;
	const inside = join(path, reportFiles.result);
	const found = await stat(resolve(cwd, inside)).catch(() => null);
	return found?.isFile() === true ? inside : null;
}

async function explainedRows(path: string, cwd: string) {
	const { result } = await readResult(path, cwd);
	return result.workloads.flatMap((workload) => {
		const { explanation: diff } = workload;
		const recipe = recipeSentence(result, workload);
		const title = `${dirname(path)}: ${subjectName(workload)}${recipe === null ? "" : ` (${recipe.replace(/\.$/, "")})`}`;
		return diff === undefined ? [] : [{ title, diff }];
	});
}
