// Gates a recorded comparison through the bundle with a trtexec that misbehaves.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Result } from "../../../generated/result.ts";
import { type CliRun, readResult, runCli, temporaryFolder, writeProject } from "../project.ts";
import { comparisonFiles, installReplay, type Replay } from "./install.ts";

const dist = process.env["TRTGATE_DIST"];

export interface Gated {
	run: CliRun;
	folder: string;
	result: Result;
}

type Texts = readonly (readonly [from: string, to: string])[];

export interface Change {
	/** Replacements in the config of both sides. */
	config?: Texts;
	/** Further replacements in the head's config only. */
	headConfig?: Texts;
	argv?: readonly string[];
}

/** Runs the gate; whether it left a result is the test's affair. */
export async function startReplay(
	replay: Replay,
	change: Change = {},
): Promise<{ run: CliRun; folder: string }> {
	const folder = temporaryFolder();
	for (const arm of ["base", "head"] as const) {
		const files = comparisonFiles(replay.comparison, arm);
		const texts = [...(change.config ?? []), ...(arm === "head" ? (change.headConfig ?? []) : [])];
		const config = texts.reduce((text, [from, to]) => text.replace(from, to), String(files["trtgate.yml"]));
		writeProject(join(folder, arm), { ...files, "trtgate.yml": config });
	}
	const run = await runCli(
		["run", "--base", "base", "--head", "head", "--out", "out", ...(change.argv ?? [])],
		{
			cwd: folder,
			env: { PATH: installReplay(folder, replay) },
			...(dist === undefined ? {} : { dist }),
		},
	);
	return { run, folder };
}

export async function gateReplay(replay: Replay, change: Change = {}): Promise<Gated> {
	const { run, folder } = await startReplay(replay, change);
	expect(existsSync(join(folder, "out/result.json")), run.stdout + run.stderr).toBe(true);
	return { run, folder, result: readResult(join(folder, "out")) };
}
