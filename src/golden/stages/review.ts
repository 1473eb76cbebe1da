// Compares the goldens of base and head.

import type { GoldenChange, MovedOutput } from "../../../generated/result.ts";
import type { EngineSpec } from "../../core/plan/plan.ts";
import type { Ports } from "../../ports/ports.ts";
import { confine } from "../../stages/resolve-in-workspace.ts";
import { toNumeric } from "../core/compare/checks.ts";
import { reviewGolden, reviewGone, reviewUnread } from "../core/manifest/review.ts";
import { distance } from "../core/record/noise-floor.ts";
import { elementCount, type Tensor } from "../core/tensor/tensor.ts";
import { type GoldenSet, readGolden, readTensor } from "./load-goldens.ts";

interface ReviewGoldensInput {
	baseEngines: readonly EngineSpec[];
	headEngines: readonly EngineSpec[];
	goldens: ReadonlyMap<string, GoldenSet>;
	baseFolder: string;
}

type ReviewPorts = Pick<Ports, "files" | "tensors">;

/** Reports a base golden that cannot be read, because it may have changed. */
export async function reviewGoldens(input: ReviewGoldensInput, ports: ReviewPorts): Promise<GoldenChange[]> {
	const written = ({ asWritten, ...set }: GoldenSet) => ({
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
	{ root, ports }: { root: string; ports: ReviewPorts },
) {
	const file = await confine(ports.files, root, path);
	if (file === null) return null;
	const base = await readGolden(file, path, ports);
	if (head === undefined)
		return gates.engine.golden === undefined ? reviewGone(model, path, base.manifest) : null;
	return reviewGolden({
		model,
		path,
		base: base.manifest,
		head: head.manifest,
		moved: await movedOutputs(base, head, ports),
		expected: await sampleOutputs(head, ports),
		relativeL2: gates.engine.gates.relativeL2,
	});
}

/** The first that is not empty, for limits that depend on type and values. */
async function sampleOutputs(head: GoldenSet, ports: ReviewPorts) {
	const samples = new Map<string, Tensor>();
	for (const { outputs } of head.manifest.cases)
		for (const [name, file] of Object.entries(outputs))
			if (elementCount(samples.get(name)?.shape ?? [0]) === 0)
				samples.set(name, await readTensor(name, file, { folder: head.folder, ports }));
	return samples;
}

/** Reads tensors only if their hashes differ. */
async function movedOutputs(base: GoldenSet, head: GoldenSet, ports: ReviewPorts) {
	const moved: MovedOutput[] = [];
	for (const { id, outputs } of head.manifest.cases) {
		const before = base.manifest.cases.find((golden) => golden.id === id)?.outputs ?? {};
		for (const [name, file] of Object.entries(outputs)) {
			const old = Object.hasOwn(before, name) ? before[name] : undefined;
			if (old === undefined || old.sha256 === file.sha256) continue;
			const now = await readTensor(name, file, { folder: head.folder, ports });
			// The base's tensors are not fetched from Git LFS.
			const was = await readTensor(name, old, { folder: base.folder, ports }).catch(() => null);
			moved.push({ case: id, output: name, ...movement(was, now) });
		}
	}
	return moved.filter(({ relativeL2 }) => relativeL2 !== 0);
}

function movement(was: Tensor | null, now: Tensor) {
	const spread = was && distance(was, now);
	if (spread !== null) return { relativeL2: toNumeric(spread.relativeL2), maxAbs: toNumeric(spread.maxAbs) };
	const layout = ({ dtype, shape }: Tensor) => `${dtype} [${shape.join(", ")}]`;
	const detail =
		was === null ? "the previous output cannot be read" : `${layout(was)} before, ${layout(now)} now`;
	return { relativeL2: null, maxAbs: null, detail };
}
