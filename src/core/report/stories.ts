// Gathers one story for each thing that is not green, loudest first, none told twice.
import type { Result, WorkloadResult } from "../schema/result.ts";
import { engineKey, failingGates, type GateIndex, indexGates, subjectKey } from "./index-gates.ts";
import { buildStories, erredSubjects, errorStory, gateStory, unbuiltSubjects } from "./stories-build.ts";
import { goldenStories } from "./stories-golden.ts";
import { goldenChangeStories } from "./stories-golden-change.ts";
import { probeStories } from "./stories-probe.ts";
import { speedStory } from "./stories-speed.ts";
import { type Story, severityOrder } from "./story.ts";

interface Told {
	stories: Story[];
	/** Gate name and subject of what a story above already tells. */
	keys: Set<string>;
}

function tellBuilds(result: Result, gates: GateIndex, told: Told): void {
	told.stories.push(...buildStories(result, gates));
	for (const subject of unbuiltSubjects(result)) told.keys.add(`build${subject}`);
}

function tellWorkloads(result: Result, gates: GateIndex, told: Told): void {
	// Largest change first: a short report shows the first few.
	const size = (workload: WorkloadResult) => Math.abs(workload.latency.estimate ?? 0);
	for (const workload of [...result.workloads].sort((a, b) => size(b) - size(a))) {
		const story = speedStory(result, workload, gates);
		if (story === null) continue;
		told.stories.push(story);
		told.keys.add(`latency${subjectKey(workload)}`);
	}
}

function tellGoldens(result: Result, gates: GateIndex, told: Told): void {
	told.stories.push(...goldenStories(result, gates));
	const changed = goldenChangeStories(result, gates);
	told.stories.push(...changed.stories);
	for (const key of changed.keys) told.keys.add(key);
	const probed = probeStories(result, gates);
	told.stories.push(...probed.stories);
	for (const key of probed.keys) told.keys.add(key);
	for (const verdict of result.golden) {
		const news = verdict.state !== "match" || verdict.checks.some((check) => !check.pass);
		if (news) told.keys.add(`golden${engineKey(verdict)}`);
	}
}

/** One story for each thing that is not green; improvements close the list as notes. */
export function stories(result: Result): Story[] {
	const told: Told = { stories: result.errors.map(errorStory), keys: new Set() };
	for (const subject of erredSubjects(result)) told.keys.add(`run${subject}`);
	const gates = indexGates(result);
	tellGoldens(result, gates, told);
	tellBuilds(result, gates, told);
	tellWorkloads(result, gates, told);
	for (const gate of failingGates(result)) {
		if (!told.keys.has(gate.gate + subjectKey(gate))) told.stories.push(gateStory(result, gate));
	}
	return told.stories.sort((a, b) => severityOrder.indexOf(a.severity) - severityOrder.indexOf(b.severity));
}
