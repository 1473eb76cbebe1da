// Reads the configs of both sides: each side's recipes, and the rules for both.
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { type Git, gitError, gitIn, succeeded } from "../adapters/git/run-git.ts";
import type { Processes } from "../adapters/process/processes.ts";
import type { Config, Occasion } from "../core/config/config.ts";
import { type LoadResult, loadConfig } from "../core/config/parse.ts";
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
import type { RunEvent } from "../host/formats/github/event.ts";
import type { ConfigReader, OpenedArms, SideConfig } from "./arms/arms.ts";
import { isReview } from "./arms/find-base.ts";
import {
	baseBeside,
	chooseConfig,
	loadConfigAt,
	parseConfigText,
	type ReadConfig,
	readConfigFile,
	repositoryOf,
} from "./config-file.ts";

export interface ConfigOptions {
	cwd: string;
	/** For an action, which reads no config outside. */
	workspace?: string;
	/** Path as the user wrote it. */
	config?: string;
	head?: string;
	/** Chooses the base unless the user does. */
	event?: RunEvent;
	/** Patterns of the engines to measure; default all. */
	only?: string;
	/** Full shapes by input, for the only model that is checked. */
	shapes?: PinnedShapes;
	/** Reuses nothing from earlier runs. */
	isFresh?: boolean;
	/** Overrides by the names in `configInputs`. */
	inputs: Readonly<Record<string, string>>;
	/** Adapts both configs to another purpose, such as calibration. */
	adapt?(config: Config): Config;
}

export interface HeadConfig extends ReadConfig {
	/** Includes engines that this run does not check. */
	ids: ReadonlySet<string>;
}

interface Opened {
	options: ConfigOptions;
	own: HeadConfig;
}

/** Reads the config from the head's commit if the head is a git ref. */
export async function readHeadConfig(options: ConfigOptions, processes: Processes): Promise<HeadConfig> {
	const { cwd, inputs, workspace, head } = options;
	const occasion = occasionOf(options);
	const path = chooseConfig(options);
	const atRef = options.config === undefined && head !== undefined && !existsSync(resolve(cwd, head));
	const text = atRef ? await textAt(head, basename(path), gitIn(cwd, processes)) : null;
	const read =
		text === null
			? await readConfigFile({ cwd, path, inputs, workspace, occasion })
			: parseConfigText(text, { path, inputs, occasion, home: resolve(cwd) });
	return {
		...read,
		ids: new Set(engineSpecs(read.config).map(({ id }) => id)),
		config: finished(selected(read.config, options), options),
	};
}

function finished(config: Config, { isFresh, adapt }: ConfigOptions): Config {
	const adapted = adapt?.(config) ?? config;
	return isFresh ? { ...adapted, cache: { engines: false, timing: false, verdicts: false } } : adapted;
}

/** Reads the base's config of the same name, with the same inputs. */
export function configReader({ own, options }: Opened): ConfigReader {
	const name = basename(own.config.path);
	const isShared = options.config !== undefined && options.workspace === undefined;
	const settings = { path: name, inputs: options.inputs, occasion: occasionOf(options) };
	const sideOf = (loaded: LoadResult): SideConfig => {
		if (loaded.state !== "ok") return { state: "broken", why: loaded.errors[0]?.message ?? "It is invalid." };
		const config = baseBeside(loaded.config, own.home);
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

/** @throws ConfigError usage for patterns without a match, or shapes for several models. */
function selected(config: Config, { only = "", shapes = {} }: ConfigOptions): Config {
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
	const hasBase = folders.some(({ arm }) => arm === "base");
	const decides = options.event === undefined || isReview(options.event);
	const broken = [rules, baseConfig].find((side) => side.state === "broken");
	const held = decides && broken === undefined && rules.state === "read" ? rules.config : undefined;
	const name = basename(own.config.path);
	const notes: string[] = [];
	if (hasBase && baseConfig.state === "absent")
		notes.push(`The base has no ${name}: the head's recipes and rules were used for both sides.`);
	if (hasBase && options.config !== undefined && options.workspace === undefined)
		notes.push(`${own.config.path} was used for both sides.`);
	const namesakes = new Map(engineSpecs(own.config).map(({ id }) => [id, id]));
	return {
		config: held === undefined ? own.config : underRulesOf(held, own.config, namesakes),
		baseConfig: baseConfig.state === "read" && broken === undefined ? baseConfig.config : undefined,
		rules: held,
		baseConfigFault: broken?.state === "broken" ? broken.why : undefined,
		notes,
	};
}
