// Runs comparator commands on the outputs of a case.
import type { CommandConfig } from "../../core/config/config.ts";
import { quoteName } from "../../core/text/escape.ts";
import type { CustomCommands } from "../../ports/world.ts";
import { type CommandAnswer, type CustomSpec, customSpecs } from "../core/compare/check-output.ts";
import { layoutCheck } from "../core/compare/checks.ts";
import type { CaseInput } from "../core/compare/judge.ts";
import { toleranceAt } from "../core/compare/tolerances.ts";
import { own } from "../core/tensor/tensor.ts";

export interface AvailableCommands {
	/** Commands of trtgate.yml; a golden may be written by an outsider, so it cannot define any. */
	known: readonly CommandConfig[];
	cwd: string;
	scratchFolder: string;
	port: CustomCommands;
}

export async function runComparatorCommands(
	input: Omit<CaseInput, "answers">,
	commands: AvailableCommands,
): Promise<ReadonlyMap<string, readonly CommandAnswer[]>> {
	const answers = new Map<string, readonly CommandAnswer[]>();
	for (const [output, spec] of Object.entries(input.manifest.outputs)) {
		const given: CommandAnswer[] = [];
		for (const custom of customSpecs(spec)) given.push(await runOne(input, { output, custom, commands }));
		if (given.length > 0) answers.set(output, given);
	}
	return answers;
}

async function runOne(
	input: Omit<CaseInput, "answers">,
	{ output, custom, commands }: { output: string; custom: CustomSpec; commands: AvailableCommands },
): Promise<CommandAnswer> {
	const command = commands.known.find(({ name }) => name === custom.name);
	if (command === undefined)
		return {
			state: "failed",
			message: `trtgate.yml has no command ${quoteName(custom.name)} under \`comparators\``,
		};
	const [expected, got] = [own(input.expected, output), own(input.got, output)];
	// The judge refuses these outputs.
	if (expected === undefined || got === undefined || layoutCheck(output, expected, got) !== null)
		return { state: "failed", message: "it was not run" };
	const { model, engine, precision, golden } = input;
	const labels = own(golden?.labels, output);
	const about = {
		schemaVersion: 1 as const,
		comparator: custom.name,
		golden: input.manifest.goldenId,
		case: input.caseId,
		output,
		model,
		engine,
		precision,
		tolerance: toleranceAt(custom.tolerance, precision) ?? null,
		labels,
	};
	const { cwd, scratchFolder, port } = commands;
	return port.run({ command, cwd, scratchFolder, about, expected, got });
}
