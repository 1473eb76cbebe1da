// Packs one failure of a run: the model, the inputs with their expected outputs, and how to see it again.
import { existsSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { GoldenManifest } from "../../../generated/golden.ts";
import type { Repro } from "../../../generated/repro.ts";
import type { Result } from "../../../generated/result.ts";
import { fileModelReader } from "../../adapters/files/model-reader.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { fileTensorReader } from "../../adapters/files/tensor-reader.ts";
import { copyModel } from "../../adapters/onnxruntime/model-files.ts";
import { folderName } from "../../core/config/identity.ts";
import { ConfigError, usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { type EngineSpec, engineSpecs } from "../../core/plan/plan.ts";
import { chooseFailure, failuresOf, type PackedFailure } from "../../core/repro/failures.ts";
import { type Commands, readmeOf } from "../../core/repro/readme.ts";
import { recipeOf, reproFiles } from "../../core/repro/recipe.ts";
import { shorten } from "../../core/text/escape.ts";
import { formatBytes } from "../../core/text/units.ts";
import { buildArgs, runArgs, SettingError } from "../../formats/trtexec/args.ts";
import { parseVersionText } from "../../formats/trtexec/banner.ts";
import { npyPacker } from "../../golden/app/compose.ts";
import { manifestText } from "../../golden/app/keep.ts";
import { readGolden } from "../../golden/stages/load-goldens.ts";
import { chooseCases, writeCases } from "../../golden/stages/pack-cases.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { confine } from "../../stages/resolve-in-workspace.ts";
import { readConfigFile } from "../config-file.ts";
import type { Terminal } from "../terminal.ts";
import { version } from "../version.ts";

export interface PackRequest {
	result: Result;
	/** Folder of the run's result. */
	runFolder: string;
	wanted: string | undefined;
	config: string | undefined;
	head: string | undefined;
	out: string;
}

interface Packing extends PackRequest {
	failure: PackedFailure;
	spec: EngineSpec;
	root: string;
	model: ModelOnDisk;
	hide(text: string): string;
}

const ports = { files: fileStore(), tensors: fileTensorReader(), packer: npyPacker };

export async function pack(request: PackRequest, terminal: Terminal): Promise<void> {
	const { result, out } = request;
	if (existsSync(out)) throw usageError(`${out} exists.`, "Remove it, or name another folder with --out.");
	const failure = chooseFailure(failuresOf(result), request.wanted);
	const { config, home } = await readConfigFile({
		...{ cwd: terminal.cwd, path: request.config ?? result.config.path, inputs: {} },
	});
	const root = request.head === undefined ? home : resolve(terminal.cwd, request.head);
	const spec = engineSpecs(config).find(({ id }) => id === `${failure.model}/${failure.engine}`);
	if (spec === undefined) throw notOfRun(`${config.path} has no engine ${failure.model}/${failure.engine}`);
	const hide = hiding([root, terminal.cwd, terminal.environment.home, ...foldersOf(result)]);
	const model = await modelOf(spec, root, result);
	const packing: Packing = { ...request, failure, spec, root, model, hide };
	const cases = failure.recorded.kind === "build" ? null : await casesOf(packing);
	const calibration = await calibrationOf(packing);
	const paths = [model.path, ...model.external.flatMap(({ path }) => path ?? []), ...(calibration ?? [])];
	const sizes = await Promise.all(paths.map((path) => ports.files.size(path)));
	const bytes = sizes.reduce<number>((sum, size) => sum + (size ?? 0), cases?.bytes ?? 0);
	const where = relative(terminal.cwd, out) || out;
	terminal.err(
		`Writes ${formatBytes(bytes)} to ${where}: the model with its weights, and what it is run on.\n`,
	);
	await copyModel(model, out);
	const manifest = cases === null ? null : await writeCases(cases, out, ports);
	for (const path of calibration ?? [])
		await ports.files.writeBytes(
			join(out, reproFiles.calibration),
			await ports.files.readBytes(path, inputKinds.asset),
		);
	if (manifest !== null) await ports.files.writeText(join(out, reproFiles.golden), manifestText(manifest));
	const repro = reproOf(
		packing,
		recipeOf(spec, {
			config,
			modelSha256: model.sha256,
			onnx: basename(model.path),
			onnxruntime:
				result.backend.kind === "tensorrt"
					? undefined
					: /native/.test(result.backend.name)
						? "native"
						: "wasm",
		}),
	);
	await ports.files.writeText(join(out, reproFiles.repro), `${JSON.stringify(repro, null, "\t")}\n`);
	const readme = readmeOf(repro, commandsOf(packing, repro, manifest));
	await ports.files.writeText(join(out, reproFiles.readme), readme);
	terminal.out(
		`wrote ${where}: ${failure.model}/${failure.engine}, ${repro.recorded.says}\nReplay it with: trtgate repro ${where}\nAttach it as: tar -czf ${basename(out)}.tar.gz ${where}\n`,
	);
}

function notOfRun(what: string): ConfigError {
	const fix = "Check out the commit of the run, and name its files with --config and --head.";
	return new ConfigError({ code: "usage", message: `${what}, so it is not that of the run.`, fix });
}

async function modelOf({ engine, id }: EngineSpec, root: string, { builds }: Result): Promise<ModelOnDisk> {
	const path = (await confine(ports.files, root, engine.onnx)) ?? join(root, engine.onnx);
	const model = await fileModelReader().read(path);
	const build = builds.find((one) => one.arm === "head" && `${one.model}/${one.engine}` === id);
	if (build?.modelSha256 !== undefined && build.modelSha256 !== model.sha256)
		throw notOfRun(
			`${engine.onnx} has the hash ${model.sha256.slice(0, 12)}, the run's model ${build.modelSha256.slice(0, 12)}`,
		);
	return { ...model, external: model.external.filter(({ problem }) => problem !== "missing") };
}

async function casesOf({ spec, root, model, failure }: Packing) {
	const path = spec.engine.golden;
	if (path === undefined) throw notOfRun(`${spec.id} has no golden`);
	const file = (await confine(ports.files, root, path)) ?? join(root, path);
	const set = await readGolden(file, path, ports);
	return chooseCases({ case: failure.recorded.case, scope: failure.scope, spec, model, set }, ports);
}

/** The cache that the run calibrated, or that the config names. */
async function calibrationOf({ spec, root, runFolder, result }: Packing): Promise<[string] | null> {
	const { calibration } = spec.engine.tensorrt;
	if (calibration === undefined || result.backend.kind !== "tensorrt") return null;
	const own = join(runFolder, "engines/head", folderName(spec.id), reproFiles.calibration);
	const path = calibration.data === undefined ? await confine(ports.files, root, calibration.path) : own;
	if (path !== null && existsSync(path)) return [path];
	const message = `The calibration cache of ${spec.id} is missing: ${path ?? calibration.path}.`;
	throw new ConfigError({ code: "asset-missing", message, fix: "Give the whole output folder of the run." });
}

function reproOf({ failure, result, hide }: Packing, recipe: Repro["recipe"]): Repro {
	const { kind, name, version: installed, device } = result.backend;
	const { uuid: _, ...environment } = result.environment;
	const says = shorten(hide(failure.recorded.says), 2000);
	return {
		schemaVersion: 1,
		trtgate: version,
		backend: { kind, name, version: installed, device },
		environment,
		recipe,
		recorded: { ...failure.recorded, says },
	};
}

/** Folders of the machine that ran it, by the paths of its logs. */
function foldersOf({ builds }: Result): string[] {
	const logs = builds.flatMap(({ log }) => (log === undefined ? [] : [dirname(dirname(log))]));
	return [...new Set(logs)].flatMap((folder) => [folder, dirname(folder)]);
}

/** Longer folders first, since one may lie in another. */
function hiding(folders: readonly (string | undefined)[]): Packing["hide"] {
	const known = folders.filter((folder) => folder !== undefined && /^\/[^/]/.test(folder));
	const sorted = known.toSorted((a = "", b = "") => b.length - a.length);
	return (text) => sorted.reduce<string>((left, folder) => left.split(`${folder}/`).join(""), text);
}

/** What trtexec gets for the files of the folder. */
function commandsOf(
	{ spec, model, result }: Packing,
	{ recipe }: Repro,
	golden: GoldenManifest | null,
): Commands {
	const trtexec = parseVersionText(result.backend.version);
	if (result.backend.kind !== "tensorrt" || trtexec === null) return { inputs: [] };
	const { plugins, calibration } = spec.engine.tensorrt;
	const named = plugins.map(({ path, dynamic }) => ({ path: basename(path), sha256: "", dynamic }));
	const cache = calibration && { path: reproFiles.calibration, sha256: "" };
	const engine = {
		spec,
		model: { path: recipe.onnx, onnx: model.onnx },
		path: "engine.plan",
		assets: { plugins: named, calibration: cache },
	};
	const timing = { cudaGraph: false, spinWait: false, transfers: true };
	const runner = { trtexec: { version: trtexec }, device: 0, timing };
	const inputs = Object.entries(golden?.cases[0]?.inputs ?? {}).map(([name, { path, shape }]) => ({
		name,
		path,
		shape,
	}));
	try {
		const places = { engine: engine.path, layers: "layers.json", cache: undefined };
		const raw = inputs.map((input) => ({ ...input, path: input.path.replace(/npy$/, "bin") }));
		return {
			build: buildArgs(engine, places, runner),
			run: golden === null ? undefined : runArgs(engine, raw, { task: "infer" }, runner),
			inputs: inputs.map(({ path }) => path),
		};
	} catch (error) {
		// The failure may be that this version has no such setting.
		if (error instanceof SettingError || error instanceof ConfigError) return { inputs: [] };
		throw error;
	}
}
