// Records the goldens of a config's models, one after the other, and reviews what moved in each.
import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { GoldenManifest } from "../../../generated/golden.ts";
import type { GoldenChange } from "../../../generated/result.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { fileTensorReader } from "../../adapters/files/tensor-reader.ts";
import type { GoldenInputs } from "../../adapters/github/inputs.ts";
import { readInput } from "../../adapters/process/input-file.ts";
import type { Config, ModelConfig } from "../../core/config/config.ts";
import { usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { engineSpecs } from "../../core/plan/plan.ts";
import { confine } from "../../stages/resolve-in-workspace.ts";
import { reviewGoldens } from "../../stages/review.ts";
import type { Terminal } from "../terminal.ts";
import { readManifest, tensorPaths } from "./keep.ts";
import { recordGolden } from "./record.ts";
import { findModel, goldenOf, parseRecordOptions } from "./record-options.ts";

export interface GoldenTarget {
	model: ModelConfig;
	path: string;
}

export interface RecordedModel extends GoldenTarget {
	state: "written" | "same";
	manifest: GoldenManifest;
	/** The previous manifest, or null. */
	old: GoldenManifest | null;
	/** null where there is nothing to compare with. */
	change: GoldenChange | null;
}

/** @param names one a line, or with commas; empty: all models with a golden. @throws ConfigError usage. */
export function chooseTargets(config: Config, names: string): GoldenTarget[] {
	const wanted = new Set(names.split(/[\n,]/).map((name) => name.trim()));
	wanted.delete("");
	const chosen =
		wanted.size === 0
			? config.models.filter((model) => goldenOf(model) !== undefined)
			: [...wanted].map((name) => findModel(config, name));
	const targets = chosen.map((model) => ({ model, path: recordedPath(model) }));
	if (targets.length === 0)
		throw usageError(
			`No model of ${config.path} has a golden.`,
			"Set `golden:` for a model, the path of its golden.json.",
		);
	for (const [index, target] of targets.entries()) {
		const twin = targets.slice(0, index).find((other) => other.path === target.path);
		if (twin === undefined) continue;
		const both = `${quoteName(twin.model.name)} and ${quoteName(target.model.name)}`;
		throw usageError(
			`Models ${both} share the golden ${target.path}.`,
			"Name the one that it is recorded from with the input `model`.",
		);
	}
	return targets;
}

function recordedPath(model: ModelConfig): string {
	const path = goldenOf(model);
	if (path === undefined)
		throw usageError(
			`Model ${quoteName(model.name)} has no golden.`,
			"Set its `golden:`, the path of its golden.json.",
		);
	if (basename(path) === "golden.json") return path;
	throw usageError(
		`The golden of ${quoteName(model.name)} is ${path}, but a recorded golden must be named golden.json.`,
		"Rename it.",
	);
}

export interface Recording {
	inputs: GoldenInputs;
	author: string;
	home: string;
	scratchFolder: string;
	terminal: Terminal;
}

export async function recordModel(target: GoldenTarget, recording: Recording): Promise<RecordedModel> {
	const { inputs, author, home, terminal } = recording;
	const before = join(recording.scratchFolder, "before");
	const old = await keepOld(target, { home, before });
	// Joined with an equals sign, so that a value never looks like an option.
	const argv = [
		`--config=${inputs.config}`,
		`--model=${target.model.name}`,
		`--reason=${inputs.reason}`,
		`--author=${author}`,
		...inputs.options.flatMap(({ name, values }) => values.map((value) => `--${name}=${value}`)),
		...(inputs.propose ? ["--propose"] : []),
	];
	const recorded = await recordGolden(await parseRecordOptions(argv, terminal), terminal);
	const changes =
		recorded.state === "written" && old !== null
			? await reviewTarget(target, recorded.manifest, { home, before })
			: [];
	return { ...target, ...recorded, old, change: changes[0] ?? null };
}

interface Homes {
	home: string;
	before: string;
}

/** Copies the golden, because recording removes the old tensors, which the review compares with. */
export async function keepOld(
	{ path }: GoldenTarget,
	{ home, before }: Homes,
): Promise<GoldenManifest | null> {
	await confine(fileStore(), home, dirname(path));
	const manifest = await readManifest(join(home, path), path);
	if (manifest === null) return null;
	for (const file of ["golden.json", ...tensorPaths(manifest)]) {
		const to = join(before, dirname(path), file);
		await mkdir(dirname(to), { recursive: true });
		// Unreadable files are skipped; the review reports them.
		const bytes = await readInput(join(home, dirname(path), file), inputKinds.tensor).catch(() => null);
		if (bytes !== null) await writeFile(to, bytes);
	}
	return manifest;
}

export function reviewTarget({ model, path }: GoldenTarget, manifest: GoldenManifest, homes: Homes) {
	const specs = engineSpecs({ models: [model] }).filter((spec) => spec.engine.golden === path);
	const set = { manifest, folder: join(homes.home, dirname(path)) };
	const goldens = new Map(specs.map((spec) => [spec.id, set]));
	const engines = { baseEngines: specs, headEngines: specs, goldens, baseFolder: homes.before };
	return reviewGoldens(engines, { files: fileStore(), tensors: fileTensorReader() });
}
