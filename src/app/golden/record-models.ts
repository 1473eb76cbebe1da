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
import { parseManifest } from "../../core/golden/manifest/parse-manifest.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { engineSpecs } from "../../core/plan/plan.ts";
import { confine } from "../../stages/resolve-in-workspace.ts";
import { reviewGoldens } from "../../stages/review.ts";
import type { Terminal } from "../terminal.ts";
import { tensorPaths } from "./keep.ts";
import { readManifestText } from "./read-old.ts";
import { recordWith } from "./record.ts";
import { findModel, goldenOf, parseRecordOptions } from "./record-options.ts";

/** A model whose golden is to be recorded. */
export interface GoldenTarget {
	model: ModelConfig;
	/** Manifest, relative to the config's folder. */
	path: string;
}

export interface RecordedModel extends GoldenTarget {
	state: "written" | "same";
	manifest: GoldenManifest;
	/** Of before; null where this is the first. */
	old: GoldenManifest | null;
	/** null where there is nothing to compare with. */
	change: GoldenChange | null;
}

/** @param names one a line, or with commas; empty: all models with a golden. @throws ConfigError usage. */
export function chooseTargets(config: Config, names: string): GoldenTarget[] {
	const { models, path } = config;
	const requested = names.split(/[\n,]/).map((name) => name.trim());
	const wanted = [...new Set(requested.filter((name) => name !== ""))];
	const chosen =
		wanted.length === 0
			? models.filter((model) => goldenOf(model) !== undefined)
			: wanted.map((name) => findModel(config, name));
	const targets = chosen.map((model) => targetOf(model));
	if (targets.length === 0)
		throw usageError(
			`No model of ${path} has a golden.`,
			"Set `golden:` for a model, the path of its golden.json.",
		);
	for (const [index, target] of targets.entries()) {
		const twin = targets.slice(0, index).find((other) => other.path === target.path);
		if (twin !== undefined) {
			const both = `${quoteName(twin.model.name)} and ${quoteName(target.model.name)}`;
			throw usageError(
				`Models ${both} share the golden ${target.path}.`,
				"Name the one that it is recorded from with the input `model`.",
			);
		}
	}
	return targets;
}

function targetOf(model: ModelConfig): GoldenTarget {
	const path = goldenOf(model);
	if (path !== undefined && basename(path) !== "golden.json")
		throw usageError(
			`The golden of ${quoteName(model.name)} is ${path}, but a recorded golden must be named golden.json.`,
			"Rename it.",
		);
	if (path !== undefined) return { model, path };
	throw usageError(
		`Model ${quoteName(model.name)} has no golden.`,
		"Set its `golden:`, the path of its golden.json.",
	);
}

export interface Recording {
	inputs: GoldenInputs;
	author: string;
	/** Of the config. */
	home: string;
	/** Of our own. */
	scratchFolder: string;
	terminal: Terminal;
}

export async function recordModel(target: GoldenTarget, recording: Recording): Promise<RecordedModel> {
	const before = join(recording.scratchFolder, "before");
	const old = await keepOld(target, { home: recording.home, before });
	const options = await parseRecordOptions(argumentsFor(target, recording), recording.terminal);
	const recorded = await recordWith(options, recording.terminal);
	const isChange = recorded.state === "written" && old !== null;
	const [change = null] = isChange
		? await reviewTarget({ target, manifest: recorded.manifest, home: recording.home, before })
		: [];
	return { ...target, ...recorded, old, change };
}

/** Joined with an equals sign, so that a value never looks like an option. */
function argumentsFor({ model }: GoldenTarget, { inputs, author }: Recording): string[] {
	const given = inputs.options.flatMap(({ name, values }) => values.map((value) => `--${name}=${value}`));
	const words = [
		`--config=${inputs.config}`,
		`--model=${model.name}`,
		`--reason=${inputs.reason}`,
		`--author=${author}`,
	];
	return [...words, ...given, ...(inputs.propose ? ["--propose"] : [])];
}

/** Recording removes the old revision's tensors, which the review is to compare with. */
export async function keepOld(
	{ path }: GoldenTarget,
	{ home, before }: { home: string; before: string },
): Promise<GoldenManifest | null> {
	await confine(fileStore(), home, dirname(path));
	const text = await readManifestText(join(home, path), path);
	if (text === null) return null;
	const manifest = parseManifest(text, path);
	for (const file of ["golden.json", ...tensorPaths(manifest)]) {
		const to = join(before, dirname(path), file);
		await mkdir(dirname(to), { recursive: true });
		// What cannot be read is for the review to miss.
		const bytes = await readInput(join(home, dirname(path), file), inputKinds.tensor).catch(() => null);
		if (bytes !== null) await writeFile(to, bytes);
	}
	return manifest;
}

interface Reviewing {
	target: GoldenTarget;
	manifest: GoldenManifest;
	/** Folders of the config: as it is now, and as it was. */
	home: string;
	before: string;
}

export function reviewTarget({ target: { model, path }, manifest, home, before }: Reviewing) {
	const specs = engineSpecs({ models: [model] }).filter((spec) => spec.engine.golden === path);
	const set = { manifest, folder: join(home, dirname(path)) };
	const goldens = new Map(specs.map((spec) => [spec.id, set]));
	const engines = { baseEngines: specs, headEngines: specs, goldens, baseFolder: before };
	return reviewGoldens(engines, { files: fileStore(), tensors: fileTensorReader() });
}
