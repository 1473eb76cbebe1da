// `trtgate repro`: packs one failure of a run, or replays it from its folder.
import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { GoldenManifest } from "../../../generated/golden.ts";
import type { GoldenVerdict, Result } from "../../../generated/result.ts";
import { readModel } from "../../adapters/files/model-reader.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { fileTensorReader } from "../../adapters/files/tensor-reader.ts";
import { copyModel, editModel } from "../../adapters/onnxruntime/model-files.ts";
import { onTensorRt } from "../../core/config/tensorrt-settings.ts";
import { ConfigError, usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { resultWithoutRun } from "../../core/outcome.ts";
import { type EngineSpec, engineSpecs } from "../../core/plan/plan.ts";
import {
	chooseFailure,
	compareReplay,
	type Failure,
	failuresOf,
	nameOf,
	parseRepro,
	readmeOf,
	reproConfig,
	runOf,
} from "../../core/repro/failures.ts";
import { jsonText, shellWord } from "../../core/text/escape.ts";
import { formatBytes } from "../../core/text/units.ts";
import { runArgs } from "../../formats/trtexec/args.ts";
import { parseVersionText } from "../../formats/trtexec/banner.ts";
import { tensorPaths } from "../../golden/app/keep.ts";
import { findInsensitive } from "../../golden/core/record/sensitivity.ts";
import { type GoldenSet, readGolden, readTensors } from "../../golden/stages/load-goldens.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { confine } from "../../stages/resolve-in-workspace.ts";
import { readConfigFile } from "../config-file.ts";
import { describeRecord, exitCodes, exitOfResult } from "../exit.ts";
import { gate } from "../gate.ts";
import { checkOutFolder, makeOutFolder } from "../out-folder.ts";
import { cutPart, findBisection, type Part } from "../repro-part.ts";
import { progressFor, stopOnSignals, type Terminal } from "../terminal.ts";
import { parseArguments, readArgument } from "./arguments.ts";
import { readResult } from "./read-result.ts";
import { reproTable } from "./tables.ts";

export async function repro(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, reproTable);
	const { cwd } = terminal;
	const { path, result: read } = await readResult(args.positionals[0] ?? "", cwd);
	const failure = chooseFailure(failuresOf(read), args.text("case"));
	const run = runOf(failure, read);
	const folder = dirname(resolve(cwd, path));
	const isPacked = existsSync(join(folder, "repro.json"));
	const out = resolve(cwd, args.text("out") ?? `trtgate-repro${isPacked ? "-out" : ""}`);
	if (!isPacked) {
		await packRepro(
			failure,
			{ run, head: args.text("head"), base: args.text("base"), isWhole: args.flag("whole"), out },
			terminal,
		);
		return exitCodes.ok;
	}
	const config = join(out, "repro.yml");
	await checkOutFolder(out, terminal);
	await makeOutFolder(out, fileStore());
	await fileStore().writeText(config, await configFor(folder, terminal));
	const { result } = await gate({
		...{ cwd, environment: terminal.environment, head: folder, config, out, isFresh: true },
		...{ ...args.given("trtexec"), inputs: {}, onStart: stopOnSignals },
		progress: progressFor(terminal, { quiet: args.flag("quiet"), json: false }),
	});
	const { isReproduced, lines } = compareReplay(failure, result);
	const { name, version, device } = result.backend;
	const title = `${isReproduced ? "reproduced" : "not reproduced"}: ${nameOf(failure)}`;
	terminal.echo([title, ...lines, `on ${name} ${version}, ${device}\n`].join("\n  "));
	if (isReproduced) return exitCodes.ok;
	terminal.err(result.errors.map(describeRecord).join(""));
	return exitOfResult(result) || exitCodes.failed;
}

/** The folder may be a stranger's: the schema of its config allows no programs. */
async function configFor(folder: string, { cwd }: Terminal) {
	// Git obeys a repository's settings.
	if (existsSync(join(folder, ".git")))
		throw usageError(`${folder} is a git repository.`, "Remove its .git.");
	const { text, path } = await readArgument(join(folder, "repro.json"), cwd, inputKinds.argument);
	return JSON.stringify(parseRepro(text, path));
}

const files = fileStore();

interface Packing {
	run: Result;
	head: string | undefined;
	base: string | undefined;
	isWhole: boolean;
	out: string;
}

async function packRepro(failure: Failure, packing: Packing, terminal: Terminal) {
	const { out } = packing;
	const opened = await openRun(failure, packing, terminal);
	if (existsSync(out)) throw usageError(`${out} exists.`, "Remove it, or name another folder with --out.");
	const { spec, set, text, result } = opened;
	const part = await partOf(failure, { ...packing, ...opened }, terminal);
	const model = part ? await editModel(opened.model, part.edit, out) : opened.model;
	const golden = part?.golden ?? (set && (await goldenOf(set, failure.verdict)));
	const tensors = (golden === null ? [] : tensorPaths(golden)).filter((path) => path !== part?.expected.path);
	const folder = set?.folder ?? "";
	const sizes = await Promise.all(tensors.map((path) => files.size(join(folder, path))));
	const weights = model.external.map(({ neededBytes }) => neededBytes);
	const bytes = [...weights, ...sizes].reduce<number>((sum, size) => sum + (size ?? 0), model.onnx.bytes);
	terminal.err(`Writes ${formatBytes(bytes)} to ${out}, weights included.\n`);
	const onnx = basename(part ? model.path : (await copyModel(model, out)).path);
	await copyTensors(tensors, folder, out);
	if (part) await addPart(part, { model, result, out });
	const { kind: backend } = result.backend;
	const packed = { backend, onnx, golden: golden ? "golden.json" : undefined } as const;
	const written = {
		"repro.json": jsonText(reproConfig(text, spec, packed)),
		"result.json": jsonText(result),
		...(golden && { "golden.json": jsonText(golden) }),
		"README.md": readmeOf(
			// As it is packed, without folders of this machine.
			failuresOf(result).find(({ id, code }) => id === failure.id && (part || code === failure.code)) ??
				failure,
			result,
			commandsOf({ spec, model: { ...model, path: onnx } }, result, golden),
			part?.says,
		),
	};
	for (const [file, content] of Object.entries(written)) await files.writeText(join(out, file), content);
	const holds = part ? `, ${part.says}` : "";
	terminal.out(`wrote ${out}: ${nameOf(failure)}${holds}\nReplay: trtgate repro ${shellWord(out)}\n`);
}

/** The expected values, and that they are what failed. */
async function addPart(
	{ expected, isOwn, golden, verdict }: Part,
	{ model, result, out }: { model: ModelOnDisk; result: Result; out: string },
) {
	if (isOwn) golden.model.sha256 = (await readModel(model.path)).sha256;
	result.golden = [verdict];
	await files.makeFolder(dirname(join(out, expected.path)));
	await files.writeBytes(join(out, expected.path), expected.bytes);
}

async function copyTensors(paths: readonly string[], folder: string, out: string) {
	for (const path of paths) {
		const source = (await confine(files, folder, path)) ?? path;
		await files.makeFolder(dirname(join(out, path)));
		await files.writeBytes(join(out, path), await files.readBytes(source, inputKinds.tensor));
	}
}

/** Null: the whole model is packed. */
async function partOf(
	failure: Failure,
	opened: Packing & Awaited<ReturnType<typeof openRun>>,
	terminal: Terminal,
) {
	const { run, isWhole, base: folder, model, set, spec } = opened;
	const found = isWhole ? undefined : findBisection(failure, run);
	if (found === undefined || set === null) return null;
	const built = run.builds.find(
		(one) => one.arm === "base" && one.state === "built" && `${one.model}/${one.engine}` === failure.id,
	);
	const sha256 = built?.modelSha256 ?? model.sha256;
	const { onnx } = spec.engine;
	const root = folder && resolve(terminal.cwd, folder);
	const path = root && ((await confine(files, root, onnx)) ?? join(root, onnx));
	const other = sha256 !== model.sha256 && path ? await readModel(path) : null;
	if (other !== null && other.sha256 !== sha256) throw notOfRun(path ?? onnx);
	const base = sha256 === model.sha256 ? "same" : (other ?? "missing");
	const part = await cutPart({ failure, model, base, set }, found, terminal);
	if (typeof part !== "string") return part;
	terminal.err(`Packs the whole model: ${part}.\n`);
	return null;
}

async function openRun(failure: Failure, { run, head }: Packing, { cwd, environment }: Terminal) {
	const { path } = run.config;
	const { config, home, text } = await readConfigFile({ cwd, path, inputs: {} }).catch((error: unknown) => {
		throw error instanceof ConfigError && error.code === "config-missing"
			? notOfRun(path, "is missing")
			: error;
	});
	const root = resolve(cwd, head ?? home);
	const find = async (file: string) => (await confine(files, root, file)) ?? join(root, file);
	const { kind, version } = run.backend;
	const asRun = kind === "tensorrt" ? onTensorRt(config, version) : config;
	const spec = engineSpecs(asRun).find(({ id }) => id === failure.id);
	if (spec === undefined) throw notOfRun(path);
	const { golden, onnx } = spec.engine;
	// Where there is no file, the golden describes the model.
	if (onnx === golden)
		throw usageError(
			`${spec.id} has no ONNX file to pack: its plan comes from \`build\`.`,
			"Name the model that the plan was built from in `onnx`, and run again.",
		);
	const result = onlyOf(failure, run, [root, cwd, environment.home]);
	const model = await readModel(await find(onnx));
	if ((result.builds[0]?.modelSha256 ?? model.sha256) !== model.sha256) throw notOfRun(onnx);
	const hasRun = result.builds[0]?.state === "built" && golden !== undefined;
	const set = hasRun ? await readGolden(await find(golden), golden, { files }) : null;
	return { spec, model, set, text, result };
}

const notOfRun = (path: string, says = "is not that of the run") =>
	usageError(`${path} ${says}.`, "Run this where the run was, on its commit.");

/** Nothing but the failure, without folders of this machine or the run's. */
function onlyOf({ id, verdict }: Failure, run: Result, own: readonly (string | undefined)[]) {
	const isOwn = ({ model, engine, arm }: { model?: string; engine?: string; arm?: string }) =>
		arm !== "base" && (engine === undefined ? id.startsWith(`${model}/`) : `${model}/${engine}` === id);
	const { tool, startedAt, backend, environment } = run;
	const known = { version: tool.version, startedAt, configPath: "", head: { label: "head" }, files: [] };
	const builds = run.builds.filter(isOwn);
	const out = dirname(dirname(builds[0]?.log ?? ""));
	const folders = [out, dirname(out), ...own]
		.filter((folder) => folder?.startsWith("/") && folder !== "/")
		.sort();
	// Names of tensors may look like paths.
	const hide = <Part>(part: Part) =>
		JSON.parse(
			folders.reduceRight<string>((text, one) => text.replaceAll(`${one}/`, ""), JSON.stringify(part)),
		);
	return {
		...resultWithoutRun(verdict ? [] : hide(run.errors.filter(isOwn)), known),
		...{ backend, environment, ...hide({ builds, findings: run.findings.filter(isOwn) }) },
		...(verdict && { golden: [{ ...verdict, ...hide({ message: verdict.message }) }] }),
		bisections: verdict && run.bisections?.filter(isOwn),
	};
}

/** All cases for a verdict on several, or if one alone could not fail. No people, no commands. */
async function goldenOf({ manifest, folder }: GoldenSet, verdict?: GoldenVerdict) {
	const { schemaVersion, goldenId, model, outputs, detections, producer, cases } = manifest;
	const { backend, version, precision } = producer;
	const made = { backend, version, precision };
	const known = { schemaVersion, goldenId, model, outputs, detections, producer: made };
	const one = cases.find(({ id }) => id === verdict?.case);
	if (one === undefined) return { ...known, cases };
	const expected = await readTensors(one.outputs, folder, { files, tensors: fileTensorReader() });
	const alone: GoldenManifest = { ...known, cases: [one] };
	return findInsensitive(alone, [expected]).length > 0 ? { ...known, cases } : alone;
}

/** On TensorRT, for a shell in the folder. */
function commandsOf(
	{ spec, model }: { spec: EngineSpec; model: ModelOnDisk },
	{ backend, builds }: Result,
	golden: GoldenManifest | null,
) {
	const version = parseVersionText(backend.version);
	const flags = builds[0]?.recipe?.["flags"];
	if (backend.kind !== "tensorrt" || version === null || flags === undefined) return [];
	const inputs = Object.entries(golden?.cases[0].inputs ?? {}).map(([name, file]) => ({ ...file, name }));
	if (inputs.length === 0 || !inputs.every(({ path }) => path.endsWith(".npy"))) return [`trtexec ${flags}`];
	const timing = { cudaGraph: false, spinWait: false, transfers: true };
	const raw = inputs.map((file) => ({ ...file, path: file.path.replace(/npy$/, "bin") }));
	const run = runArgs(
		{ spec, model, path: "engine.plan" },
		raw,
		{ task: "infer" },
		{ trtexec: { version }, timing },
	);
	const convert = "import numpy, sys; [numpy.load(f).tofile(f[:-3] + 'bin') for f in sys.argv[1:]]";
	const lines = [
		["python3", "-c", convert, ...inputs.map(({ path }) => path)],
		["trtexec", ...run],
	];
	return [`trtexec ${flags}`, ...lines.map((words) => words.map(shellWord).join(" "))];
}
