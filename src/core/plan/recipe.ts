// A recipe: what a side builds an engine from, and how.

import type { RecipeRow } from "../../../generated/result.ts";
import type { DimRange } from "../config/config.ts";
import { formatCount } from "../text/units.ts";
import type { Asset, EngineAssets, EngineSpec } from "./plan.ts";

export interface RecipeOf {
	spec: EngineSpec;
	modelSha256?: string;
	assets?: EngineAssets | undefined;
}

const defaultLevel = 3;
const hashShown = 12;
const mebibyte = 1024 * 1024;

function buildSettings({ spec: { model, engine }, assets }: RecipeOf) {
	const { tensorrt } = engine;
	const { dla, workspaceBytes, optimizationLevel = defaultLevel } = tensorrt;
	const list = (items: readonly string[]) => items.join(" ") || "none";
	const hashed = (name: string, asset?: Asset) => (asset ? `${name} ${shortHash(asset.sha256)}` : name);
	const plugins = tensorrt.plugins.map(({ path, dynamic }, at) =>
		hashed(`${path}${dynamic ? " (dynamic)" : ""}`, assets?.plugins[at]),
	);
	const { path: calibration, data } = tensorrt.calibration ?? {};
	return new Map([
		["precision", engine.precision],
		["optimization-level", String(optimizationLevel)],
		[
			"workspace",
			workspaceBytes === undefined
				? "TensorRT's default"
				: `${formatCount(Math.floor(workspaceBytes / mebibyte))} MiB`,
		],
		["flags", list([...tensorrt.flags].sort())],
		["plugins", list(plugins)],
		[
			"calibration",
			calibration === undefined
				? "none"
				: `${hashed(calibration, assets?.calibration)}${data ? ` (${data.method})` : ""}`,
		],
		...planSettings(engine.build, assets, hashed),
		["dla", dla === undefined ? "none" : `core ${dla.core}${dla.gpuFallback ? " with GPU fallback" : ""}`],
		...rangesOf(engine.profiles),
		...Object.entries(model.inputs).flatMap(([name, { shape }]): [string, string][] =>
			shape === undefined ? [] : [[`inputs.${name}.shape`, shape.join("×") || "scalar"]],
		),
	]);
}

/** Only where there is a plan, so that other recipes keep their hashes. */
function planSettings(
	build: EngineSpec["engine"]["build"],
	assets: EngineAssets | undefined,
	hashed: (name: string, asset?: Asset) => string,
): [string, string][] {
	if (build === undefined) return [];
	return [
		["build", build.command ?? "none"],
		["plan", hashed(build.plan, assets?.plan)],
	];
}

function rangesOf(profiles: EngineSpec["engine"]["profiles"]): [string, string][] {
	const names = new Set(profiles.flatMap((profile) => Object.keys(profile)));
	const rangeIn = (range: DimRange | undefined) => (range === undefined ? "none" : formatRange(range));
	return [...names].map((name) => [
		`dims.${name}`,
		profiles.map((profile) => rangeIn(profile[name])).join(" | "),
	]);
}

export function formatRange({ min, opt, max }: DimRange): string {
	return min === max ? String(min) : `${min} to ${max}, optimum ${opt}`;
}

function sourceSettings({ spec: { model, engine }, modelSha256 }: RecipeOf) {
	const fills = Object.entries(model.inputs).flatMap(([name, { fill }]): [string, string][] =>
		fill === undefined ? [] : [[`inputs.${name}.fill`, String(fill)]],
	);
	return new Map([
		["onnx", engine.onnx],
		["model file", modelSha256 === undefined ? "" : shortHash(modelSha256)],
		["prepare", model.prepare === undefined ? "none" : model.prepare.command],
		...fills,
	]);
}

const shortHash = (sha256: string) => sha256.slice(0, hashShown);

/** Nobody knows what a command of the user reads, so its plans are never taken to be the same. */
export function isSameRecipe(base: RecipeOf, head: RecipeOf): boolean {
	return head.spec.engine.build?.command === undefined && recipeText(base) === recipeText(head);
}

function withoutNames(recipe: RecipeOf) {
	const { engine } = recipe.spec;
	if (recipe.assets === undefined) return recipe;
	const nameless = <File extends { path: string }>(file: File): File => ({ ...file, path: "" });
	const { plugins, calibration } = engine.tensorrt;
	const build =
		recipe.assets.plan === undefined ? engine.build : engine.build && { ...engine.build, plan: "" };
	const tensorrt = {
		...engine.tensorrt,
		plugins: plugins.map(nameless),
		calibration: calibration === undefined ? undefined : nameless(calibration),
	};
	return { ...recipe, spec: { ...recipe.spec, engine: { ...engine, build, tensorrt } } };
}

export function recipeRows(base: RecipeOf, head: RecipeOf): RecipeRow[] {
	return [...rowsOf(base, head, buildSettings), ...rowsOf(base, head, sourceSettings)].filter(
		({ what }) => what !== "model file",
	);
}

function rowsOf(base: RecipeOf, head: RecipeOf, settings: (of: RecipeOf) => ReadonlyMap<string, string>) {
	const [was, is] = [settings(base), settings(head)];
	return [...new Set([...was.keys(), ...is.keys()])].flatMap((what) => {
		const [before = "none", now = "none"] = [was.get(what), is.get(what)];
		return before === now ? [] : [{ what, base: before, head: now }];
	});
}

export function recipeText(recipe: RecipeOf): string {
	const { plugins = [], calibration } = recipe.assets ?? {};
	const hashes = [recipe.modelSha256, calibration?.sha256, ...plugins.map(({ sha256 }) => sha256)];
	return JSON.stringify([hashes, [...buildSettings(withoutNames(recipe))].sort()]);
}
