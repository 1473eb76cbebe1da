// The commands, each loaded when it is called.

import { ConfigError, ToolError } from "../core/errors.ts";
import { didYouMean } from "../core/found.ts";
import { type CommandTable, renderHelp, usageOf } from "./commands/arguments.ts";

import * as golden from "./commands/golden-tables.ts";
import * as history from "./commands/history-tables.ts";
import * as own from "./commands/machine-tables.ts";
import * as tables from "./commands/tables.ts";
import { exitCodes, explainError } from "./exit.ts";
import { openTerminal, type Terminal } from "./terminal.ts";
import { version } from "./version.ts";

type Command = (argv: readonly string[], terminal: Terminal) => Promise<number>;

type Entry = readonly [table: CommandTable, load: () => Promise<Command>];

const commands: readonly Entry[] = [
	[tables.demoTable, async () => (await import("./commands/demo.ts")).demo],
	[tables.runTable, async () => (await import("./commands/run.ts")).run],
	[tables.preflightTable, async () => (await import("./commands/preflight.ts")).preflight],
	[tables.costTable, async () => (await import("./commands/cost.ts")).cost],
	[golden.recordTable, async () => (await import("../golden/app/record-models.ts")).runRecord],
	[golden.checkTable, async () => (await import("../golden/app/check.ts")).checkGolden],
	[golden.calibrateTable, async () => (await import("../golden/app/calibrate.ts")).calibrateGolden],
	[golden.inspectTable, async () => (await import("../golden/app/inspect.ts")).inspectGolden],
	[tables.diagnoseTable, async () => (await import("./commands/diagnose.ts")).diagnose],
	[tables.diffTable, async () => (await import("../engine/app/diff.ts")).diff],
	[tables.explainTable, async () => (await import("../engine/app/explain.ts")).explain],
	[tables.verdictTable, async () => (await import("./commands/verdict.ts")).verdict],
	[tables.reportTable, async () => (await import("./commands/report.ts")).report],
	[tables.noteTable, async () => (await import("./commands/note.ts")).note],
	[tables.reproTable, async () => (await import("./commands/repro.ts")).repro],
	[tables.acceptChangeTable, async () => (await import("./commands/accept.ts")).acceptChange],
	[history.importTable, async () => (await import("../history/app/commands.ts")).importHistory],
	[history.compactTable, async () => (await import("../history/app/commands.ts")).compactHistory],
	[history.acceptTable, async () => (await import("../history/app/commands.ts")).acceptAlarms],
	[history.watchTable, async () => (await import("../history/app/commands.ts")).watchAlarms],
	[history.trendTable, async () => (await import("../history/app/commands.ts")).trend],
	[own.tryTable, async () => (await import("./commands/try.ts")).tryModel],
	[own.tuneTable, async () => (await import("./commands/tune.ts")).tune],
	[own.doctorTable, async () => (await import("./commands/doctor.ts")).doctor],
	[own.initTable, async () => (await import("./commands/init.ts")).init],
];

export const commandTables: readonly CommandTable[] = commands.map(([table]) => table);

export async function runCli(argv: readonly string[]): Promise<number> {
	const terminal = openTerminal({ color: !argv.includes("--no-color") });
	const exit = await answer(argv, terminal);
	const fault = await terminal.lost();
	// A report that was lost must not pass.
	if (fault === null || exit !== exitCodes.ok) return exit;
	const lost = explainError(reportLost(fault));
	terminal.err(lost.text);
	return lost.exit;
}

async function answer(argv: readonly string[], terminal: Terminal) {
	const [first] = argv;
	if (first === undefined || first === "--help" || first === "-h" || first === "help") {
		(first === undefined ? terminal.err : terminal.out)(help(commandTables));
		return first === undefined ? exitCodes.configuration : exitCodes.ok;
	}
	if (first === "--version" || first === "-V") {
		terminal.out(`${version}\n`);
		return exitCodes.ok;
	}
	try {
		return await runCommand(argv, terminal);
	} catch (error) {
		const { text, exit } = explainError(error);
		terminal.err(text);
		return exit;
	}
}

async function runCommand(argv: readonly string[], terminal: Terminal) {
	const entry = commands.find(
		([table]) => table.name === argv.slice(0, table.name.split(" ").length).join(" "),
	);
	if (argv.includes("--help") || argv.includes("-h")) {
		const group = commandTables.filter(({ name }) => name.startsWith(`${argv[0]} `));
		if (entry === undefined && group.length === 0) throw unknownCommand(argv);
		terminal.out(entry === undefined ? help(group) : renderHelp(entry[0]));
		return exitCodes.ok;
	}
	if (entry === undefined) throw unknownCommand(argv);
	const [table, load] = entry;
	return (await load())(argv.slice(table.name.split(" ").length), terminal);
}

function reportLost(fault: NodeJS.ErrnoException) {
	return new ToolError({
		code: "output-lost",
		message: `The output could not be written to stdout (${fault.code ?? fault.message}), and was not saved to a file.`,
		cause: fault,
		fix: "Run it again with a stdout that accepts everything: a disk with free space, or a program that reads to the end.",
	});
}

function unknownCommand([first = "", second = ""]: readonly string[]) {
	const names = commandTables.map(({ name }) => name);
	const group = names.filter((name) => name.startsWith(`${first} `));
	const wanted = group.length === 0 ? first : `${first} ${second}`.trim();
	const meant = didYouMean(
		wanted,
		group.length === 0 ? names.map((name) => name.split(" ")[0] ?? name) : group,
	);
	const message =
		group.length > 0 && second === ""
			? `\`trtgate ${first}\` needs a command.`
			: `Unknown command ${JSON.stringify(wanted)}.`;
	const help = `\`trtgate ${group.length === 0 ? "" : `${first} `}--help\` lists the commands.`;
	return new ConfigError({
		code: "usage",
		message,
		fix: meant === undefined ? help : `Did you mean \`trtgate ${meant}\`?`,
	});
}

function help(listed: readonly CommandTable[]) {
	const lines = listed.map((table) => `  ${usageOf(table)}\n      ${table.does}\n`);
	return `trtgate ${version}: checks that a change to a TensorRT engine still builds, is still accurate and is still fast

Usage: trtgate COMMAND [options]

${lines.join("")}
\`trtgate COMMAND --help\` lists all options of a command, with their defaults.
Exit: 0 pass or warn · 1 fail · 2 configuration or usage · 3 runner or tool, or a report that was lost · 70 a bug in trtgate
`;
}
