// Runs one gate from its options to its result on disk.

import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { BackendFacts, Result, WorkflowJob } from "../../generated/result.ts";
import { fileStore, lockFolder } from "../adapters/files/store.ts";
import { digestOf } from "../adapters/process/input-file.ts";
import type { Processes } from "../adapters/process/processes.ts";
import type { Config } from "../core/config/config.ts";
import { parsePatterns } from "../core/config/select.ts";
import type { Plan } from "../core/plan/plan.ts";
import {
	concludeNight,
	type HistoryWatch,
	historyWatch,
	isKept,
	type Night,
	openRunStore,
} from "../history/app/history-watch.ts";
import type { Environment } from "../host/adapters/github/env.ts";
import type { Ports } from "../ports/ports.ts";
import type { Progress } from "../ports/world.ts";
import { writeReport } from "../stages/report.ts";
import { type OpenedArms, openArms } from "./arms/arms.ts";
import { type Composition, compose } from "./compose.ts";
import {
	type ConfigOptions,
	configReader,
	type HeadConfig,
	readHeadConfig,
	type Sides,
	twoSides,
} from "./config-file.ts";
import { checkOutFolder, makeOutFolder, outRoots, removeEarlierResult } from "./out-folder.ts";
import { ownProcesses } from "./own-processes.ts";
import { prepareGate, refuseFaults } from "./prepare-gate.ts";
import { runGate } from "./run.ts";
import type { PreparedRun } from "./run-context.ts";
import { version } from "./version.ts";

export interface GateOptions extends ConfigOptions {
	base?: string;
	job?: WorkflowJob;
	out: string;
	seed?: string;
	trtexec?: string;
	onnxruntimeFolder?: string;
	environment: Environment;
	progress: Progress;
	beforeBuild?(known: PreparedRun): Promise<void>;
	ports?: Partial<Ports>;
	onStart?(stop: (reason: string) => void): void;
}

type Ran = { state: "ran"; result: Result; outFolder: string };
type GateCompletion = Ran | { state: "planned"; plan: Plan; config: Config; backend: BackendFacts["kind"] };

/** @throws ConfigError before anything ran, or an AggregateError of several. */
export async function gate(options: GateOptions): Promise<Ran>;
export async function gate(options: GateOptions, mode: "run" | "plan"): Promise<GateCompletion>;
export async function gate(options: GateOptions, mode: "run" | "plan" = "run"): Promise<GateCompletion> {
	const outFolder = resolve(options.cwd, options.out);
	// git reads the rules, which decide how the machine is used.
	const git = ownProcesses();
	const running: Running = { composition: null, stopped: null };
	options.onStart?.((reason) => {
		running.stopped = reason;
		void git.killAll();
		running.composition?.stop(reason);
	});
	const own = await readHeadConfig(options, git);
	const roots =
		options.workspace === undefined ? undefined : outRoots(options.environment, options.workspace);
	await checkOutFolder(outFolder, roots ?? { cwd: options.cwd }, git);
	await makeOutFolder(outFolder, fileStore());
	const lock = await lockFolder(outFolder);
	// After a second signal, no child may stay on the GPU.
	const endAll = () => {
		git.killNow();
		running.composition?.processes.killNow();
	};
	process.once("exit", endAll);
	try {
		if (mode === "run") await removeEarlierResult(outFolder, { isOwn: roots !== undefined });
		return await withArms({ options, own, outFolder, git, running }, mode);
	} finally {
		await git.killAll();
		await running.composition?.processes.killAll();
		process.off("exit", endAll);
		await lock.release();
	}
}

interface Running {
	composition: Composition | null;
	stopped: string | null;
}

interface Opening {
	options: GateOptions;
	own: HeadConfig;
	outFolder: string;
	git: Processes;
	running: Running;
}

async function withArms(opening: Opening, mode: "run" | "plan"): Promise<GateCompletion> {
	const { options, own, outFolder, git, running } = opening;
	const { cwd, base, head, event, access } = options;
	const configs = configReader(opening);
	const opened = await openArms(
		{ cwd, home: own.home, outFolder, config: own.config, configs, base, head, event, access },
		git,
	);
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
			const { kind: backend } = await composition.ports.backend.facts();
			return { state: "planned", plan: prepared.plan, config: prepared.config, backend };
		}
		const watched = { ...opening, config: sides.config, composition };
		const watching = await watchHistory(watched);
		const ran = await runGate({ ...input, suspects: watching?.suspects }, composition.ports);
		const result = watching === null ? ran : await concludeNight(ran, nightOf(watched, watching));
		await writeReport(result, outFolder, composition.ports.files);
		return { state: "ran", result, outFolder };
	} finally {
		await rm(join(outFolder, "scratch"), { recursive: true, force: true });
		await opened.close();
	}
}

type Watched = Opening & { config: Config; composition: Composition };

function nightOf({ options, config, outFolder }: Watched, watching: HistoryWatch) {
	const run: Night["run"] = async (side) => {
		const done = await gate({ ...options, ...side });
		return done.state === "ran" ? done.result : null;
	};
	return { config, outFolder, watching, run };
}

async function watchHistory({ config, own, outFolder, options, composition }: Watched) {
	if (config.history === undefined || !isKept(config, options.event)) return null;
	const { processes, ports, gpuUuid } = composition;
	return historyWatch({
		store: await openRunStore(config.history, { cwd: own.home, processes, access: options.access }),
		outFolder,
		files: ports.files,
		gpuUuid: await gpuUuid().catch(() => null),
		event: options.event,
	});
}

function gateInput(
	{ options, own, outFolder }: Opening,
	{ folders, noBase, notes }: OpenedArms,
	sides: Sides,
) {
	const head = folders.find((folder) => folder.arm === "head");
	return {
		...sides,
		headConfig: own.config,
		headIds: own.ids,
		only: parsePatterns(options.only ?? ""),
		configSha256: digestOf(own.text),
		arms: folders,
		noBase,
		notes: [...notes, ...sides.notes],
		outFolder,
		isScheduled: options.event?.kind === "schedule",
		isRelease: options.event?.kind === "tag",
		seed: options.seed ?? `${head?.source.commit ?? ""}:${own.config.path}`,
		version,
		job: options.job,
		beforeBuild: options.beforeBuild,
	};
}
