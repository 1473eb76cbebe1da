// Finds the engines that a path names.
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { readModel } from "../../adapters/files/model-reader.ts";
import { readInput, readInputText } from "../../adapters/process/input-file.ts";
import { ConfigError, ToolError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { median } from "../../core/stats/quantile.ts";
import { createTimesParser } from "../../formats/trtexec/export-times.ts";
import { parseProfileOf } from "../../formats/trtexec/layer-profile.ts";
import { parseLayerInfo } from "../../formats/trtexec/layers.ts";
import { reportFiles } from "../../stages/report.ts";
import type { LayerProfile } from "../core/layer.ts";
import { type EngineModel, engineModel } from "../core/model.ts";

export interface FoundEngine {
	name: string;
	layers: string;
	profiles: string[];
	times: string | null;
	model: string | null;
}

const maxDepth = 6;
const maxFiles = 20_000;

/** Also the names of TensorRT Engine Explorer. */
const kinds = {
	layers: /(?:^|[.-])(?:layers|graph)\.json$/,
	profile: /(?:^|[.-])profile(?:[-.]?\d+)?\.json$/,
	times: /(?:^|[.-])(?:times|timing)\.json$/,
} as const;

function ofKind(files: readonly string[], kind: keyof typeof kinds) {
	return files.filter((path) => kinds[kind].test(basename(path)));
}

/** `det.profile-2.json` and `det.layers.json` share a stem. */
const stemOf = (path: string) => basename(path).replace(/(?:^|[-._])[A-Za-z]+(?:[-.]?\d+)?\.json$/, "");

/** @param arm of the two engines in a result folder. */
export async function findEngines(wanted: string, cwd: string, arm: "base" | "head"): Promise<FoundEngine[]> {
	const named = resolve(cwd, wanted);
	const root = basename(named) === reportFiles.result ? dirname(named) : named;
	const facts = await stat(root).catch(() => null);
	if (facts === null) throw notFound(wanted, "It does not exist.");
	if (facts.isFile() && /\.(onnx|plan|engine|trt)$/i.test(root))
		throw notFound(wanted, "Its layers are needed, as trtexec exports them. `trtgate cost` compares models.");
	const files = facts.isDirectory() ? await listFiles(root) : [root];
	const found = facts.isDirectory() ? ofKind(files, "layers") : files;
	const profiled = found.filter((path) => path.split("/").at(-2) === "layers");
	// A result folder also has layers of builds, which were not timed.
	const own =
		profiled.length > 0
			? profiled.filter((path) => new RegExp(`-${arm}\\.layers\\.json$`).test(path))
			: found;
	if (own.length === 0)
		throw notFound(wanted, `It contains no layers.json${profiled.length > 0 ? ` of the ${arm}` : ""}.`);
	const all = facts.isDirectory() ? files : await listFiles(dirname(root));
	return own.map((layers) => besides(layers, root, all));
}

function besides(layers: string, root: string, files: readonly string[]) {
	const [stem, folder] = [stemOf(layers), dirname(layers)];
	const near = files.filter((path) => dirname(path) === folder);
	const isOnly = ofKind(near, "layers").every((path) => path === layers);
	const own = near.filter((path) => path !== layers && (isOnly || stemOf(path) === stem));
	const models = near.filter((path) => path.endsWith(".onnx"));
	const relative = join(folder.slice(root.length), stem).replace(/^\/|\/$|^\.$/g, "");
	return {
		name: relative.replace(/^layers\//, "").replace(/-(base|head)$/, ""),
		layers,
		profiles: ofKind(own, "profile").sort(),
		times: ofKind(own, "times")[0] ?? null,
		model:
			models.find((path) => basename(path) === `${stem}.onnx`) ??
			(models.length === 1 ? (models[0] ?? null) : null),
	};
}

async function listFiles(folder: string, depth = 0) {
	if (depth > maxDepth) return [];
	const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
	const found: string[] = [];
	for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
		if (found.length > maxFiles) break;
		const path = join(folder, entry.name);
		if (entry.isDirectory() && entry.name !== "node_modules" && !entry.name.startsWith("."))
			found.push(...(await listFiles(path, depth + 1)));
		else if (entry.isFile()) found.push(path);
	}
	return found;
}

function notFound(path: string, what: string) {
	return new ConfigError({
		code: "engine-missing",
		message: `${path} is not a usable engine: ${what}`,
		fix: "Write one with `trtexec --loadEngine=FILE --exportLayerInfo=layers.json --exportProfile=profile.json --separateProfileRun`.",
	});
}

export async function readEngine({ layers, profiles, model }: FoundEngine): Promise<EngineModel> {
	const read = model === null ? null : await readModel(model);
	const info = await parsed(layers, parseLayerInfo);
	const times: LayerProfile[] = [];
	for (const path of profiles) times.push(await parsed(path, (text) => parseProfileOf(info, layers, text)));
	return engineModel({ info, profiles: times, graph: read?.onnx.graph ?? null });
}

export async function engineMs({ times }: FoundEngine): Promise<number | null> {
	if (times === null) return null;
	const parser = createTimesParser();
	parser.push(await readInput(times, inputKinds.engineLayers, times));
	const read = parser.end();
	if (read.state === "broken") throw unreadable(times, read.message);
	return median([...read.times.computeMs]);
}

async function parsed<Value>(path: string, parse: (text: string) => Value) {
	const text = await readInputText(path, inputKinds.engineLayers, path);
	try {
		return parse(text);
	} catch (cause) {
		if (!(cause instanceof ToolError)) throw cause;
		throw unreadable(path, cause.message, cause);
	}
}

function unreadable(path: string, why: string, cause?: unknown) {
	return new ConfigError({
		code: "engine-unreadable",
		message: `${path} cannot be used. ${why}`,
		cause,
		location: { path },
		fix: "Export it again.",
	});
}
