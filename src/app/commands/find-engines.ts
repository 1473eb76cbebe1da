// Finds the engines that a path of the command line names: layers, profiles and the model beside them.
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { fileModelReader } from "../../adapters/files/model-reader.ts";
import { readInputText } from "../../adapters/process/input-file.ts";
import type { LayerProfile } from "../../core/engine/layer.ts";
import { type EngineModel, engineModel } from "../../core/engine/model.ts";
import { ConfigError, ToolError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { parseProfile } from "../../formats/trtexec/layer-profile.ts";
import { parseLayerInfo } from "../../formats/trtexec/layers.ts";
import { reportFiles } from "../../stages/report.ts";

export interface FoundEngine {
	/** Distinguishes engines of one folder; empty for the only one. */
	name: string;
	layers: string;
	profiles: string[];
	model: string | null;
}

const maxDepth = 6;
const maxFiles = 20_000;
const layerFile = /^(?:(.*)[.-])?layers\.json$/;

/** `arm`: of a result folder, which of the two engines of each workload. */
export async function findEngines(wanted: string, cwd: string, arm: "base" | "head"): Promise<FoundEngine[]> {
	const named = resolve(cwd, wanted);
	const root = basename(named) === reportFiles.result ? dirname(named) : named;
	const facts = await stat(root).catch(() => null);
	if (facts === null) throw notFound(wanted, "There is nothing here.");
	const files = facts.isDirectory() ? await listFiles(root) : [root];
	const found = files.filter((path) => layerFile.test(basename(path)) || !facts.isDirectory());
	const profiled = found.filter((path) => path.split("/").at(-2) === "layers");
	// A result folder has layers of both arms, and those of its builds, which were not timed.
	const own = profiled.length > 0 ? profiled.filter((path) => new RegExp(`-${arm}\\.layers\\.json$`).test(path)) : found;
	if (own.length === 0) throw notFound(wanted, `It holds no layers.json${profiled.length > 0 ? ` of the ${arm}` : ""}.`);
	const all = facts.isDirectory() ? files : await listFiles(dirname(root));
	return own.map((layers) => besides(layers, root, all));
}

function besides(layers: string, root: string, files: readonly string[]): FoundEngine {
	const stem = layerFile.exec(basename(layers))?.[1] ?? "";
	const folder = dirname(layers);
	const near = files.filter((path) => dirname(path) === folder);
	const isOwn = (path: string): boolean => {
		const name = basename(path);
		return name.startsWith(stem === "" ? "profile" : `${stem}.profile`) && /profile(?:[-.]?\d+)?\.json$/.test(name);
	};
	const models = near.filter((path) => path.endsWith(".onnx"));
	const relative = join(folder.slice(root.length), stem).replace(/^\/|\/$|^\.$/g, "");
	return {
		name: relative.replace(/^layers\//, "").replace(/-(base|head)$/, ""),
		layers,
		profiles: near.filter(isOwn).sort(),
		model: models.length === 1 ? (models[0] ?? null) : null,
	};
}

async function listFiles(folder: string, depth = 0): Promise<string[]> {
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

function notFound(path: string, what: string): ConfigError {
	return new ConfigError({
		code: "engine-missing",
		message: `${path} is not an engine that can be compared: ${what}`,
		fix: "Write one with `trtexec --loadEngine=FILE --exportLayerInfo=layers.json --exportProfile=profile.json --separateProfileRun`.",
	});
}

export async function readEngine({ layers, profiles, model }: FoundEngine): Promise<EngineModel> {
	const read = model === null ? null : await fileModelReader().read(model);
	const info = await parsed(layers, parseLayerInfo);
	const times: LayerProfile[] = [];
	for (const path of profiles) times.push(await parsed(path, parseProfile));
	return engineModel({ info, profiles: times, graph: read?.onnx.graph ?? null });
}

async function parsed<Value>(path: string, parse: (text: string) => Value): Promise<Value> {
	const text = await readInputText(path, inputKinds.engineLayers, path);
	try {
		return parse(text);
	} catch (cause) {
		if (!(cause instanceof ToolError)) throw cause;
		throw new ConfigError({
			code: "engine-unreadable",
			message: `${path} cannot be used. ${cause.message}`,
			cause,
			location: { path },
			fix: "Export it again.",
		});
	}
}
