// `trtgate golden calibrate`: each engine's own error beside the limits of its golden, and limits that follow from it.

import type { Result } from "../../../generated/result.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { childEnvironment } from "../../adapters/github/env.ts";
import { createProcesses } from "../../adapters/process/processes.ts";
import { usageError } from "../../core/errors.ts";
import { renderCalibration } from "../../core/golden/calibrate/propose-limits.ts";
import { jsonText } from "../../core/text/escape.ts";
import { type ArgumentsOf, misused, parseArguments } from "../commands/arguments.ts";
import { calibrateTable } from "../commands/golden-tables.ts";
import { describeRecord, exitCodes, exitOfResult } from "../exit.ts";
import { stopOnSignals } from "../signals.ts";
import { progressFor, type Terminal } from "../terminal.ts";
import { type Calibration, calibrateEngines, writeCalibration } from "./calibrate-engines.ts";
import { findAuthor } from "./record-options.ts";

type Arguments = ArgumentsOf<typeof calibrateTable>;

export async function calibrateGolden(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, calibrateTable);
	const rule = { multiple: multipleOf(args.text("multiple")), given: givenLimits(args.texts("limit")) };
	const change = args.flag("write") ? await changeOf(args, terminal) : null;
	const calibration = await calibrateEngines(gateOptions(args, terminal), rule);
	const { result, goldens } = calibration;
	const engines = goldens.flatMap((golden) => golden.engines);
	const written = change === null ? [] : await writeAll(calibration, change);
	if (args.flag("json")) terminal.out(jsonText({ backend: result.backend, engines, written }));
	else terminal.out(renderCalibration(engines, result.backend));
	terminal.err(faultsText(result));
	if (!args.flag("json")) terminal.out(conclusion(calibration, { written, writes: change !== null }));
	if (result.outcome === "error") return exitOfResult(result);
	const refused = engines.some(
		({ limits, faults }) => faults.length > 0 || limits.some(({ state }) => state === "refused"),
	);
	return refused || result.builds.some(({ state }) => state !== "built") ? exitCodes.failed : exitCodes.ok;
}

function gateOptions(args: Arguments, terminal: Terminal) {
	return {
		cwd: terminal.cwd,
		out: args.text("out"),
		...args.given("config", "trtexec"),
		onnxruntimeFolder: args.text("onnxruntime-folder"),
		only: args.texts("only").join("\n"),
		inputs: args.given("backend", "device", "onnxruntime"),
		environment: terminal.environment,
		progress: progressFor(terminal, { quiet: args.flag("quiet"), json: args.flag("json") }),
		onStart: stopOnSignals,
	};
}

interface Change {
	reason: string;
	author: string;
}

/** Before anything is built. */
async function changeOf(args: Arguments, { cwd }: Terminal): Promise<Change> {
	const processes = createProcesses({ env: childEnvironment() });
	const author = await findAuthor(args.text("author"), cwd, processes).finally(() => processes.killAll());
	if (author === undefined)
		throw usageError(
			"--write changes goldens, and who changes them is not known.",
			'Name the author: --author "…".',
		);
	return { author, reason: args.text("reason") ?? "Limits calibrated on engines." };
}

async function writeAll(calibration: Calibration, change: Change): Promise<string[]> {
	const written: string[] = [];
	for (const golden of calibration.goldens) {
		const manifest = await writeCalibration(golden, calibration, { change, files: fileStore() });
		if (manifest !== null) written.push(`${golden.path}: ${manifest.goldenId}`);
	}
	return written;
}

function conclusion(
	{ goldens }: Calibration,
	{ written, writes }: { written: readonly string[]; writes: boolean },
): string {
	if (goldens.length === 0) return "No engine with a golden was run, so nothing was calibrated.\n";
	if (written.length > 0)
		return `Written, with the evidence:\n${written.map((line) => `  ${line}\n`).join("")}`;
	if (writes) return "Nothing was written: the goldens already contain all evidence.\n";
	const limits = goldens.flatMap((golden) => golden.engines.flatMap((engine) => engine.limits));
	const isRefused = limits.some(({ state }) => state === "refused");
	const refused = isRefused
		? "Fix a wrong engine first; if its error is correct nonetheless, set the limit with --limit OUTPUT=VALUE.\n"
		: "";
	return `${refused}Nothing was written: --write puts these limits and their evidence into the goldens.\n`;
}

/** What kept engines from being built or run. */
function faultsText(result: Result): string {
	const builds = result.builds.flatMap(({ model, engine, failure }) =>
		failure === undefined ? [] : [`${model}/${engine} was not built: ${failure.title} ${failure.fix}\n`],
	);
	return [...builds, ...result.errors.map(describeRecord)].join("");
}

function multipleOf(text: string): number {
	const multiple = Number(text);
	if (multiple >= 1 && multiple <= 1000) return multiple;
	throw misused("--multiple", "a number from 1 to 1000", text);
}

function givenLimits(texts: readonly string[]): Map<string, number> {
	return new Map(
		texts.map((text): [string, number] => {
			const cut = text.lastIndexOf("=");
			const limit = Number(text.slice(cut + 1));
			if (cut > 0 && limit > 0 && Number.isFinite(limit)) return [text.slice(0, cut), limit];
			throw misused("--limit", "OUTPUT=VALUE with a value above 0, such as logits=2e-2", text);
		}),
	);
}
