// Sentences about a build that a reader must know: layers, memory, and what came from the timing cache.
import { basename } from "node:path";
import { type EngineLayers, isReformat } from "../../core/engine/layer.ts";
import { formatBytes } from "../../core/text/units.ts";
import type { BuildLogFacts } from "../../formats/trtexec/build-log.ts";

export interface BuiltFacts {
	log: BuildLogFacts;
	layers: EngineLayers | null;
	/** Kernel timings that an earlier build left in the cache; null where there was none. */
	entriesBefore: number | null;
}

export function* buildNotes({ log, layers, entriesBefore }: BuiltFacts): Generator<string> {
	if (layers === null) yield "trtexec wrote no readable list of layers, so the engine's layers are not compared.";
	else {
		const reformats = layers.layers.filter(isReformat).length;
		yield `${layers.layers.length} layers, ${reformats} of them reformats.`;
	}
	const { weightsBytes, activationBytes, scratchBytes } = log.memory;
	if (weightsBytes !== null && activationBytes !== null) {
		const scratch = scratchBytes === null ? "" : `, scratch ${formatBytes(scratchBytes)}`;
		yield `GPU memory: weights ${formatBytes(weightsBytes)}, activations ${formatBytes(activationBytes)}${scratch}.`;
	}
	yield cacheNote(log, entriesBefore);
}

function cacheNote({ timingCache }: BuildLogFacts, before: number | null): string {
	const { mode, entries } = timingCache;
	if (mode === "local" || entries === null) return "No timing cache was kept: two builds of one model can differ in speed by about 1 %.";
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

/** The flags without this machine's folders, so that the build can be repeated anywhere. */
export function recipeOf(argv: readonly string[], facts: { version: string; log: BuildLogFacts }): Record<string, string> {
	const { precision } = facts.log;
	return { tensorrt: facts.version, flags: portableFlags(argv), ...(precision === null ? {} : { typing: precision }) };
}
