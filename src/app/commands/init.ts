// `trtgate init`: writes trtgate.yml and a workflow, or adds models to the trtgate.yml that is there.

import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { readModel } from "../../adapters/files/model-reader.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { readInputText } from "../../adapters/process/input-file.ts";
import type { Config } from "../../core/config/config.ts";
import { addModels } from "../../core/config/edit-file.ts";
import {
	pinCommand,
	starterConfig,
	starterModel,
	starterName,
	starterWorkflow,
} from "../../core/config/init.ts";
import { loadConfig } from "../../core/config/parse.ts";
import { ConfigError, usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { preflight } from "../../core/onnx/preflight.ts";
import { quoteName, shellWord } from "../../core/text/escape.ts";
import { isCommit } from "../../host/formats/github/names.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { distFolder } from "../compose.ts";
import { pathInside, readConfigFile } from "../config-file.ts";
import { exitCodes } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { version } from "../version.ts";
import { type ArgumentsOf, parseArguments } from "./arguments.ts";
import { chooseInitSizes } from "./init-sizes.ts";
import { initTable } from "./machine-tables.ts";
import { givenSizes } from "./sizes.ts";

const configName = "trtgate.yml";
const workflowName = ".github/workflows/trtgate.yml";

interface Adding {
	args: ArgumentsOf<typeof initTable>;
	terminal: Terminal;
	taken: Set<string>;
	isNew: boolean;
}

interface Added {
	name: string;
	lines: readonly string[];
	fixes: readonly string[];
}

export async function init(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, initTable, { more: true });
	const { cwd } = terminal;
	const files = await findModels(args.positionals, cwd);
	if (files.length > 1 && (args.isGiven("dims") || args.isGiven("shape")))
		throw usageError(
			`--dims and --shape size one model; got ${files.length}.`,
			"Run init for each model that needs sizes; later runs add to trtgate.yml.",
		);
	const existing = existsSync(join(cwd, configName)) ? await readConfigFile({ cwd, path: configName }) : null;
	const known = existing === null ? new Set<string>() : filesOf(existing.config);
	const adding: Adding = {
		args,
		terminal,
		taken: new Set(existing?.config.models.map(({ name }) => name)),
		isNew: existing === null,
	};
	const added: Added[] = [];
	for (const file of files) {
		if (known.has(file.onnxPath))
			terminal.echo(`${quoteName(file.onnxPath, "")} is in ${configName} already.\n`);
		else added.push(...(await describeModel(file, adding)));
	}
	if (!files.some(({ onnxPath }) => known.has(onnxPath)) && added.length === 0)
		throw noModel(args.positionals);
	if (added.length === 0) return exitCodes.ok;
	const commit = await releasedCommit();
	const lines = added.map((model) => model.lines);
	const text =
		existing === null
			? starterConfig(lines, schemaOf(cwd, commit))
			: checked(addModels(existing.text, lines), adding);
	const names = added.map(({ name }) => quoteName(name, "")).join(", ");
	await write(configName, text, terminal, existing === null ? "wrote" : `added ${names} to`);
	if (!existsSync(join(cwd, workflowName)))
		await write(workflowName, starterWorkflow({ version, commit }), terminal);
	const steps = [...added.flatMap(({ fixes }) => fixes), ...stepsLeft(commit, added, adding)];
	terminal.echo(`Next steps:\n${steps.map((step, index) => `  ${index + 1}. ${step}\n`).join("")}`);
	return exitCodes.ok;
}

function filesOf({ models }: Config) {
	const files = models.flatMap(({ onnx, engines }) => [onnx, ...engines.map((engine) => engine.onnx)]);
	return new Set(files.map((path) => path.replace(/^(\.\/)+/, "")));
}

const mostFaults = 3;

/** None, with a note, for a file in a folder that is no model. */
async function describeModel({ path, onnxPath, isNamed }: ModelFile, adding: Adding) {
	const { args, terminal, taken, isNew } = adding;
	let model: ModelOnDisk;
	try {
		model = await readModel(path);
	} catch (error) {
		if (isNamed || !(error instanceof ConfigError)) throw error;
		terminal.err(`note: ${quoteName(onnxPath, "")} is left out. ${error.message}\n`);
		return [];
	}
	const given = givenSizes(args);
	const { comments, ...known } = await chooseInitSizes(model, given, {
		...terminal,
		quiet: args.flag("quiet"),
	});
	const name = starterName(onnxPath, taken);
	const isFirst = isNew && taken.size === 0;
	taken.add(name);
	const faults = preflight(model, { backend: "onnxruntime" }).filter(({ severity }) => severity === "error");
	const fixes = faults
		.slice(0, mostFaults)
		.map(({ message, fix = "" }) => `Fix ${quoteName(onnxPath, "")}: ${message} ${fix}`.trimEnd());
	return [{ name, lines: starterModel(model.onnx, { name, onnxPath, known, comments, isFirst }), fixes }];
}

function noModel(paths: readonly string[]) {
	return new ConfigError({
		code: "model-missing",
		message: `There is no ONNX model in ${paths.map((path) => quoteName(path)).join(", ")}.`,
		fix: "Name a file that ends in .onnx, or its folder.",
	});
}

/** @throws ConfigError output-unwritable if the config would no longer be read as meant. */
function checked(text: string, { taken }: Adding) {
	const loaded = loadConfig(text, { path: configName });
	const names = loaded.state === "ok" ? loaded.config.models.map(({ name }) => name) : [];
	if ([...taken].every((name) => names.includes(name))) return text;
	throw new ConfigError({
		code: "output-unwritable",
		message: `${configName} is written in a way that models cannot be added to.`,
		fix: "Write `models:` as a block, one line for each model's name, or add the models by hand.",
	});
}

/** Of the installed package, which works offline and fits its version; else that of the release. */
function schemaOf(cwd: string, commit: string | undefined) {
	const installed = "node_modules/trtgate/golden-schema/config.schema.json";
	if (existsSync(join(cwd, installed))) return `./${installed}`;
	return `https://raw.githubusercontent.com/trtgate/trtgate/${commit ?? `v${version}`}/golden-schema/config.schema.json`;
}

async function write(name: string, text: string, terminal: Terminal, did = "wrote") {
	const files = fileStore();
	await files.makeFolder(dirname(join(terminal.cwd, name)));
	await files.writeText(join(terminal.cwd, name), text);
	terminal.echo(`${did} ${name}\n`);
}

function stepsLeft(commit: string | undefined, added: readonly Added[], { isNew }: Adding) {
	const [one, ...others] = added;
	const ofOne = one && ` --model ${shellWord(one.name)} --inputs FOLDER`;
	const recording =
		others.length === 0
			? `from real inputs: \`trtgate golden record${ofOne ?? ""}\``
			: `of all models: \`trtgate golden record\`; better, of each from real inputs: \`trtgate golden record${ofOne}\``;
	const first = [
		`Check the sizes in ${configName}; \`trtgate run --dry-run\` shows the plan.`,
		`Record a golden, the expected outputs, ${recording}.`,
	];
	if (!isNew) return [...first, "Commit the files and open a pull request."];
	return [
		...first,
		...(commit === undefined
			? [`Pin trtgate in ${workflowName} to the commit that this prints: ${pinCommand(version)}`]
			: []),
		`For TensorRT, set \`runs-on\` in ${workflowName} to a GPU runner's labels; GitHub-hosted runners without a GPU use ONNX Runtime.`,
		"Commit the files and open a pull request; trtgate comments on it. The first one has no base to compare with; later ones do.",
	];
}

async function releasedCommit() {
	try {
		const { gitHead } = JSON.parse(
			await readInputText(join(distFolder(), "..", "package.json"), inputKinds.argument),
		);
		return isCommit(gitHead) ? gitHead : undefined;
	} catch {
		return undefined;
	}
}

interface ModelFile {
	path: string;
	/** Relative to the working folder, with `/`. */
	onnxPath: string;
	isNamed: boolean;
}

const mostFiles = 100;
const mostFolders = 10_000;

/** @throws ConfigError path-outside-workspace, usage. */
async function findModels(given: readonly string[], cwd: string) {
	const found = new Map<string, ModelFile>();
	for (const path of given.map((text) => resolve(cwd, text))) {
		const isFolder = (await stat(path).catch(() => null))?.isDirectory() === true;
		for (const file of isFolder ? await modelsBelow(path) : [path]) {
			const onnxPath = pathInside(file, cwd).replaceAll("\\", "/");
			if (!found.has(onnxPath)) found.set(onnxPath, { path: file, onnxPath, isNamed: !isFolder });
		}
	}
	if (found.size <= mostFiles) return [...found.values()];
	throw usageError(
		`There are ${found.size} ONNX files; expected at most ${mostFiles}.`,
		"Name those that you serve.",
	);
}

async function modelsBelow(root: string) {
	const folders = [root];
	const models: string[] = [];
	for (let at = 0; at < Math.min(folders.length, mostFolders); at += 1) {
		const folder = folders[at] ?? root;
		for (const entry of await readdir(folder, { withFileTypes: true })) {
			const { name } = entry;
			if (entry.isDirectory() && !name.startsWith(".") && name !== "node_modules")
				folders.push(join(folder, name));
			else if (entry.isFile() && /\.onnx$/i.test(name)) models.push(join(folder, name));
		}
	}
	return models.sort();
}
