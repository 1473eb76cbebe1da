// Compares the goldens of base and head.

import type { GoldenCase } from "../../../generated/golden.ts";
import type { GoldenChange, MovedOutput } from "../../../generated/result.ts";
import { inputKinds } from "../../core/input-kind.ts";
import type { EngineSpec } from "../../core/plan/plan.ts";
import type { Ports } from "../../ports/ports.ts";
import { confine } from "../../stages/resolve-in-workspace.ts";
import { toNumeric } from "../core/compare/checks.ts";
import { parseManifest } from "../core/manifest/parse-manifest.ts";
import { reviewGolden, reviewGone, reviewUnread } from "../core/manifest/review.ts";
import { distance } from "../core/record/noise-floor.ts";
import { elementCount, type Tensor } from "../core/tensor/tensor.ts";
import { type GoldenSet, readTensors } from "./load-goldens.ts";

export interface ReviewGoldensInput {
	/** Specs from the base's own config. */
	baseEngines: readonly EngineSpec[];
	headEngines: readonly EngineSpec[];
	goldens: ReadonlyMap<string, GoldenSet>;
	baseFolder: string;
}

type ReviewPorts = Pick<Ports, "files" | "tensors">;

/** Reports a base golden that cannot be read, because it may have changed. */
export async function reviewGoldens(input: ReviewGoldensInput, ports: ReviewPorts): Promise<GoldenChange[]> {
	const written = ({ asWritten, ...set }: GoldenSet): GoldenSet => ({
		...set,
		manifest: asWritten ?? set.manifest,
	});
	const changes: GoldenChange[] = [];
	const seen = new Set<string>();
	for (const spec of input.baseEngines) {
		const path = spec.engine.golden;
		const head = input.headEngines.find((engine) => engine.id === spec.id);
		const key = JSON.stringify([spec.model.name, path, head?.engine.golden]);
		// The coverage gate reports removed engines.
		if (path === undefined || head === undefined || seen.has(key)) continue;
		seen.add(key);
		const set = input.goldens.get(spec.id);
		const pair = { model: spec.model.name, path, head: set && written(set), gates: head };
		const change = await reviewOne(pair, { root: input.baseFolder, ports }).catch((error: unknown) => {
			const why = error instanceof Error ? error.message : String(error);
			return reviewUnread(pair.model, path, { head: pair.head?.manifest ?? null, why });
		});
		if (change !== null) changes.push(change);
	}
	return changes;
}

interface GoldenPair {
	model: string;
	path: string;
	head: GoldenSet | undefined;
	gates: EngineSpec;
}

async function reviewOne(
	{ model, path, head, gates }: GoldenPair,
	from: { root: string; ports: ReviewPorts },
): Promise<GoldenChange | null> {
	const { root, ports } = from;
	const file = await confine(ports.files, root, path);
	if (file === null) return null;
	const manifest = parseManifest(await ports.files.readText(file, inputKinds.golden), path);
	if (head === undefined) return gates.engine.golden === undefined ? reviewGone(model, path, manifest) : null;
	const base = { manifest, folder: file.slice(0, file.lastIndexOf("/")) };
	const sets = { base, head, ports };
	const [moved, expected] = [await movedOutputs(sets), await sampleOutputs(sets)];
	return reviewGolden({
		model,
		path,
		base: manifest,
		head: head.manifest,
		moved,
		expected,
		relativeL2: gates.engine.gates.relativeL2,
	});
}

interface ReviewedSets {
	base: GoldenSet;
	head: GoldenSet;
	ports: ReviewPorts;
}

/** The first that is not empty, for limits that depend on type and values. */
async function sampleOutputs({ head, ports }: ReviewedSets): Promise<Map<string, Tensor>> {
	const samples = new Map<string, Tensor>();
	for (const golden of head.manifest.cases) {
		for (const name of Object.keys(golden.outputs)) {
			if (elementCount(samples.get(name)?.shape ?? [0]) > 0) continue;
			const tensor = await readOne(golden.outputs, name, { set: head, ports });
			if (tensor !== undefined) samples.set(name, tensor);
		}
	}
	return samples;
}

/** Reads tensors only if their hashes differ. */
async function movedOutputs({ base, head, ports }: ReviewedSets): Promise<MovedOutput[]> {
	const moved: MovedOutput[] = [];
	for (const golden of head.manifest.cases) {
		const before = base.manifest.cases.find(({ id }) => id === golden.id);
		for (const name of before === undefined ? [] : changedNames(before.outputs, golden.outputs)) {
			const now = await readOne(golden.outputs, name, { set: head, ports });
			const was = await readOne(before?.outputs ?? {}, name, { set: base, ports }).catch(() => null);
			const place = { case: golden.id, output: name };
			// The base's tensors are not fetched from Git LFS.
			if (was === null)
				moved.push({
					...place,
					relativeL2: null,
					maxAbs: null,
					detail: "the previous output cannot be read",
				});
			else if (now !== undefined && was !== undefined) moved.push(movement(place, was, now));
		}
	}
	return moved.filter(({ relativeL2 }) => relativeL2 !== 0);
}

function changedNames(before: GoldenCase["outputs"], after: GoldenCase["outputs"]): string[] {
	return Object.keys(after).filter(
		(name) => Object.hasOwn(before, name) && before[name]?.sha256 !== after[name]?.sha256,
	);
}

async function readOne(
	files: GoldenCase["outputs"],
	name: string,
	from: { set: GoldenSet; ports: ReviewPorts },
): Promise<Tensor | undefined> {
	const file = Object.hasOwn(files, name) ? files[name] : undefined;
	return file === undefined
		? undefined
		: (await readTensors({ [name]: file }, from.set.folder, from.ports))[name];
}

function movement(place: Pick<MovedOutput, "case" | "output">, was: Tensor, now: Tensor): MovedOutput {
	const spread = distance(was, now);
	if (spread === null) {
		const layout = ({ dtype, shape }: Tensor): string => `${dtype} [${shape.join(", ")}]`;
		return { ...place, relativeL2: null, maxAbs: null, detail: `${layout(was)} before, ${layout(now)} now` };
	}
	return { ...place, relativeL2: toNumeric(spread.relativeL2), maxAbs: toNumeric(spread.maxAbs) };
}
