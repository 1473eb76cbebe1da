// `trtgate explain`: why the workloads of a result changed, or where the time of one engine goes.
import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { explainEngine } from "../../core/engine/alone.ts";
import { usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { engineText, type TitledDiff } from "../../core/report/engine-report.ts";
import { parseResult } from "../../core/report/parse-result.ts";
import { jsonText } from "../../core/text/escape.ts";
import { subjectName } from "../../core/text/labels.ts";
import { reportFiles } from "../../stages/report.ts";
import { exitCodes } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { parseArguments, readArgument } from "./arguments.ts";
import { renderAs } from "./diff.ts";
import { findEngines, readEngine } from "./find-engines.ts";
import { explainTable } from "./tables.ts";

export async function explain(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, explainTable);
	const path = args.positionals[0] ?? "";
	const format = args.text("format");
	const render = renderAs(format, `trtgate explain ${path}`);
	const result = await resultAt(path, terminal.cwd);
	if (result !== null) {
		const explained = await explainedRows(result, terminal.cwd);
		terminal.out(
			explained.length === 0 ? `${result} explains no workload: none changed, or its engines were not profiled.\n` : render(explained),
		);
		return exitCodes.ok;
	}
	if (format === "markdown" || format === "html") {
		throw usageError(
			`One engine alone is shown as text or JSON, not as ${format}.`,
			"Leave --format out, or compare it with another by `trtgate diff`.",
		);
	}
	for (const found of await findEngines(path, terminal.cwd, "head")) {
		const alone = explainEngine(await readEngine(found), args.text("gpu") ?? null);
		terminal.out(format === "json" ? jsonText(alone) : engineText(found.name === "" ? path : `${path}: ${found.name}`, alone));
	}
	return exitCodes.ok;
}

/** The result.json that a path names, or whose folder it names. */
async function resultAt(path: string, cwd: string): Promise<string | null> {
	if (basename(path) === reportFiles.result) return path;
	const inside = join(path, reportFiles.result);
	const found = await stat(resolve(cwd, inside)).catch(() => null);
	return found?.isFile() === true ? inside : null;
}

async function explainedRows(path: string, cwd: string): Promise<TitledDiff[]> {
	const { text } = await readArgument(path, cwd, inputKinds.result);
	const { workloads } = parseResult(text, path);
	return workloads.flatMap((workload) =>
		workload.explanation === undefined ? [] : [{ title: `${dirname(path)}: ${subjectName(workload)}`, diff: workload.explanation }],
	);
}
