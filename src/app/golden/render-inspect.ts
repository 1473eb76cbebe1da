// Words for an inspected golden.
import { formatShape } from "../../core/golden/tensor.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import type { InspectedOutput, InspectedTensor, Inspection } from "../../stages/inspect.ts";

const shownCases = 12;

export function renderInspection(inspection: Inspection): string {
	return [
		...head(inspection),
		"",
		...cases(inspection),
		...inspection.outputs.flatMap((output) => ["", ...outputLines(output)]),
		...groupLines(inspection),
		"",
		...mutation(inspection),
		...findings(inspection),
		"",
	].join("\n");
}

function head({ golden, model, producer, reason, author, noiseFloor }: Inspection): string[] {
	const by = author === null ? "nobody named" : quoteName(author, "");
	return [
		`${golden}: of ${quoteName(model.path, "")} (${model.sha256.slice(0, 12)}…)`,
		`made by ${quoteName(producer.backend, "")} ${quoteName(producer.version, "")} in ${producer.precision}${producer.optimisation === undefined ? "" : `, optimisation ${quoteName(producer.optimisation, "")}`}`,
		`last change: ${reason === null ? "no reason given" : quoteName(reason, "")} (${by})`,
		noiseFloor === null
			? "noise floor: not measured"
			: `noise floor: of ${noiseFloor.runs.length} runs (${noiseFloor.runs.map((run) => quoteName(run, "")).join("; ")})`,
	];
}

function cases({ cases: all }: Inspection): string[] {
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

function tensorLine({ name, dtype, shape, stats }: InspectedTensor): string {
	const { min, max, mean, std, nan, inf } = stats;
	const odd = nan + inf === 0 ? "" : `, ${nan} NaN, ${inf} infinite`;
	const figures = min === null ? "no finite value" : `${figure(min)} … ${figure(max)}, mean ${figure(mean)}, std ${figure(std)}`;
	return `${quoteName(name, "")} ${dtype} ${formatShape(shape)}: ${figures}${odd}`;
}

function outputLines({ name, semantic, noise, limits, proposal }: InspectedOutput): string[] {
	const lines = limits.map(({ kind, words, bound, allowed, severity, scope, timesNoise }) => {
		const sign = bound === "at-most" ? "≤" : "≥";
		const byPrecision = allowed.map(({ precision, limit }) => `${precision} ${sign} ${figure(limit)}`).join(", ");
		const room = timesNoise === undefined ? "" : `; fp32 allows ${figure(timesNoise)} times the noise`;
		return `  ${kind}${severity === "warn" ? " (warns)" : ""}${scope === undefined ? "" : ", over the whole set"}: ${words}: ${byPrecision}${room}`;
	});
	const scatter = noise === null ? "" : `, noise ${figure(noise.relativeL2)} (relative L2), ${figure(noise.maxAbs)} (largest)`;
	return [
		`output ${quoteName(name, "")}${semantic === null ? "" : ` (${semantic})`}${scatter}`,
		...lines,
		"  proposal, for you to review:",
		...proposal.why.map((sentence) => `    ${sentence}`),
		`    ${JSON.stringify(proposal.output)}`,
	];
}

function groupLines({ detections }: Inspection): string[] {
	if (detections === null) return [];
	const { proposal, why } = detections;
	return ["", "boxes, a proposal for you to review:", ...why.map((sentence) => `    ${sentence}`), `    ${JSON.stringify(proposal)}`];
}

function mutation({ mutation: record }: Inspection): string[] {
	if (record === null) return [];
	const { tested, tensors, noticed, belowNoise, relative } = record;
	const sample = tested < tensors ? ` of ${tensors}, drawn by seed` : "";
	return [`weights: ${tested}${sample} changed by ${figure(relative * 100)} %: ${noticed} noticed, ${belowNoise} below the noise`];
}

function findings({ findings: all }: Inspection): string[] {
	if (all.length === 0) return ["no findings"];
	return all.flatMap(({ severity, message, fix }) => [`${severity === "refuse" ? "✗ cannot fail" : "! weak"}: ${message}.`, `  → ${fix}`]);
}

function figure(value: number | null): string {
	return value === null ? "–" : String(Number(value.toPrecision(3)));
}
