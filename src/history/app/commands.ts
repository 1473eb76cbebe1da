// `trtgate history import`, `history compact`, `history accept` and `trend`.
import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { HistoryRecord } from "../../../generated/history.ts";
import { systemClock } from "../../adapters/clock.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { type ArgumentsOf, parseArguments, readArgument } from "../../app/commands/arguments.ts";
import {
	acceptTable,
	compactTable,
	importTable,
	trendTable,
	watchTable,
} from "../../app/commands/history-tables.ts";
import { exitCodes } from "../../app/exit.ts";
import { gitName } from "../../app/own-processes.ts";
import type { Terminal } from "../../app/terminal.ts";
import { version } from "../../app/version.ts";
import { parsePatterns } from "../../core/config/select.ts";
import { ConfigError, usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { parseResult } from "../../core/report/parse-result.ts";
import { trendFacts } from "../../core/report/trend-facts.ts";
import { cleanName, cleanText, jsonText, shorten } from "../../core/text/escape.ts";
import { counted } from "../../core/text/labels.ts";
import { readWorkflowRun } from "../../host/adapters/github/env.ts";
import { reportFiles } from "../../stages/report.ts";
import { alarmBudget } from "../core/alarm-budget.ts";
import { findAlarms } from "../core/alarms.ts";
import { decide, openShifts } from "../core/decisions.ts";
import { compact, fileOf, readHistory, readRecord } from "../core/files.ts";
import { recordOf } from "../core/from-result.ts";
import { answer, shiftText } from "../core/judge-trend.ts";
import { renderTrend } from "../core/page.ts";
import { readSeries } from "../core/series.ts";
import { openStore, sha256 } from "./history-watch.ts";

function storeOf(args: { text(name: "folder" | "branch"): string | undefined }, terminal: Terminal) {
	return openStore({ folder: args.text("folder"), branch: args.text("branch") }, terminal);
}

export async function importHistory(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, importTable, { more: true });
	const store = storeOf(args, terminal);
	const given: HistoryRecord[] = [];
	for (const path of args.positionals) given.push(...(await recordsOf(path, terminal.cwd)));
	if (given.length === 0) {
		const fix = "Give results of runs that timed at least one engine; of a merged result, its parts.";
		throw new ConfigError({
			code: "nothing-to-check",
			message: "None of these results was timed, so there is nothing to import.",
			fix,
		});
	}
	const added = new Map(given.map((record) => [record.source, record]));
	for (const { record } of readHistory(await store.read()).records) added.delete(record.source);
	if (added.size > 0) await store.add([...added.values()].map((record) => fileOf(record, sha256)));
	const skipped = given.length - added.size;
	const already = skipped === 0 ? "" : `; skipped ${counted(skipped, "record")} that it has already`;
	terminal.out(`Imported ${counted(added.size, "record")} into ${store.name}${already}.\n`);
	return exitCodes.ok;
}

async function recordsOf(path: string, cwd: string) {
	const isFolder = (await stat(resolve(cwd, path)).catch(() => null))?.isDirectory() === true;
	const { text, path: shown } = await readArgument(
		isFolder ? join(path, reportFiles.result) : path,
		cwd,
		inputKinds.result,
	);
	const read = readRecord(text);
	const record =
		read.state === "ok" ? read.record : recordOf(parseResult(text, shown), { run: "imported" }, sha256);
	return record === null ? [] : [record];
}

export async function compactHistory(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, compactTable);
	const store = storeOf(args, terminal);
	const thisMonth = systemClock().timestamp().slice(0, 7);
	const isChanged = await store.compact((files) => compact(files, thisMonth));
	terminal.out(
		isChanged
			? `Compacted the months before ${thisMonth} of ${store.name}.\n`
			: `${store.name} has nothing to compact.\n`,
	);
	return exitCodes.ok;
}

const reasonChars = 500;
const nameChars = 100;

type Decide = (argv: readonly string[], terminal: Terminal) => Promise<number>;

export const acceptAlarms: Decide = (argv, terminal) =>
	decideAlarms("accept", parseArguments(argv, acceptTable), terminal);

export const watchAlarms: Decide = (argv, terminal) =>
	decideAlarms("watch", parseArguments(argv, watchTable), terminal);

async function decideAlarms(
	kind: "accept" | "watch",
	args: ArgumentsOf<typeof acceptTable>,
	terminal: Terminal,
) {
	const store = storeOf(args, terminal);
	const series = readSeries(readHistory(await store.read()).records.map(({ record }) => record));
	const findings = findAlarms(series);
	const describe = (shift: ReturnType<typeof openShifts>[number]) =>
		`${cleanName(shift.chain.series, 120)}: ${shiftText(shift, series)}`;
	const by = args.text("by") ?? readWorkflowRun()?.actor ?? (await gitName(terminal.cwd));
	const found = decide(findings, {
		kind,
		patterns: parsePatterns(args.positionals.join()),
		figure: args.text("figure"),
		reason: cleanText(shorten(args.text("reason"), reasonChars)),
		by: by === null ? undefined : cleanText(shorten(by, nameChars)),
		at: systemClock().timestamp(),
		hash: sha256,
	});
	if (found === null) {
		const open = openShifts(findings).slice(0, 12).map(describe);
		const fix = open.length === 0 ? `${store.name} has no open alarm.` : `Open are: ${open.join("; ")}.`;
		throw new ConfigError({ code: "nothing-to-check", message: "No alarm is open for these engines.", fix });
	}
	await store.add([fileOf(found.record, sha256)]);
	const done = kind === "accept" ? "Accepted" : "Watching";
	terminal.out(found.shifts.map((shift) => `${done} ${describe(shift)}\n`).join(""));
	return exitCodes.ok;
}

export async function trend(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, trendTable, { more: true });
	const [folder, ...others] = args.positionals;
	if (others.length > 0) throw usageError("A history is in one folder.", "Name one folder.");
	const store = openStore({ folder, branch: args.text("branch") }, terminal);
	const { records, skipped } = readHistory(await store.read());
	if (records.length === 0) {
		const fix =
			"Import results with `trtgate history import`, or keep a history with `history:` in trtgate.yml.";
		const message = `${store.name} has no records.`;
		throw new ConfigError({ code: "nothing-to-check", message, fix, excerpt: skipped.slice(0, 5) });
	}
	const series = readSeries(records.map(({ record }) => record));
	const findings = findAlarms(series);
	const budget = alarmBudget(findings, series);
	const out = resolve(terminal.cwd, args.text("out"));
	const files = fileStore();
	await files.makeFolder(dirname(out));
	await files.writeText(out, renderTrend(findings, series, { version, skipped, budget }));
	terminal.out(
		args.flag("json") ? jsonText(trendFacts(findings, series, budget)) : `${answer(findings, series)}\n`,
	);
	terminal.err(`${[...skipped, `The page is ${out}.`].join("\n")}\n`);
	return exitCodes.ok;
}
