// Gathers one story for each thing that is not green, loudest first, none told twice.
import type { Result, WorkloadResult } from "../schema/result.ts";
import { type Highlight, severityOrder } from "./highlight.ts";
import { buildHighlights, erredSubjects, errorHighlight, gateHighlight, unbuiltSubjects } from "./highlights-build.ts";
import { goldenHighlights } from "./highlights-golden.ts";
import { goldenChangeHighlights } from "./highlights-golden-change.ts";
import { probeHighlights } from "./highlights-probe.ts";
import { speedHighlight } from "./highlights-speed.ts";
import { engineKey, failingGates, type GateIndex, indexGates, subjectKey } from "./index-gates.ts";

interface Told {
	highlights: Highlight[];
	/** Gate name and subject of what a story above already tells. */
	keys: Set<string>;
}

function tellBuilds(result: Result, gates: GateIndex, told: Told): void {
	told.highlights.push(...buildHighlights(result, gates));
	for (const subject of unbuiltSubjects(result)) told.keys.add(`build${subject}`);
}

function tellWorkloads(result: Result, gates: GateIndex, told: Told): void {
	// Largest change first: a short report shows the first few.
	const size = (workload: WorkloadResult) => Math.abs(workload.latency.estimate ?? 0);
	for (const workload of [...result.workloads].sort((a, b) => size(b) - size(a))) {
		const highlight = speedHighlight(result, workload, gates);
		if (highlight === null) continue;
		told.highlights.push(highlight);
		told.keys.add(`latency${subjectKey(workload)}`);
	}
}

function writeGoldenOutputs(result: Result, gates: GateIndex, told: Told): void {
	told.highlights.push(...goldenHighlights(result, gates));
	const changed = goldenChangeHighlights(result, gates);
	told.highlights.push(...changed.highlights);
	for (const key of changed.keys) told.keys.add(key);
	const probed = probeHighlights(result, gates);
	told.highlights.push(...probed.highlights);
	for (const key of probed.keys) told.keys.add(key);
	for (const verdict of result.golden) {
		const news = verdict.state !== "match" || verdict.checks.some((check) => !check.pass);
		if (news) told.keys.add(`golden${engineKey(verdict)}`);
	}
}

/** One story for each thing that is not green; improvements close the list as notes. */
export function highlights(result: Result): Highlight[] {
	const told: Told = { highlights: result.errors.map(errorHighlight), keys: new Set() };
	for (const subject of erredSubjects(result)) told.keys.add(`run${subject}`);
	const gates = indexGates(result);
	writeGoldenOutputs(result, gates, told);
	tellBuilds(result, gates, told);
	tellWorkloads(result, gates, told);
	for (const gate of failingGates(result)) {
		if (!told.keys.has(gate.gate + subjectKey(gate))) told.highlights.push(gateHighlight(result, gate));
	}
	return told.highlights.sort((a, b) => severityOrder.indexOf(a.severity) - severityOrder.indexOf(b.severity));
}
