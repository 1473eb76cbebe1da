// `trtgate run`: the gate, and its dry run.
import { join, relative } from "node:path";
import type { Result } from "../../../generated/result.ts";
import type { Config } from "../../core/config/config.ts";
import { renderPlan } from "../../core/plan/render.ts";
import { renderTerminal } from "../../core/report/terminal.ts";
import { jsonText } from "../../core/text/escape.ts";
import { lentVariables, withheldVariables } from "../../host/adapters/github/env.ts";
import { describeRecord, exitCodes, exitOfResult } from "../exit.ts";
import { gate } from "../gate.ts";
import { progressFor, stopOnSignals, type Terminal } from "../terminal.ts";
import { type ArgumentsOf, parseArguments } from "./arguments.ts";
import { parseShapes } from "./sizes.ts";
import { runTable } from "./tables.ts";

export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, runTable);
	const completed = await gate(
		{ ...gateOptions(args, terminal), onStart: stopOnSignals },
		args.flag("dry-run") ? "plan" : "run",
	);
	if (completed.state === "planned") {
		const { plan, config, backend } = completed;
		terminal.out(
			args.flag("json") ? jsonText(plan) : `${renderPlan(plan, config, backend)}${describeVariables(config)}`,
		);
		return exitCodes.ok;
	}
	showResult(completed.result, { json: args.flag("json"), outFolder: completed.outFolder }, terminal);
	return exitOfResult(completed.result);
}

function describeVariables({ models }: Config) {
	const commands = models.flatMap(({ prepare, engines }) => [prepare, ...engines.map(({ build }) => build)]);
	const lent = new Set(commands.flatMap((command) => command?.env ?? []));
	const unset = [...lent].filter((name) => !Object.hasOwn(lentVariables([name]), name));
	const withheld = withheldVariables().filter((name) => !lent.has(name));
	return [
		...(withheld.length === 0
			? []
			: [
					`\nNo command is given ${withheld.join(", ")}; a command of the config gets what its \`env\` names.\n`,
				]),
		...(unset.length === 0
			? []
			: [`\nNamed by an \`env\` of the config and not set here: ${unset.join(", ")}.\n`]),
	].join("");
}

function gateOptions(args: ArgumentsOf<typeof runTable>, terminal: Terminal) {
	return {
		cwd: terminal.cwd,
		out: args.text("out"),
		isFresh: args.flag("fresh"),
		...args.given("config", "base", "head", "seed", "trtexec"),
		onnxruntimeFolder: args.text("onnxruntime-folder"),
		only: args.texts("only").join("\n"),
		shapes: parseShapes(args.texts("shape")),
		inputs: args.given("backend", "device", "onnxruntime", "base-trtexec", "base-python"),
		environment: terminal.environment,
		event: terminal.environment.pipeline?.event,
		progress: progressFor(terminal, { quiet: args.flag("quiet"), json: args.flag("json") }),
	};
}

export function showResult(
	result: Result,
	how: { json: boolean; outFolder: string },
	terminal: Terminal,
): void {
	if (how.json) terminal.echo(jsonText(result));
	// Nothing was built, so there is no report to show.
	if (result.outcome === "error" && result.builds.length === 0) {
		terminal.err(result.errors.map(describeRecord).join(""));
		return;
	}
	const resultPath = relative(terminal.cwd, join(how.outFolder, "result.json"));
	if (!how.json)
		terminal.echo(
			renderTerminal(result, { color: terminal.color.out, columns: terminal.columns, resultPath }),
		);
	terminal.err(`Report: ${how.outFolder}/report.html\n`);
}
