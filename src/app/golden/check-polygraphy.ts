// `trtgate golden check --polygraphy`: judges Polygraphy's files as Polygraphy's default comparator does.
import { resolve } from "node:path";
import { readInput } from "../../adapters/process/input-file.ts";
import { usageError } from "../../core/errors.ts";
import {
	type ByOutput,
	type ComparedIteration,
	type ComparedOutput,
	judgeRuns,
	type Measure,
	type RunnerResults,
	type RunsVerdict,
} from "../../core/golden/polygraphy/judge-runs.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { jsonText } from "../../core/text/escape.ts";
import { formatValue } from "../../core/text/units.ts";
import { maxPolygraphyBytes } from "../../formats/polygraphy/polygraphy.ts";
import { parseRunResults } from "../../formats/polygraphy/run-results.ts";
import { parseArguments } from "../commands/arguments.ts";
import { polygraphyTable } from "../commands/golden-tables.ts";
import { exitCodes } from "../exit.ts";
import type { Terminal } from "../terminal.ts";

const release = "polygraphy 0.53.6";

/** The candidate's runners come first, as in `polygraphy run --trt --load-outputs golden.json`. */
export async function checkPolygraphy(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, polygraphyTable);
	const golden = args.text("polygraphy");
	const outputs = args.text("outputs");
	const settings = {
		rtol: byOutput(args.texts("rtol"), "rtol"),
		atol: byOutput(args.texts("atol"), "atol"),
		infinitiesEqual: args.flag("infinities-compare-equal"),
	};
	const runners: RunnerResults[] = [];
	for (const file of outputs === undefined ? [golden] : [outputs, golden])
		runners.push(...parseRunResults(await readInput(resolve(terminal.cwd, file), kind, file), file));
	if (runners.length < 2)
		throw usageError(
			`${golden} contains the results of only one runner, so there is nothing to compare.`,
			"Add --outputs with the candidate's results.",
		);
	const { passed, ...verdict } = judgeRuns(runners, settings);
	const fails = !passed || (args.flag("strict") && verdict.warnings.length > 0);
	const state = fails ? "mismatch" : "match";
	const report: PolygraphyReport = { rules: release, golden, outputs, state, passed, ...verdict };
	terminal.out(args.flag("json") ? jsonText(report) : renderPolygraphy(report));
	return fails ? exitCodes.failed : exitCodes.ok;
}

const kind = {
	...inputKinds.tensor,
	what: "a file of run results",
	maxBytes: maxPolygraphyBytes,
	fix: "Check the path.",
};

export interface PolygraphyReport extends RunsVerdict {
	rules: string;
	golden: string;
	outputs?: string;
	state: "match" | "mismatch";
}

function renderPolygraphy({ rules, state, passed, compared, errors, warnings }: PolygraphyReport): string {
	const outputs = compared.flatMap((iteration) => iteration.outputs);
	const passing = outputs.filter(passes).length;
	const summary = `${rules} ${passed ? "passes" : "fails"}: ${passing} of ${outputs.length} outputs within its tolerances`;
	const title = passed && state === "mismatch" ? `${summary}; its warnings fail it (--strict)` : summary;
	return [
		`${state === "match" ? "✓" : "✗"} ${title}`,
		...compared.flatMap(iterationLines),
		...errors.map((sentence) => `✗ Polygraphy exits with an error: ${sentence}.`),
		...warnings.map((sentence) => `! ${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`),
		"",
	].join("\n");
}

function passes({ checks }: ComparedOutput): boolean {
	return checks.every(({ pass }) => pass);
}

function iterationLines({ first, second, iteration, outputs }: ComparedIteration): string[] {
	const head = `${outputs.every(passes) ? "✓" : "✗"} ${quoteName(first, "")} against ${quoteName(second, "")}, iteration ${iteration}`;
	return [head, ...outputs.flatMap(outputLines)];
}

function outputLines({ output, checks }: ComparedOutput): string[] {
	return checks.map(({ compare, pass, measures, detail }) => {
		const numbers = [...measures.map(measureText), ...(detail === undefined ? [] : [detail])].join("; ");
		return `    ${pass ? "✓" : "✗"} ${quoteName(output, "")}: ${compare}: ${numbers}`;
	});
}

function measureText({ name, value, allowed, bound }: Measure): string {
	return `${name} ${formatValue(value)} (${bound === "at-most" ? "≤" : "≥"} ${formatValue(allowed)})`;
}

/** An output's name may hold colons: the last one ends it. */
function byOutput(values: readonly string[], name: "rtol" | "atol"): ByOutput {
	return new Map(
		values.map((argument) => {
			const at = argument.lastIndexOf(":");
			return [argument.slice(0, Math.max(0, at)), parseNumber(argument.slice(at + 1), name)];
		}),
	);
}

const decimal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const infinite = /^([+-]?)inf(inity)?$/i;

function parseNumber(argument: string, name: string): number {
	if (decimal.test(argument) || infinite.test(argument))
		return Number(argument.replace(infinite, "$1Infinity"));
	throw usageError(
		`--${name} takes numbers, or OUTPUT:NUMBER; got ${JSON.stringify(argument)}.`,
		"Give the options as `polygraphy run` takes them.",
	);
}
