// Words for run results that were judged by Polygraphy's rules.
import type { ComparedIteration, ComparedOutput, RunsVerdict } from "../../core/golden/polygraphy/judge-runs.ts";
import type { Measure } from "../../core/golden/polygraphy/outcome.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { formatValue } from "../../core/text/units.ts";

export interface PolygraphyReport extends RunsVerdict {
	/** Whose rules. */
	rules: string;
	/** Files as the command was given them. */
	golden: string;
	outputs?: string;
	/** As passed, unless cautions are asked to fail. */
	state: "match" | "mismatch";
}

export function renderPolygraphy({ rules, state, passed, compared, stops, cautions }: PolygraphyReport): string {
	const outputs = compared.flatMap((iteration) => iteration.outputs);
	const passing = outputs.filter(passes).length;
	const says = `${rules} ${passed ? "passes" : "fails"}: ${passing} of ${outputs.length} outputs within its tolerances`;
	const title = passed && state === "mismatch" ? `${says}; the cautions fail it (--strict)` : says;
	return [
		`${state === "match" ? "✓" : "✗"} ${title}`,
		...compared.flatMap(iterationLines),
		...stops.map((sentence) => `✗ Polygraphy ends with an error: ${sentence}.`),
		...cautions.map((sentence) => `! ${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`),
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
