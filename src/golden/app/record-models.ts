// `trtgate golden record`: the golden of one model, or those of all models of the config.
import { parseArguments } from "../../app/commands/arguments.ts";
import { recordTable } from "../../app/commands/golden-tables.ts";
import { readConfigFile } from "../../app/config-file.ts";
import { exitCodes, explainError } from "../../app/exit.ts";
import type { Terminal } from "../../app/terminal.ts";
import { usageError } from "../../core/errors.ts";
import { quoteName } from "../../core/text/escape.ts";
import { counted } from "../../core/text/labels.ts";
import { isUnfinished } from "../core/record/defects/record.ts";
import { recordGolden } from "./record.ts";
import { parseRecordOptions } from "./record-options.ts";

const ofOneModel = ["out", "inputs", "generator", "dims", "shape", "preprocess", "non-finite"] as const;

export async function runRecord(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, recordTable, { positionals: [], more: true });
	if (args.isGiven("model") || args.positionals.length > 0) {
		await recordGolden(await parseRecordOptions(argv, terminal), terminal);
		return exitCodes.ok;
	}
	const only = ofOneModel.find((name) => args.isGiven(name));
	if (only !== undefined)
		throw usageError(
			`--${only} is for one model, and none is named.`,
			"Name it: --model NAME, or MODEL.onnx.",
		);
	const { config } = await readConfigFile({ cwd: terminal.cwd, path: args.text("config") });
	const names = config.models.map(({ name }) => name);
	return recordAll(names, { argv, terminal, keepsRecorded: !args.isGiven("reason") });
}

interface Recordings {
	argv: readonly string[];
	terminal: Terminal;
	keepsRecorded: boolean;
}

async function recordAll(models: readonly string[], how: Recordings) {
	const { terminal } = how;
	const attempts: { model: string; line: string; exit: number; isInterrupted: boolean }[] = [];
	for (const [index, model] of models.entries()) {
		terminal.echo(`Model ${index + 1} of ${models.length}: ${quoteName(model, "")}\n`);
		const attempt = await tryModel(model, how);
		attempts.push(attempt);
		if (attempt.isInterrupted) break;
	}
	const failed = attempts.filter(({ exit }) => exit !== exitCodes.ok);
	const have = attempts.length - failed.length;
	terminal.out(`${have} of ${counted(models.length, "model")} ${have === 1 ? "has" : "have"} a golden:\n`);
	const width = Math.max(...attempts.map(({ model }) => model.length));
	for (const { model, line } of attempts) terminal.out(`  ${quoteName(model, "").padEnd(width)}  ${line}\n`);
	return Math.max(exitCodes.ok, ...failed.map(({ exit }) => exit));
}

async function tryModel(model: string, { argv, terminal, keepsRecorded }: Recordings) {
	try {
		const options = await parseRecordOptions(["--model", model, ...argv], terminal, keepsRecorded);
		const { state, manifest } = await recordGolden(options, terminal);
		const { goldenId, cases } = manifest;
		const done = state === "same" ? "is recorded already" : `recorded, ${counted(cases.length, "case")}`;
		const line = `${goldenId} ${done}${isUnfinished(manifest) ? "; not tested completely: run again" : ""}`;
		return { model, line, exit: exitCodes.ok, isInterrupted: false };
	} catch (error) {
		const { text, exit, records } = explainError(error);
		terminal.err(text);
		const line = `failed: ${records[0]?.message ?? "unknown"} [${records[0]?.code}]`;
		return { model, line, exit, isInterrupted: records.some(({ code }) => code === "interrupted") };
	}
}
