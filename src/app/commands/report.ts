// `trtgate report`: renders reports again, or merges results.

import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileStore } from "../../adapters/files/store.ts";
import { makeFolders } from "../../adapters/process/write-error.ts";
import { usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { mergeResults } from "../../core/merge/merge.ts";
import { parseMatrix } from "../../core/plan/matrix.ts";
import { renderReport, reportList, writeReport } from "../../stages/report.ts";
import { exitOfResult } from "../exit.ts";
import { checkOutFolder } from "../out-folder.ts";
import { readParts } from "../parts.ts";
import type { Terminal } from "../terminal.ts";
import { version } from "../version.ts";
import { type ArgumentsOf, parseArguments, readArgument } from "./arguments.ts";
import { readResult } from "./read-result.ts";
import { showResult } from "./run.ts";
import { reportTable } from "./tables.ts";

type ReportArguments = ArgumentsOf<typeof reportTable>;

export async function report(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, reportTable, { more: argv.includes("--merge") });
	const { result, outFolder } = args.flag("merge")
		? await merged(args, terminal)
		: await again(args, terminal);
	showResult(result, { json: args.flag("json"), outFolder }, terminal);
	return exitOfResult(result);
}

async function again(args: ReportArguments, terminal: Terminal) {
	for (const option of ["plan", "out"] as const) {
		if (!args.isGiven(option)) continue;
		throw usageError(`--${option} goes with --merge only.`, "Add --merge, or leave it out.");
	}
	const { result: read, path } = await readResult(args.positionals[0] ?? ".", terminal.cwd);
	const outFolder = dirname(resolve(terminal.cwd, path));
	const written = new Set(reportList.map(({ path }) => path));
	// A result is often kept or sent without its samples, logs and engines.
	const files = read.files.filter(({ path }) => written.has(path) || existsSync(join(outFolder, path)));
	const result = { ...read, files };
	await checkOutFolder(outFolder, terminal);
	await renderReport(result, outFolder, fileStore());
	return { result, outFolder };
}

async function merged(args: ReportArguments, terminal: Terminal) {
	const plan = args.text("plan");
	const expected =
		plan === undefined
			? undefined
			: parseMatrix((await readArgument(plan, terminal.cwd, inputKinds.argument)).text);
	const outFolder = resolve(terminal.cwd, args.text("out"));
	const parts = await readParts(args.positionals, { cwd: terminal.cwd, outFolder });
	const nameOf = (folder: string) => expected?.find(({ artifact }) => artifact === folder)?.name ?? folder;
	const named = parts.map((part) => ({ ...part, name: nameOf(part.name) }));
	const result = mergeResults(named, { expected, version, files: [...reportList] });
	await checkOutFolder(outFolder, terminal);
	await makeFolders(outFolder);
	await writeReport(result, outFolder, fileStore());
	return { result, outFolder };
}
