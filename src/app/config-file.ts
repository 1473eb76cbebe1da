// Reads trtgate.yml for all commands and actions.
import { existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileStore } from "../adapters/files/store.ts";
import { readInputText } from "../adapters/process/input-file.ts";
import type { Config } from "../core/config/config.ts";
import { type LoadOptions, type LoadResult, loadConfig } from "../core/config/parse.ts";
import { inputKinds } from "../core/input-kind.ts";
import { confine } from "../stages/resolve-in-workspace.ts";

export interface ConfigRequest extends Omit<LoadOptions, "path"> {
	cwd: string;
	path: string;
	/**
	 * For an action, which reads nothing outside. Absent: a person names the file, and only links may not leave its
	 * repository.
	 */
	workspace?: string;
}

export interface ReadConfig {
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

export function parseConfigText(
	text: string,
	{ home, ...options }: LoadOptions & { home: string },
): ReadConfig {
	return readLoaded({ text, loaded: loadConfig(text, options) }, options.path, home);
}

function readLoaded(
	{ text, loaded }: { text: string; loaded: LoadResult },
	shown: string,
	home: string,
): ReadConfig {
	if (loaded.state === "invalid")
		throw new AggregateError(loaded.errors, `${shown} has ${loaded.errors.length} errors`);
	return { config: baseBeside(loaded.config, home), text, home };
}

/** The file's paths are relative to its folder; bare names are looked up on PATH. */
export function baseBeside(config: Config, home: string): Config {
	const { base, sources } = config;
	if (base === undefined) return config;
	const { trtexec, python, libraries } = base;
	const place = (key: string, path: string): string =>
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

/** @throws ConfigError if the file is outside the workspace or unreadable. */
export async function loadConfigAt(
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

/** The nearest ancestor with .git, or the folder itself. */
export function repositoryOf(folder: string): string {
	for (let at = folder; ; at = dirname(at)) {
		if (existsSync(join(at, ".git"))) return at;
		if (dirname(at) === at) return folder;
	}
}
