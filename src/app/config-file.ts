// Reads trtgate.yml: for a command, and for both sides of a comparison.
import { existsSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileStore } from "../adapters/files/store.ts";
import { type Git, type GitAccess, gitError, gitIn, succeeded } from "../adapters/git/run-git.ts";
import { readInputText } from "../adapters/process/input-file.ts";
import type { Processes } from "../adapters/process/processes.ts";
import type { Config } from "../core/config/config.ts";
import type { Occasion } from "../core/config/gate-records.ts";
import { type LoadOptions, type LoadResult, loadConfig } from "../core/config/parse.ts";
import { underRulesOf } from "../core/config/rules.ts";
import {
	type PinnedShapes,
	parsePatterns,
	pinShapes,
	selectModels,
	unknownSelection,
} from "../core/config/select.ts";
import { ConfigError, usageError } from "../core/errors.ts";
import { inputKinds } from "../core/input-kind.ts";
import { engineSpecs } from "../core/plan/plan.ts";
import { openHistory } from "../history/adapters/history.ts";
import type { RunEvent } from "../host/formats/github/event.ts";
import type { ArmFolder } from "../stages/prepared.ts";
import { confine } from "../stages/resolve-in-workspace.ts";
import type { ConfigReader, OpenedArms, SideConfig } from "./arms/arms.ts";
import { isReview } from "./arms/find-base.ts";

interface ConfigRequest extends Omit<LoadOptions, "path"> {
	cwd: string;
	path: string;
	/** For an action, which reads nothing outside. */
	workspace?: string;
}

interface ReadConfig {
	config: Config;
	text: string;
	home: string;
}

/** @throws ConfigError path-outside-workspace and codes of configs; an AggregateError of several. */
export async function readConfigFile(request: ConfigRequest): Promise<ReadConfig> {
	const path = resolve(request.cwd, request.path);
	const shown = relative(request.cwd, path) || path;
	const workspace = request.workspace ?? workspaceOf(path, request.cwd);
	return readLoaded(await loadConfigAt(path, { ...request, path: shown, workspace }), shown, dirname(path));
}

function readLoaded({ text, loaded }: { text: string; loaded: LoadResult }, shown: string, home: string) {
	if (loaded.state === "invalid")
		throw new AggregateError(loaded.errors, `${shown} has ${loaded.errors.length} errors`);
	return { config: placedBeside(loaded.config, home), text, home };
}

function placedBeside(given: Config, home: string): Config {
	const { base, sources, libraries: own } = given;
	const config = own === undefined ? given : { ...given, libraries: resolve(home, own) };
	if (base === undefined) return config;
	const { trtexec, python, libraries } = base;
	const place = (key: string, path: string) =>
		path.includes("/") && sources[`/base/${key}`]?.kind !== "input" ? resolve(home, path) : path;
	const besides = {
		python: python === undefined ? undefined : place("python", python),
		libraries: libraries === undefined ? undefined : resolve(home, libraries),
	};
	return { ...config, base: { trtexec: place("trtexec", trtexec), ...besides } };
}

export function chooseConfig({
	cwd,
	config,
	head = ".",
}: {
	cwd: string;
	config?: string;
	head?: string;
}): string {
	const named = config ?? join(head, "trtgate.yml");
	const isChosen = config !== undefined || existsSync(resolve(cwd, named));
	return relative(cwd, resolve(cwd, isChosen ? named : "trtgate.yml"));
}

async function loadConfigAt(
	path: string,
	options: LoadOptions & { workspace: string },
): Promise<{ text: string; loaded: LoadResult }> {
	await confine(fileStore(), options.workspace, relative(options.workspace, path));
	const text = await readInputText(path, inputKinds.config, options.path);
	return { text, loaded: loadConfig(text, options) };
}

/** The current repository if it contains the path, else the path's own. */
export function workspaceOf(path: string, cwd: string): string {
	const own = repositoryOf(cwd);
	return path.startsWith(`${own}/`) ? own : repositoryOf(dirname(path));
}

/** @throws ConfigError path-outside-workspace. */
export function pathInside(path: string, cwd: string): string {
	const inside = relative(cwd, resolve(cwd, path));
	if (!inside.startsWith("..")) return inside;
	const fix = "Run the command in a folder above it, or give another path.";
	throw new ConfigError({ code: "path-outside-workspace", message: `${path} is not below ${cwd}.`, fix });
}

function repositoryOf(folder: string): string {
	for (let at = folder; ; at = dirname(at)) {
		if (existsSync(join(at, ".git"))) return at;
		if (dirname(at) === at) return folder;
	}
}

export interface ConfigOptions {
	cwd: string;
	workspace?: string;
	config?: string;
	head?: string;
	/** Chooses the base unless the user does. */
	event?: RunEvent;
	access?: GitAccess;
	only?: string;
	/** By input, for the only model that is checked. */
	shapes?: PinnedShapes;
	isFresh?: boolean;
	/** By the names in `configInputs`. */
	inputs: Readonly<Record<string, string>>;
	adapt?(config: Config): Config;
}

export interface HeadConfig extends ReadConfig {
	/** Also of engines that this run does not check. */
	ids: ReadonlySet<string>;
}

interface Opened {
	options: ConfigOptions;
	own: HeadConfig;
}

/** A person who names a config means it for both sides. In a pipeline, a file of the checkout is the change's own. */
function isForBoth({ config, workspace, event, cwd }: ConfigOptions) {
	if (config === undefined || workspace !== undefined) return false;
	return event === undefined || !resolve(cwd, config).startsWith(`${repositoryOf(cwd)}/`);
}

/** From the head's commit if the head is a git ref. */
export async function readHeadConfig(options: ConfigOptions, processes: Processes): Promise<HeadConfig> {
	const { cwd, inputs, workspace, head } = options;
	const occasion = occasionOf(options);
	const path = chooseConfig(options);
	const atRef = !isForBoth(options) && head !== undefined && !existsSync(resolve(cwd, head));
	const text = atRef ? await textOfHead(head, path, options, processes) : null;
	const read =
		text === null
			? await readConfigFile({ cwd, path, inputs, workspace, occasion })
			: readLoaded(
					{ text, loaded: loadConfig(text, { path, inputs, occasion }) },
					path,
					dirname(resolve(cwd, path)),
				);
	return {
		...read,
		ids: new Set(engineSpecs(read.config).map(({ id }) => id)),
		config: finished(selected(read.config, options), options),
	};
}

/** In a workflow, the head may still have to be fetched. */
async function textOfHead(
	head: string,
	path: string,
	{ cwd, event, access }: ConfigOptions,
	processes: Processes,
) {
	const git = gitIn(cwd, processes, access);
	const commit = event === undefined ? head : await (await openHistory(git)).find(head);
	return textAt(commit ?? head, path, git);
}

function finished(config: Config, { isFresh, adapt }: ConfigOptions): Config {
	const adapted = adapt?.(config) ?? config;
	return isFresh ? { ...adapted, cache: { engines: false, timing: false, verdicts: false } } : adapted;
}

export function configReader({ own, options }: Opened): ConfigReader {
	const name = basename(own.config.path);
	const isShared = isForBoth(options);
	const settings = { path: name, inputs: options.inputs, occasion: occasionOf(options) };
	const sideOf = (loaded: LoadResult): SideConfig => {
		if (loaded.state !== "ok") return { state: "broken", why: loaded.errors[0]?.message ?? "It is invalid." };
		const config = placedBeside(loaded.config, own.home);
		// Engines of other jobs stay, and renamed ones are found by content.
		const models = pinShapes(config.models, options.shapes ?? {});
		return { state: "read", config: finished({ ...config, models }, options) };
	};
	return {
		async inFolder(folder) {
			if (isShared) return { state: "read", config: own.config };
			try {
				const workspace = repositoryOf(folder);
				return sideOf((await loadConfigAt(join(folder, name), { ...settings, workspace })).loaded);
			} catch (error) {
				if (!(error instanceof ConfigError)) throw error;
				return error.code === "config-missing"
					? { state: "absent" }
					: { state: "broken", why: error.message };
			}
		},
		async atCommit(commit, git) {
			if (isShared) return { state: "read", config: own.config };
			const text = await textAt(commit, name, git);
			return text === null ? { state: "absent" } : sideOf(loadConfig(text, settings));
		},
	};
}

/** null if the commit has no such file. @throws ToolError if git has the file and cannot read it. */
export async function textAt(commit: string, name: string, git: Git): Promise<string | null> {
	const file = `${commit}:./${name}`;
	if (!succeeded(await git(["rev-parse", "--verify", "--quiet", "--end-of-options", file]))) return null;
	const read = await git(["cat-file", "blob", file], {
		captureBytes: inputKinds.config.maxBytes,
		online: true,
	});
	if (!succeeded(read)) throw gitError(read, `git cat-file for ${name}`);
	return read.stdout;
}

function occasionOf({ event }: ConfigOptions): Occasion | undefined {
	if (event?.kind === "tag") return "release";
	return event?.kind === "schedule" ? "nightly" : undefined;
}

function selected(config: Config, { only = "", shapes = {} }: ConfigOptions) {
	const selection = selectModels(config.models, parsePatterns(only));
	if (selection.state !== "ok") throw unknownSelection(selection.problems, config.path);
	const { models } = selection;
	if (models.length > 1 && Object.keys(shapes).length > 0)
		throw usageError(
			`--shape gives the inputs of one model; this run checks ${models.length}.`,
			"Name the model: --only MODEL.",
		);
	return { ...config, models: pinShapes(models, shapes) };
}

export type Sides = ReturnType<typeof twoSides>;

export function twoSides({ own, options }: Opened, { baseConfig, rules, folders }: OpenedArms) {
	const base = folders.find(({ arm }) => arm === "base");
	const decides = options.event === undefined || isReview(options.event);
	const broken = [rules, baseConfig].find((side) => side.state === "broken");
	const held = decides && broken === undefined && rules.state === "read" ? rules.config : undefined;
	const name = basename(own.config.path);
	const notes: string[] = [];
	if (base !== undefined && baseConfig.state === "absent")
		notes.push(
			`The base has no ${name} (looked for ${placeIn(base, name)}): the head's recipes and rules, of ${own.config.path}, were used for both sides.`,
		);
	if (base !== undefined && isForBoth(options)) notes.push(`${own.config.path} was used for both sides.`);
	const namesakes = new Map(engineSpecs(own.config).map(({ id }) => [id, id]));
	return {
		config: held === undefined ? own.config : underRulesOf(held, own.config, namesakes),
		baseConfig: baseConfig.state === "read" && broken === undefined ? baseConfig.config : undefined,
		rules: held,
		baseConfigFault: broken?.state === "broken" ? broken.why : undefined,
		notes,
	};
}

function placeIn({ path, root, source: { label, commit = "" } }: ArmFolder, name: string) {
	if (root === undefined) return `${name} in the folder ${label}`;
	const named = commit.startsWith(label) ? "" : `${label}, `;
	return `${relative(root, join(path, name))} in ${named}commit ${commit.slice(0, 7)}`;
}
