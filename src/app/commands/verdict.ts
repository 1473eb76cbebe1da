// `trtgate verdict`: judges pairs of measurements.
import { parsePairs } from "../../core/compare/pairs-file.ts";
import { renderVerdict } from "../../core/compare/sentence.ts";
import { judgePairs } from "../../core/compare/verdict.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { jsonText } from "../../core/text/escape.ts";
import { exitCodes } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { parseArguments, readArgument } from "./arguments.ts";
import { verdictTable } from "./tables.ts";

export async function verdict(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, verdictTable);
	const { path, text } = await readArgument(args.positionals[0] ?? "", terminal.cwd, inputKinds.pairs);
	const { pairs, minimalEffect } = parsePairs(text, path);
	const comparison = judgePairs(pairs, { minimalEffect });
	terminal.out(
		args.flag("json") ? jsonText(comparison) : `${comparison.verdict}: ${renderVerdict(comparison)}\n`,
	);
	return exitCodes.ok;
}
