// README.md of a repro folder, to attach to an issue.
import type { RecordedCheck, Repro } from "../../../generated/repro.ts";
import { markdownCode, markdownFence, shellWord } from "../text/escape.ts";
import { formatValue } from "../text/units.ts";
import { reproFiles } from "./recipe.ts";

export interface Commands {
	/** Arguments of trtexec; absent on ONNX Runtime. */
	build?: readonly string[];
	run?: readonly string[];
	/** Of the inputs that the run loads: `.npy`. */
	inputs: readonly string[];
}

export function readmeOf(repro: Repro, commands: Commands): string {
	const { backend, environment, recipe, recorded, trtgate } = repro;
	const versions = [
		["trtgate", trtgate],
		[backend.name, backend.version],
		["device", backend.device],
	];
	const facts = [...versions, ...Object.entries(environment)].map(
		([name = "", value = ""]) => `${name}: ${value}`,
	);
	const where = recorded.case === undefined ? "" : `, case ${markdownCode(recorded.case)}`;
	const part =
		recipe.node === undefined
			? []
			: [
					`The model is cut after the node ${markdownCode(recipe.node)}, the first that deviates from ONNX Runtime.`,
					"",
				];
	return [
		`# ${titles[recorded.kind]}: ${markdownCode(`${recipe.model}/${recipe.engine}`)} on ${backend.name} ${backend.version}`,
		"",
		`${markdownCode(recorded.says)} (${markdownCode(recorded.code)}${where})`,
		"",
		...part,
		...recorded.checks.map(checkLine),
		...(recorded.checks.length === 0 ? [] : [""]),
		"## Versions",
		"",
		...markdownFenceLines(facts),
		...commandLines(commands),
		"## Replay",
		"",
		`\`trtgate repro FOLDER\` builds and runs it from ${reproFiles.repro}, with trtgate's own command line, and compares.`,
		...(recorded.kind === "build"
			? []
			: [`${reproFiles.golden} lists the inputs and the expected outputs, with the limits.`]),
		"This folder holds the model and its weights: share it only with those who may have them.",
		"",
	].join("\n");
}

const titles = { build: "Failing build", run: "Failing engine", case: "Wrong outputs" } as const;

function checkLine({ output, metric, got, allowed, bound, worst }: RecordedCheck): string {
	const sign = bound === "at-most" ? "at most" : "at least";
	const limit = allowed === null ? "" : ` (${sign} ${formatValue(allowed)} allowed)`;
	const at = worst === undefined ? "" : `; worst at ${markdownCode(worst)}`;
	return `- ${markdownCode(output)}: ${metric} ${formatValue(got)}${limit}${at}`;
}

function commandLines({ build, run, inputs }: Commands): string[] {
	if (build === undefined) return [];
	const line = (argv: readonly string[]) => ["trtexec", ...argv.map(shellWord)].join(" ");
	const convert = `python3 -c 'import numpy, sys; [numpy.load(f).tofile(f[:-3] + "bin") for f in sys.argv[1:]]'`;
	const raw = run === undefined || inputs.length === 0 ? [] : [[convert, ...inputs.map(shellWord)].join(" ")];
	return [
		"## Commands",
		"",
		"In this folder:",
		"",
		...markdownFenceLines([line(build), ...raw, ...(run === undefined ? [] : [line(run)])]),
	];
}

const markdownFenceLines = (lines: readonly string[]): string[] => [markdownFence(lines), ""];
