// `trtgate report`: renders the reports again from result.json.
import { join, resolve } from "node:path";
import { fileStore } from "../../adapters/files/store.ts";
import { parseResult } from "../../core/report/parse-result.ts";
import { renderReport, reportFiles } from "../../stages/report.ts";
import { exitOfResult } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { parseArguments } from "./arguments.ts";
import { readArgument } from "./read.ts";
import { showResult } from "./run.ts";

export async function report(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, { json: { type: "boolean" } }, { command: "report", positionals: ["DIR"] });
	const folder = args.positionals[0] ?? ".";
	const { path, text } = await readArgument(join(folder, reportFiles.result), terminal.cwd, "result-invalid");
	const result = parseResult(text, path);
	const outFolder = resolve(terminal.cwd, folder);
	await renderReport(result, outFolder, fileStore());
	showResult(result, { json: args.flag("json"), outFolder }, terminal);
	return exitOfResult(result);
}
