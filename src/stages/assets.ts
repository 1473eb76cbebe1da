// Finds the files that an engine needs beside its model: plugin libraries and a calibration cache.
import { ConfigError } from "../core/errors.ts";
import { inputKinds } from "../core/input-kind.ts";
import type { Asset, EngineAssets, EngineSpec } from "../core/plan/plan.ts";
import type { Files } from "../ports/world.ts";
import { confine } from "./resolve-in-workspace.ts";

export interface MissingAsset {
	state: "missing" | "empty";
	/** As the config has it. */
	path: string;
	/** What the file should be, for messages. */
	what: string;
}

type AssetFiles = Pick<Files, "realPath" | "size" | "sha256">;

export type AssetsRead = { state: "ready"; assets: EngineAssets } | MissingAsset;

/**
 * trtexec does not report a missing or empty calibration cache: it invents the ranges.
 * @throws ConfigError path-outside-workspace.
 */
export async function readAssets({ engine }: EngineSpec, folder: string, files: AssetFiles): Promise<AssetsRead> {
	const { plugins, calibration } = engine.tensorrt;
	const read: (Asset & { dynamic: boolean })[] = [];
	for (const { path, dynamic } of plugins) {
		const asset = await readAsset({ path, what: "plugin library" }, folder, files);
		if ("state" in asset) return asset;
		read.push({ ...asset, dynamic });
	}
	if (calibration === undefined) return { state: "ready", assets: { plugins: read } };
	const asset = await readAsset({ path: calibration.path, what: "calibration cache" }, folder, files);
	return "state" in asset ? asset : { state: "ready", assets: { plugins: read, calibration: asset } };
}

async function readAsset(wanted: Omit<MissingAsset, "state">, folder: string, files: AssetFiles): Promise<Asset | MissingAsset> {
	const path = await confine(files, folder, wanted.path);
	const bytes = path === null ? null : await files.size(path);
	if (path === null || bytes === null) return { state: "missing", ...wanted };
	return bytes === 0 ? { state: "empty", ...wanted } : { path, sha256: await files.sha256(path, inputKinds.asset) };
}

export function missingAsset({ state, path, what }: MissingAsset, spec: EngineSpec): ConfigError {
	return new ConfigError({
		code: "asset-missing",
		message: `The ${what} ${path} of ${spec.id} is ${state === "empty" ? "an empty file" : "not there"}.`,
		fix: "Correct its path in the config, or let the model's prepare command write it.",
	});
}
