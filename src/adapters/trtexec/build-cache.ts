// Reuses engines and kernel timings of earlier runs on the same GPU, driver and TensorRT.

import { readFile, rm, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { BuildRecord } from "../../../generated/result.ts";
import { fieldsOf, isObject } from "../../core/found.ts";
import type { BuildPlaces } from "../../formats/trtexec/args.ts";
import type { BuildJob } from "../../ports/backend.ts";
import { digestFile, digestOf } from "../process/input-file.ts";
import { portableFlags } from "./failure.ts";
import type { TrtexecContext } from "./run.ts";

export interface BuildFacts
	extends Pick<BuildRecord, "durationMs" | "warnings" | "hadKernelTimings" | "sparsity">,
		Required<Pick<BuildRecord, "recipe" | "notes">> {
	builtAt: string;
	weightsBytes: number | null;
	/** Kernel timings in the cache after the build; null if it is unknown. */
	entries: number | null;
}

const countOf = (value: unknown) => (Number.isSafeInteger(value) ? Number(value) : null);

function parseFacts(facts: unknown) {
	const { durationMs, builtAt, recipe, warnings, notes, weightsBytes, entries, sparsity, ...more } =
		fieldsOf(facts);
	const { eligible, picked } = fieldsOf(sparsity);
	if (typeof durationMs !== "number" || typeof builtAt !== "string") return null;
	if (!isObject(recipe) || !Array.isArray(warnings) || !Array.isArray(notes)) return null;
	return {
		durationMs,
		builtAt,
		recipe: Object.fromEntries(Object.entries(recipe).map(([key, value]) => [key, String(value)])),
		warnings: warnings.map((warning) => {
			const { class: name, count, example } = fieldsOf(warning);
			return { class: String(name), count: Number(count) || 1, example: String(example) };
		}),
		notes: notes.map(String),
		...(more["hadKernelTimings"] === true && { hadKernelTimings: true }),
		weightsBytes: typeof weightsBytes === "number" ? weightsBytes : null,
		entries: typeof entries === "number" ? entries : null,
		...(sparsity === undefined ? {} : { sparsity: { eligible: countOf(eligible), picked: countOf(picked) } }),
	};
}

export interface BuildRequest {
	job: BuildJob;
	places: BuildPlaces;
	argv: readonly string[];
	files: readonly string[];
}

/** The model has its own digest; output paths do not identify a build. */
export async function buildRequest(
	job: BuildJob,
	places: BuildPlaces,
	argv: readonly string[],
): Promise<BuildRequest> {
	const known = new Set<string | undefined>([job.model.path, places.engine, places.layers, places.cache]);
	const files: string[] = [];
	for (const argument of argv) {
		const value = argument.slice(argument.indexOf("=") + 1);
		const path = resolve(job.engineFolder, value);
		const found = known.has(value) ? null : await stat(path).catch(() => null);
		if (found?.isFile()) files.push(await digestFile(path));
	}
	return { job, places, argv, files };
}

export const hashOf = (text: string | Uint8Array): string => digestOf(text).slice(0, 32);

async function timingHash(path: string | undefined) {
	if (path === undefined) return null;
	const bytes = await readFile(path).catch(() => null);
	return bytes === null ? null : hashOf(bytes);
}

/** Without this machine's folders, so that a checkout elsewhere finds the same. */
function engineKey({ job, argv, files, places }: BuildRequest, machine: string) {
	// The timing cache is named after the engine, which another name does not change.
	const flags = argv.filter(
		(argument) => places.cache === undefined || !argument.endsWith(`=${places.cache}`),
	);
	return hashOf(JSON.stringify([machine, job.model.sha256, portableFlags(flags), files]));
}

function timingKey({ spec }: BuildJob, machine: string) {
	return hashOf(JSON.stringify([machine, spec.id, spec.engine.precision]));
}

/**
 * The first side to build takes any engine of its key, with the timings that it was built on. Later sides build on
 * them, and take only an engine that was built on the same.
 */
export async function restoreEngine(
	request: BuildRequest,
	context: TrtexecContext,
): Promise<BuildFacts | null> {
	const { engines } = context.caches;
	const { places } = request;
	if (engines === null || context.machine === null || places.cache === undefined) return null;
	const key = engineKey(request, context.machine);
	const before = await timingHash(places.cache);
	const files = filesOf(places, places.cache);
	for (const name of await engines.list(`${key}-${before ?? ""}`)) {
		const cached = parseFacts(await engines.fetch(name, files));
		if (cached !== null) return cached;
		// A failing build leaves nothing behind.
		const useless = before === null ? Object.values(files) : [places.engine, places.layers];
		for (const path of useless) await rm(path, { force: true });
	}
	return null;
}

const filesOf = (places: BuildPlaces, cache: string) => ({
	"engine.plan": places.engine,
	"layers.json": places.layers,
	"timing.cache": cache,
});

/** Restores earlier kernel timings if this run has none of this engine; the hash of those before the build. */
export async function restoreTimingCache(
	{ job, places }: BuildRequest,
	context: TrtexecContext,
): Promise<string | null> {
	const { timing } = context.caches;
	const { cache } = places;
	const hash = await timingHash(cache);
	if (hash !== null || cache === undefined || timing === null || context.machine === null) return hash;
	const facts = await timing.fetch(timingKey(job, context.machine), { "timing.cache": cache });
	const { entries } = fieldsOf(facts);
	if (typeof entries === "number") context.cacheEntries.set(cache, entries);
	return timingHash(cache);
}

/** What cannot be stored is reported once. */
export async function saveBuild(
	request: BuildRequest,
	built: BuildFacts,
	{ before, context }: { before: string | null; context: TrtexecContext },
): Promise<void> {
	const { caches, machine } = context;
	const { job, places } = request;
	const after = await timingHash(places.cache);
	if (machine === null || after === null || places.cache === undefined) return;
	const name = `${engineKey(request, machine)}-${before ?? "none"}`;
	const timing = { files: { "timing.cache": places.cache }, facts: { entries: built.entries } };
	const faults = [
		await caches.engines?.keep(name, { files: filesOf(places, places.cache), facts: built }),
		after === before ? null : await caches.timing?.keep(timingKey(job, machine), timing),
	];
	const fault = faults.find((one) => typeof one === "string");
	if (fault !== undefined) context.note(`The build could not be cached for later runs: ${fault}`);
}
