// Describes failed runs and finished builds.
import { basename } from "node:path";
import type { Failure } from "../../../generated/result.ts";
import type { Diagnosis } from "../../core/errors.ts";
import { formatBytes } from "../../core/text/units.ts";
import { type EngineLayers, isReformat } from "../../engine/core/layer.ts";
import type { BuildLogFacts } from "../../formats/trtexec/build-log.ts";
import type { ToolFailure } from "../../ports/world.ts";
import { runnerFailure } from "../process/failure.ts";
import type { TrtexecRun } from "./run.ts";

function excerptOf(diagnosis: Diagnosis) {
	return diagnosis.excerpt.map(({ line, text }) => `${line}: ${text}`);
}

export function failureOf({ record, diagnosis }: Pick<TrtexecRun, "record" | "diagnosis">): ToolFailure {
	const log = record.logPath ?? undefined;
	if (record.state === "aborted")
		return { code: "interrupted", message: "trtexec was interrupted.", fix: "Start the run again.", log };
	const message = `${diagnosis.title} [${diagnosis.code}]`;
	return { code: codeOf(record), message, fix: diagnosis.fix, excerpt: excerptOf(diagnosis), log };
}

function codeOf(record: TrtexecRun["record"]) {
	if (record.state === "not-started") return "tool-missing";
	if (record.state === "timed-out") return "tool-timeout";
	return record.state === "exited" && record.exitCode === 0 ? "tool-output" : "tool-crashed";
}

export function refusalOf(run: Pick<TrtexecRun, "record" | "diagnosis">): Failure {
	if (run.record.state === "aborted") return runnerFailure(failureOf(run));
	const { code, title, fix, kind } = run.diagnosis;
	const excerpt = excerptOf(run.diagnosis);
	return { code, title, fix, excerpt, kind: kind === "runner" ? "runner" : "refusal" };
}

export function badOutput(message: string, run: Pick<TrtexecRun, "record">): ToolFailure {
	const fix = "Check the free disk space and run again. If it fails again, read the log.";
	return { code: "tool-output", message, fix, log: run.record.logPath ?? undefined };
}

interface BuiltFacts {
	log: BuildLogFacts;
	layers: EngineLayers | null;
	entriesBefore: number | null;
}

export function buildNotes({ log, layers, entriesBefore }: BuiltFacts): string[] {
	const { weights, activations, scratch } = log.memory;
	// 8.6 rounds down to a MiB.
	const held = weights === 0 ? "below 1 MiB" : formatBytes(weights ?? NaN);
	const more = scratch === null ? "" : `, scratch ${formatBytes(scratch)}`;
	return [
		layersNote(layers),
		...(weights === null || activations === null
			? []
			: [`GPU memory: weights ${held}, activations ${formatBytes(activations)}${more}.`]),
		cacheNote(log, entriesBefore),
	];
}

export function layersNote(layers: EngineLayers | null): string {
	if (layers === null)
		return "trtexec wrote no readable list of layers, so the engine's layers are not compared.";
	return `${layers.layers.length} layers, ${layers.layers.filter(isReformat).length} of them reformats.`;
}

function cacheNote({ timingCache }: BuildLogFacts, before: number | null) {
	const { isKept, entries } = timingCache;
	if (!isKept) return "No timing cache was kept: two builds of one model can differ in speed by about 1 %.";
	if (entries === null) return "The timing cache was kept; this TensorRT does not count its kernel timings.";
	if (before === null) return `Started the timing cache: ${entries} kernel timings.`;
	const added = Math.max(0, entries - before);
	return `Timing cache shared with the earlier build: ${before} kernel timings were there, ${added} had to be measured.`;
}

export function portableFlags(argv: readonly string[]): string {
	const flags = argv.map((argument) => {
		const at = argument.indexOf("=/");
		return at < 0 ? argument : `${argument.slice(0, at)}=${basename(argument)}`;
	});
	return flags.join(" ");
}
