// One gate from its options to its result on disk: the same for the command line, the demo and the action.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { fileStore, lockFolder } from "../adapters/files/store.ts";
import { type Git, type GitAccess, gitIn, succeeded } from "../adapters/git/run-git.ts";
import { childEnvironment, type Environment } from "../adapters/github/env.ts";
import { createProcesses, type Processes } from "../adapters/process/processes.ts";
import type { Config, Occasion } from "../core/config/config.ts";
import { type LoadResult, loadConfig } from "../core/config/parse.ts";
import { underRulesOf } from "../core/config/rules.ts";
import { type PinnedShapes, parsePatterns, pinShapes, selectModels, unknownSelection } from "../core/config/select.ts";
import { ConfigError, usageError } from "../core/errors.ts";
import { inputKinds } from "../core/input-kind.ts";
import { engineSpecs, type Plan } from "../core/plan/plan.ts";
import type { Result, WorkflowJob } from "../core/schema/result.ts";
import type { RunEvent } from "../formats/github/event.ts";
import type { Ports } from "../ports/ports.ts";
import type { Progress } from "../ports/world.ts";
import { writeReport } from "../stages/report.ts";
import { type ConfigReader, type OpenedArms, openArms, type SideConfig } from "./arms/arms.ts";
import { isReview } from "./arms/choose-base.ts";
import { type Composition, compose } from "./compose.ts";
import { baseBeside, chooseConfig, loadConfigAt, parseConfigText, type ReadConfig, readConfigFile, repositoryOf } from "./config-file.ts";
import { type HistoryWatch, historyWatch, isKept } from "./history/history-watch.ts";
import { concludeNight, type Night } from "./history/night.ts";
import { openRunStore } from "./history/open-store.ts";
import { checkOutFolder, makeOutFolder, outRoots, removeEarlierResult } from "./out-folder.ts";
import { prepareGate, refuseFaults } from "./prepare-gate.ts";
import { runGate } from "./run.ts";
import type { GateInput, PreparedRun } from "./run-context.ts";
import { recallTimes } from "./step-times.ts";
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
	/** The job that runs the gate. */
	job?: WorkflowJob | undefined;
	/** For fetching the base from the workflow's server. */
	access?: GitAccess | undefined;
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
	/** Folder with a native ONNX Runtime; none is looked for elsewhere. */
	onnxruntimeFolder?: string | undefined;
	/** Values that override the config file, by the names in `configInputs`. */
	inputs: Readonly<Record<string, string>>;
	environment: Environment;
	progress: Progress;
	/** Changes both sides' configs once they are read, for a run of another purpose. */
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
	// git alone: what the machine is used with depends on the rules, which are read through it.
	const git = createProcesses({ env: childEnvironment() });
	const running: Running = { composition: null, stopped: null };
	options.onStart?.((reason) => {
		running.stopped = reason;
		void git.killAll();
		running.composition?.stop(reason);
	});
	const own = await readHeadConfig(options, git);
	const roots = options.workspace === undefined ? undefined : outRoots(options.environment, options.workspace);
	await checkOutFolder(outFolder, { cwd: options.cwd, roots }, git);
	await makeOutFolder(outFolder, fileStore());
	const lock = await lockFolder(outFolder);
	// A second signal ends this process at once; no child may stay on the GPU.
	const endAll = (): void => {
		git.killNow();
		running.composition?.processes.killNow();
	};
	process.once("exit", endAll);
	try {
		await removeEarlierResult(outFolder, { isOwn: roots !== undefined });
		return await withArms({ options, own, outFolder, git, running }, mode);
	} finally {
		await git.killAll();
		await running.composition?.processes.killAll();
		process.off("exit", endAll);
		await lock.release();
	}
}

/** What a signal has to stop. */
interface Running {
	composition: Composition | null;
	stopped: string | null;
}

interface Opening {
	options: GateOptions;
	/** The head's own config. */
	own: HeadConfig;
	outFolder: string;
	/** Runs git. */
	git: Processes;
	running: Running;
}

async function withArms(opening: Opening, mode: "run" | "plan"): Promise<GateCompletion> {
	const { options, own, outFolder, git, running } = opening;
	const { cwd, base, head, event, access } = options;
	const configs = configReader(opening);
	const opened = await openArms({ cwd, home: own.home, outFolder, config: own.config, configs, base, head, event, access }, git);
	try {
		const sides = twoSides(opening, opened);
		const composed = compose(sides.config, options);
		const composition = { ...composed, ports: { ...composed.ports, ...options.ports } };
		running.composition = composition;
		if (running.stopped !== null) composition.stop(running.stopped);
		const input = gateInput(opening, opened, sides);
		if (mode === "plan") {
			const prepared = await prepareGate(input, composition.ports);
			refuseFaults(prepared, prepared.config);
			const { plan } = await recallTimes(prepared, input, composition.ports);
			return { state: "planned", plan, config: prepared.config };
		}
		const watched = { ...opening, config: sides.config, composition };
		const watching = await watchHistory(watched);
		const ran = await runGate({ ...input, ...(watching === null ? {} : { suspects: watching.suspects }) }, composition.ports);
		const result = watching === null ? ran : await concludeNight(ran, nightOf(watched, watching));
		await writeReport(result, outFolder, composition.ports.files);
		return { state: "ran", result, outFolder };
	} finally {
		await rm(join(outFolder, "scratch"), { recursive: true, force: true });
		await opened.close();
	}
}

type Watched = Opening & { config: Config; composition: Composition };

function nightOf({ options, own, config, outFolder, composition }: Watched, watching: HistoryWatch): Night {
	const run: Night["run"] = async (side) => {
		const done = await gate({ ...options, ...side });
		return done.state === "ran" ? done.result : null;
	};
	return { config, outFolder, watching, run, git: gitIn(own.home, composition.processes, options.access) };
}

/** null: this run is not kept. The folder that the run checks is the clone whose remote has the branch. */
async function watchHistory({ config, own, outFolder, options, composition }: Watched): Promise<HistoryWatch | null> {
	if (config.history === undefined || !isKept(config, options.event)) return null;
	const { processes, ports, gpuUuid } = composition;
	return historyWatch({
		store: await openRunStore(config.history, { cwd: own.home, processes, access: options.access }),
		...{ outFolder, branch: config.history.branch },
		files: ports.files,
		gpuUuid: await gpuUuid().catch(() => null),
	});
}

interface HeadConfig extends ReadConfig {
	/** Of all engines, those that this run does not check too. */
	ids: ReadonlySet<string>;
}

/** The head's config; of a head that is a git ref, the one at that ref. */
async function readHeadConfig(options: GateOptions, processes: Processes): Promise<HeadConfig> {
	const { cwd, inputs, workspace, head } = options;
	const occasion = occasionOf(options);
	const path = chooseConfig(options);
	const atRef = options.config === undefined && head !== undefined && !existsSync(resolve(cwd, head));
	const text = atRef ? await textAt(head, basename(path), gitIn(cwd, processes)) : null;
	const read =
		text === null
			? await readConfigFile({ cwd, path, inputs, workspace, occasion })
			: parseConfigText(text, { path, inputs, occasion, home: resolve(cwd) });
	return { ...read, ids: new Set(engineSpecs(read.config).map(({ id }) => id)), config: finished(selected(read.config, options), options) };
}

function finished(config: Config, { isFresh, adapt }: GateOptions): Config {
	const adapted = adapt?.(config) ?? config;
	return isFresh ? { ...adapted, cache: { engines: false, timing: false, verdicts: false } } : adapted;
}

/** Reads the base's config: of the same name as the head's, with the same inputs over it. */
function configReader({ own, options }: Opening): ConfigReader {
	const name = basename(own.config.path);
	// A file that the user names is for both sides.
	const isShared = options.config !== undefined && options.workspace === undefined;
	const settings = { path: name, inputs: options.inputs, occasion: occasionOf(options) };
	const sideOf = (loaded: LoadResult): SideConfig => {
		if (loaded.state !== "ok") return { state: "broken", why: loaded.errors[0]?.message ?? "It is invalid." };
		return { state: "read", config: ofBase(baseBeside(loaded.config, own.home), options) };
	};
	return {
		async inFolder(folder) {
			if (isShared) return { state: "read", config: own.config };
			const read = await loadConfigAt(join(folder, name), { ...settings, workspace: repositoryOf(folder) }).catch(refusalOf);
			if (!(read instanceof ConfigError)) return sideOf(read.loaded);
			return read.code === "config-missing" ? { state: "absent" } : { state: "broken", why: read.message };
		},
		async atCommit(commit, git) {
			if (isShared) return { state: "read", config: own.config };
			const text = await textAt(commit, name, git);
			return text === null ? { state: "absent" } : sideOf(loadConfig(text, settings));
		},
	};
}

/** What another job measures is not missing here; engines that the head renamed are found by their content. */
function ofBase(config: Config, options: GateOptions): Config {
	return finished({ ...config, models: pinShapes(config.models, options.shapes ?? {}) }, options);
}

/** null where the commit has no such file. */
async function textAt(commit: string, name: string, git: Git): Promise<string | null> {
	const read = await git(["cat-file", "blob", `${commit}:./${name}`], { captureBytes: inputKinds.config.maxBytes });
	return succeeded(read) ? read.stdout : null;
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

/** The configs of a run: the head's own under the rules that hold, and the base's. */
interface Sides {
	config: Config;
	baseConfig: Config | undefined;
	rules: Config | undefined;
	baseConfigFault: string | undefined;
	notes: string[];
}

function twoSides({ own, options }: Opening, { baseConfig, rules, folders }: OpenedArms): Sides {
	const hasBase = folders.some(({ arm }) => arm === "base");
	const decides = options.event === undefined || isReview(options.event);
	const broken = [rules, baseConfig].find((side) => side.state === "broken");
	const held = decides && broken === undefined && rules.state === "read" ? rules.config : undefined;
	const name = basename(own.config.path);
	const notes = [
		...(hasBase && baseConfig.state === "absent"
			? [`The base has no ${name}: the head's recipes and rules were used for both sides.`]
			: []),
		...(hasBase && options.config !== undefined && options.workspace === undefined ? [`${own.config.path} was used for both sides.`] : []),
	];
	const namesakes = new Map(engineSpecs(own.config).map(({ id }) => [id, id]));
	return {
		config: held === undefined ? own.config : underRulesOf(held, own.config, namesakes),
		baseConfig: baseConfig.state === "read" && broken === undefined ? baseConfig.config : undefined,
		rules: held,
		baseConfigFault: broken?.state === "broken" ? broken.why : undefined,
		notes,
	};
}

function gateInput({ options, own, outFolder }: Opening, { folders, noBase, notes }: OpenedArms, sides: Sides): GateInput {
	const head = folders.find((folder) => folder.arm === "head");
	return {
		...sides,
		headConfig: own.config,
		headIds: own.ids,
		only: parsePatterns(options.only ?? ""),
		configSha256: createHash("sha256").update(own.text).digest("hex"),
		arms: folders,
		noBase,
		notes: [...notes, ...sides.notes],
		outFolder,
		isScheduled: options.event?.kind === "schedule",
		isSoakDue: options.event?.kind === "schedule" || options.event?.kind === "dispatch",
		seed: options.seed ?? `${head?.source.commit ?? ""}:${own.config.path}`,
		version,
		job: options.job,
		beforeBuild: options.beforeBuild,
	};
}

function refusalOf(error: unknown): ConfigError {
	if (error instanceof ConfigError) return error;
	throw error;
}
