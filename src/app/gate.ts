// One gate from its options to its result on disk: the same for the command line, the demo and the action.
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { lockFolder } from "../adapters/files/store.ts";
import { type GitAccess, gitIn } from "../adapters/git/run-git.ts";
import type { Environment } from "../adapters/github/env.ts";
import type { Config, Occasion } from "../core/config/config.ts";
import { keepSelected, type PinnedShapes, parsePatterns, pinShapes, selectModels, unknownSelection } from "../core/config/select.ts";
import { ConfigError, usageError } from "../core/errors.ts";
import type { Plan } from "../core/plan/plan.ts";
import type { Result } from "../core/schema/result.ts";
import type { RunEvent } from "../formats/github/event.ts";
import type { Repository } from "../ports/code-host.ts";
import type { Ports } from "../ports/ports.ts";
import type { Progress } from "../ports/world.ts";
import { writeReport } from "../stages/report.ts";
import { type OpenedArms, openArms } from "./arms/arms.ts";
import { type Composition, compose } from "./compose.ts";
import { baseBeside, chooseConfig, loadConfigAt, type ReadConfig, readConfigFile, repositoryOf } from "./config-file.ts";
import { type HistoryWatch, historyWatch, isKept } from "./history/history-watch.ts";
import { concludeNight, type Night } from "./history/night.ts";
import { openRunStore } from "./history/open-store.ts";
import { makeOutFolder, removeEarlierResult } from "./out-folder.ts";
import { prepareGate, refuseFaults } from "./prepare-gate.ts";
import { runGate } from "./run.ts";
import type { GateInput, PreparedRun } from "./run-context.ts";
import { learnedPlan } from "./time-left.ts";
import { version } from "./version.ts";

export interface GateOptions {
	cwd: string;
	/** Of an action: no config outside is read. */
	workspace?: string | undefined;
	/** As the user wrote them. */
	config?: string | undefined;
	base?: string | undefined;
	head?: string | undefined;
	/** What the workflow runs for: names the base where the user names none. */
	event?: RunEvent | undefined;
	/** For fetching the base from the workflow's server. */
	access?: GitAccess | undefined;
	/** Keeps the history where there is no clone to push from. */
	repository?: Repository | undefined;
	out: string;
	seed?: string | undefined;
	/** Patterns of the engines to measure, as the user wrote them; all where it is left out. */
	only?: string | undefined;
	/** Whole shapes by input, instead of the sizes in the config of the one model that is checked. */
	shapes?: PinnedShapes;
	/** Nothing is taken over from earlier runs: no engine, kernel timing or verdict. */
	isFresh?: boolean;
	/** Path of trtexec, where it is not to be looked for. */
	trtexec?: string | undefined;
	/** Values that override the config file, by the names in `configInputs`. */
	inputs: Readonly<Record<string, string>>;
	environment: Environment;
	progress: Progress;
	/** Changes the head's config once it is read, for a run of another purpose. */
	adapt?(config: Config): Config;
	/** Called when the machine and the models are known, before anything is built. */
	beforeBuild?: ((known: PreparedRun) => Promise<void>) | undefined;
	/** Replace the ports of this machine, for a replay. */
	ports?: Partial<Ports>;
	/** Receives a function that stops the run. */
	onStart?(stop: (reason: string) => void): void;
}

export type GateCompletion = { state: "ran"; result: Result; outFolder: string } | { state: "planned"; plan: Plan; config: Config };

/**
 * @throws ConfigError before anything ran, or an AggregateError of several; what happens later is in the result.
 */
export async function gate(options: GateOptions, mode: "run" | "plan" = "run"): Promise<GateCompletion> {
	const outFolder = resolve(options.cwd, options.out);
	const { config: asWritten, text, home } = await readConfig(options);
	const config = options.isFresh ? { ...asWritten, cache: { engines: false, timing: false, verdicts: false } } : asWritten;
	const composed = compose(config, options);
	const composition = { ...composed, ports: { ...composed.ports, ...options.ports } };
	options.onStart?.(composition.stop);
	const { files } = composition.ports;
	await makeOutFolder(outFolder, files);
	const lock = await lockFolder(outFolder);
	// A second signal ends this process at once; no child may stay on the GPU.
	const endAll = (): void => composition.processes.killNow();
	process.once("exit", endAll);
	try {
		await removeEarlierResult(outFolder);
		return await withArms({ options, config, text, home, outFolder }, { composition, mode });
	} finally {
		await composition.processes.killAll();
		process.off("exit", endAll);
		await lock.release();
	}
}

interface Opening {
	options: GateOptions;
	config: Config;
	text: string;
	home: string;
	outFolder: string;
}

async function withArms(opening: Opening, how: { composition: Composition; mode: "run" | "plan" }): Promise<GateCompletion> {
	const { composition } = how;
	const { options, outFolder, home } = opening;
	const { cwd, base, head, event, access } = options;
	const opened = await openArms({ cwd, home, outFolder, config: opening.config, base, head, event, access }, composition.processes);
	try {
		const input = await gateInput(opening, opened);
		if (how.mode === "plan") {
			const prepared = await prepareGate(input, composition.ports);
			refuseFaults(prepared);
			return { state: "planned", plan: await learnedPlan(prepared, input, composition.ports), config: input.config };
		}
		const watching = await watchHistory(opening, composition);
		const ran = await runGate({ ...input, ...(watching === null ? {} : { suspects: watching.suspects }) }, composition.ports);
		const result = watching === null ? ran : await concludeNight(ran, nightOf(opening, watching, composition));
		await writeReport(result, outFolder, composition.ports.files);
		return { state: "ran", result, outFolder };
	} finally {
		await rm(join(outFolder, "scratch"), { recursive: true, force: true });
		await opened.close();
	}
}

function nightOf({ options, config, home, outFolder }: Opening, watching: HistoryWatch, { processes }: Composition): Night {
	const run: Night["run"] = async (side) => {
		const done = await gate({ ...options, ...side });
		return done.state === "ran" ? done.result : null;
	};
	return { config, outFolder, watching, run, git: gitIn(home, processes, options.access) };
}

/** null: this run is not kept. The folder that the run checks is the clone whose remote has the branch. */
async function watchHistory(
	{ config, home, outFolder, options }: Opening,
	{ processes, ports, gpuUuid }: Composition,
): Promise<HistoryWatch | null> {
	if (config.history === undefined || !isKept(config, options.event)) return null;
	return historyWatch({
		store: await openRunStore(config.history, { cwd: home, processes, access: options.access, repository: options.repository }),
		...{ outFolder, branch: config.history.branch },
		files: ports.files,
		gpuUuid: await gpuUuid().catch(() => null),
	});
}

async function readConfig(options: GateOptions): Promise<ReadConfig> {
	const { cwd, inputs, workspace } = options;
	const read = await readConfigFile({ cwd, path: chooseConfig(options), inputs, workspace, occasion: occasionOf(options) });
	const config = selected(read.config, options);
	return { ...read, config: options.adapt?.(config) ?? config };
}

/** Releases and nightly runs are stricter unless the config says otherwise. */
function occasionOf({ event }: GateOptions): Occasion | undefined {
	if (event?.kind === "tag") return "release";
	return event?.kind === "schedule" ? "nightly" : undefined;
}

/** @throws ConfigError usage where a pattern means no engine of the head's config, or shapes have several models to hold for. */
function selected(config: Config, { only = "", shapes = {} }: GateOptions): Config {
	const selection = selectModels(config.models, parsePatterns(only));
	if (selection.state !== "ok") throw unknownSelection(selection.problems, config.path);
	const { models } = selection;
	if (models.length > 1 && Object.keys(shapes).length > 0)
		throw usageError(`--shape gives the inputs of one model; this run checks ${models.length}.`, "Name the model: --only MODEL.");
	return { ...config, models: pinShapes(models, shapes) };
}

async function gateInput(opening: Opening, opened: OpenedArms): Promise<GateInput> {
	const { config, options, outFolder } = opening;
	const { folders: arms, noBase, notes } = opened;
	const base = arms.find((folder) => folder.arm === "base");
	const head = arms.find((folder) => folder.arm === "head");
	const baseConfig = base === undefined ? null : await baseConfigOf(base.path, opening);
	const seed = options.seed ?? `${head?.source.commit ?? ""}:${config.path}`;
	return {
		config,
		configSha256: createHash("sha256").update(opening.text).digest("hex"),
		arms,
		noBase,
		notes: base === undefined || baseConfig !== null ? notes : [...notes, noBaseConfig(config)],
		...baseConfig,
		outFolder,
		isScheduled: options.event?.kind === "schedule",
		isSoakDue: options.event?.kind === "schedule" || options.event?.kind === "dispatch",
		seed,
		version,
		beforeBuild: options.beforeBuild,
	};
}

type BaseConfig = Pick<GateInput, "baseConfig" | "baseConfigFault">;

function noBaseConfig({ path }: Config): string {
	return `The base has no ${basename(path)}, so the head's limits and coverage were not compared with it.`;
}

/** The base's own config, of the same name as the head's, with the same inputs over it. Equal paths of `base` stay equal. */
async function baseConfigOf(folder: string, { config: head, home, options }: Opening): Promise<BaseConfig | null> {
	const name = basename(head.path);
	const { inputs, only = "", shapes = {} } = options;
	const read = await loadConfigAt(join(folder, name), {
		path: name,
		inputs,
		occasion: occasionOf(options),
		workspace: repositoryOf(folder),
	}).catch(refusalOf);
	if (read instanceof ConfigError) return read.code === "config-missing" ? null : { baseConfigFault: read.message };
	const { loaded } = read;
	if (loaded.state !== "ok") return { baseConfigFault: loaded.errors[0]?.message ?? "it is invalid" };
	// What another job measures is not missing here.
	const config = baseBeside(loaded.config, home);
	return { baseConfig: { ...config, models: pinShapes(keepSelected(config.models, parsePatterns(only)), shapes) } };
}

function refusalOf(error: unknown): ConfigError {
	if (error instanceof ConfigError) return error;
	throw error;
}
