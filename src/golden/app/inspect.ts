// `trtgate golden inspect`: explains a golden, and proposes limits from its outputs.
import { dirname, resolve } from "node:path";
import { fileStore } from "../../adapters/files/store.ts";
import { fileTensorReader } from "../../adapters/files/tensor-reader.ts";
import { parseArguments, readArgument } from "../../app/commands/arguments.ts";
import { inspectTable } from "../../app/commands/golden-tables.ts";
import { exitCodes } from "../../app/exit.ts";
import type { Terminal } from "../../app/terminal.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { jsonText, quoteName } from "../../core/text/escape.ts";
import { parseManifest } from "../core/manifest/parse-manifest.ts";
import { describeSensitivity } from "../core/record/defects/record.ts";
import { describeWorth, isGiven } from "../core/record/generators/defaults.ts";
import { formatShape, ofSlice } from "../core/tensor/tensor.ts";
import {
	type InspectedLimit,
	type InspectedOutput,
	type InspectedTensor,
	type Inspection,
	inspect,
} from "../stages/inspect.ts";

export async function inspectGolden(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, inspectTable);
	const { path, text } = await readArgument(args.positionals[0] ?? "", terminal.cwd, inputKinds.golden);
	const set = { manifest: parseManifest(text, path), folder: dirname(resolve(terminal.cwd, path)) };
	const inspection = await inspect(set, { files: fileStore(), tensors: fileTensorReader() });
	terminal.out(args.flag("json") ? jsonText(inspection) : renderInspection(inspection));
	return inspection.findings.some(({ severity }) => severity === "refuse") ? exitCodes.failed : exitCodes.ok;
}

const shownCases = 12;

export function renderInspection(inspection: Inspection): string {
	return [
		...head(inspection),
		"",
		...cases(inspection),
		...inspection.outputs.flatMap((output) => ["", ...outputLines(output)]),
		...groupLines(inspection),
		"",
		...describeSensitivity(inspection.sensitivity),
		...findings(inspection),
		"",
	].join("\n");
}

function head({ golden, model, producer, reason, author, noiseFloor, cases: all }: Inspection) {
	const { backend, version, precision, optimisation } = producer;
	const level = optimisation === undefined ? "" : `, optimisation ${quoteName(optimisation, "")}`;
	const by = author === null ? "no author" : quoteName(author, "");
	const runs = noiseFloor?.runs.map((run) => quoteName(run, "")) ?? [];
	return [
		`${golden}: of ${quoteName(model.path, "")} (${model.sha256.slice(0, 12)}…)`,
		`made by ${quoteName(backend, "")} ${quoteName(version, "")} in ${precision}${level}`,
		...madeOf(producer, all.length),
		`last change: ${reason === null ? "no reason given" : quoteName(reason, "")} (${by})`,
		`noise floor: ${noiseFloor === null ? "not measured" : `of ${runs.length} runs (${runs.join("; ")})`}`,
	];
}

function madeOf({ inputs = {}, seed }: Inspection["producer"], cases: number) {
	const made = Object.entries(inputs);
	if (made.length === 0) return [];
	const seeded = seed !== undefined && made.some(([, how]) => !isGiven(how)) ? ` (seed ${seed})` : "";
	const all = made.map(([name, how]) => `${quoteName(name, "")} ${quoteName(how, "")}`).join("; ");
	return [describeWorth(inputs, cases), `inputs: ${all}${seeded}`];
}

function cases({ cases: all }: Inspection) {
	const lines = all
		.slice(0, shownCases)
		.flatMap(({ id, inputs, outputs }) => [
			`case ${quoteName(id, "")}`,
			...inputs.map((tensor) => `  in  ${tensorLine(tensor)}`),
			...outputs.map((tensor) => `  out ${tensorLine(tensor)}`),
		]);
	const more = all.length - shownCases;
	return more > 0 ? [...lines, `… and ${more} more cases (--json shows them)`] : lines;
}

function tensorLine({ name, dtype, shape, stats }: InspectedTensor) {
	const { min, max, mean, std, nan, inf } = stats;
	const odd = nan + inf === 0 ? "" : `, ${nan} NaN, ${inf} infinite`;
	const figures =
		min === null
			? "no finite value"
			: `${figure(min)} … ${figure(max)}, mean ${figure(mean)}, std ${figure(std)}`;
	return `${quoteName(name, "")} ${dtype} ${formatShape(shape)}: ${figures}${odd}`;
}

function outputLines(output: InspectedOutput) {
	const { name, semantic, noise, rounding, group, limits, proposal } = output;
	const scatter =
		noise === null
			? ""
			: `, noise ${figure(noise.relativeL2)} (relative L2), ${figure(noise.maxAbs)} (largest)`;
	const lines = [`output ${quoteName(name, "")}${semantic === null ? "" : ` (${semantic})`}${scatter}`];
	const moved = rounding.map(({ precision, relativeL2 }) => `${figure(relativeL2)} at ${precision}`);
	if (moved.length > 0) lines.push(`  rounding moves it by ${moved.join(", ")} (relative L2, emulated)`);
	if (group !== undefined) return [...lines, `  compared with the boxes of ${quoteName(group, "")}`];
	return [
		...lines,
		...limits.map(limitLine),
		"  comparators that suit its values, for your review (`golden record --propose` derives their limits):",
		...proposal.why.map(indented),
		indented(JSON.stringify(proposal.output)),
	];
}

function limitLine(limit: InspectedLimit) {
	const { kind, slice, label, bound, allowed, severity, scope, timesNoise } = limit;
	const sign = bound === "at-most" ? "≤" : "≥";
	const byPrecision = allowed.map((one) => `${one.precision} ${sign} ${limitFigure(one.limit)}`).join(", ");
	const extent = `${severity === "warn" ? " (warns)" : ""}${scope === undefined ? "" : ", over the whole set"}`;
	const room =
		timesNoise === undefined
			? ""
			: `; the fp32 limit is ${figure(timesNoise)} times the noise or the rounding of its type`;
	return `  ${kind}${ofSlice(slice)}${extent}: ${label}: ${byPrecision}${room}`;
}

function groupLines({ groups, detections }: Inspection) {
	const lines: string[] = [];
	for (const { name, limits } of groups)
		lines.push("", `boxes ${quoteName(name, "")}`, ...limits.map(limitLine));
	if (detections === null) return lines;
	lines.push("", "boxes: proposal from the values, for your review:");
	return [...lines, ...detections.why.map(indented), indented(JSON.stringify(detections.proposal))];
}

function indented(line: string) {
	return `    ${line}`;
}

function findings({ findings: all }: Inspection) {
	if (all.length === 0) return ["no findings"];
	return all.flatMap(({ severity, message, fix }) => [
		`${severity === "refuse" ? "✗ cannot fail" : "! weak"}: ${message}.`,
		`  → ${fix}`,
	]);
}

function limitFigure(limit: number) {
	return limit > 0.99 && limit < 1
		? String(Number((1 - Number((1 - limit).toPrecision(3))).toPrecision(12)))
		: figure(limit);
}

function figure(value: number | null) {
	return value === null ? "–" : String(Number(value.toPrecision(3)));
}
