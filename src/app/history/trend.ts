// `trtgate trend`: writes the page of a history.
import { dirname, resolve } from "node:path";
import { fileStore } from "../../adapters/files/store.ts";
import { ConfigError, usageError } from "../../core/errors.ts";
import { findAlarms } from "../../core/history/alarms.ts";
import { readHistory } from "../../core/history/files.ts";
import { readSeries } from "../../core/history/series.ts";
import { answer } from "../../core/report/html/trend/answer.ts";
import { renderTrend } from "../../core/report/html/trend/page.ts";
import { trendFacts } from "../../core/report/trend-facts.ts";
import { jsonText } from "../../core/text/escape.ts";
import { parseArguments } from "../commands/arguments.ts";
import { trendTable } from "../commands/history-tables.ts";
import { exitCodes } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { version } from "../version.ts";
import { openStore } from "./open-store.ts";

export async function trend(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, trendTable, { more: true });
	const [folder, ...others] = args.positionals;
	if (others.length > 0) throw usageError("A history is in one folder.", "Name one folder.");
	const store = openStore({ folder, branch: args.text("branch") }, terminal);
	const { records, skipped } = readHistory(await store.read());
	if (records.length === 0) {
		const fix =
			"Import results with `trtgate history import`, or keep a history with `history:` in trtgate.yml.";
		throw new ConfigError({ code: "nothing-to-check", message: `${store.name} has no records.`, fix });
	}
	const series = readSeries(records.map(({ record }) => record));
	const findings = findAlarms(series);
	const out = resolve(terminal.cwd, args.text("out"));
	const files = fileStore();
	await files.makeFolder(dirname(out));
	await files.writeText(out, renderTrend(findings, series, { version, skipped }));
	terminal.out(args.flag("json") ? jsonText(trendFacts(findings, series)) : `${answer(findings, series)}\n`);
	terminal.err(`${[...skipped, `The page is ${out}.`].join("\n")}\n`);
	return exitCodes.ok;
}
