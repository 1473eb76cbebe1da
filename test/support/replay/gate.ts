import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type AtEnd, type Gated, gateFolders, temporaryFolder, writeProject } from "../project.ts";
import { comparisonFiles, installReplay, type Replay } from "./install.ts";

type Texts = readonly (readonly [from: string | RegExp, to: string])[];

export interface Change {
	config?: Texts;
	headConfig?: Texts;
	argv?: readonly string[];
	env?: Readonly<Record<string, string>>;
	atEnd?: AtEnd;
	given?(folder: string): void;
}

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
