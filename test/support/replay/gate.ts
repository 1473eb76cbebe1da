// Gates a recorded comparison through the bundle with a trtexec that misbehaves.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type AtEnd, type Gated, gateFolders, temporaryFolder, writeProject } from "../project.ts";
import { comparisonFiles, installReplay, type Replay } from "./install.ts";

type Texts = readonly (readonly [from: string, to: string])[];

export interface Change {
	/** Replacements in the config of both sides. */
	config?: Texts;
	/** Further replacements in the head's config only. */
	headConfig?: Texts;
	argv?: readonly string[];
	env?: Readonly<Record<string, string>>;
	atEnd?: AtEnd;
	/** Before the run. */
	given?(folder: string): void;
}

/** Writes the sides of a recorded comparison as `base` and `head` of a folder. */
export function writeArms(
	folder: string,
	comparison: Replay["comparison"],
	edit: (config: string, arm: "base" | "head") => string = (config) => config,
): string {
	for (const arm of ["base", "head"] as const) {
		const files = comparisonFiles(comparison, arm);
		writeProject(join(folder, arm), { ...files, "trtgate.yml": edit(String(files["trtgate.yml"]), arm) });
	}
	return folder;
}

/** Runs the gate; whether it left a result is the test's affair. */
export async function startReplay(replay: Replay, change: Change = {}): Promise<Gated> {
	const folder = temporaryFolder(change.atEnd);
	writeArms(folder, replay.comparison, (config, arm) => {
		const texts = [...(change.config ?? []), ...(arm === "head" ? (change.headConfig ?? []) : [])];
		return texts.reduce((text, [from, to]) => text.replace(from, to), config);
	});
	change.given?.(folder);
	return gateFolders(folder, {
		argv: change.argv ?? [],
		env: { PATH: installReplay(folder, replay), ...change.env },
	});
}

export async function gateReplay(replay: Replay, change: Change = {}): Promise<Gated> {
	const gated = await startReplay(replay, change);
	const { run, folder } = gated;
	expect(existsSync(join(folder, "out/result.json")), run.stdout + run.stderr).toBe(true);
	return gated;
}
