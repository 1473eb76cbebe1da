// A job of the action in golden/: records or calibrates the goldens of its models, and reviews what changed.
import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { GoldenManifest } from "../../../generated/golden.ts";
import type { GoldenChange, Result } from "../../../generated/result.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { fileTensorReader } from "../../adapters/files/tensor-reader.ts";
import { readInput } from "../../adapters/process/input-file.ts";
import { inNewFolder } from "../../adapters/process/write-error.ts";
import { defaultMultiple } from "../../app/commands/golden-tables.ts";
import { readConfigFile } from "../../app/config-file.ts";
import { openTerminal, progressFor, stopOnSignals, type Terminal } from "../../app/terminal.ts";
import type { Config, ModelConfig } from "../../core/config/config.ts";
import { ConfigError, ToolError, usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { engineSpecs } from "../../core/plan/plan.ts";
import { quoteName } from "../../core/text/escape.ts";
import { type GoldenInputs, readGoldenInputs } from "../../host/adapters/github/inputs.ts";
import { requireRun } from "../../host/app/actions/workflow-run.ts";
import type { RunEvent } from "../../host/formats/github/event.ts";
import { isRefName } from "../../host/formats/github/names.ts";
import type { Repository } from "../../ports/code-host.ts";
import { confine } from "../../stages/resolve-in-workspace.ts";
import { renderCalibration } from "../core/calibrate/propose-limits.ts";
import { proposalRefused } from "../stages/propose.ts";
import { reviewGoldens } from "../stages/review.ts";
import { type CalibratedGolden, calibrateEngines, writeCalibration } from "./calibrate.ts";
import { readManifest, tensorPaths } from "./keep.ts";
import { recordGolden } from "./record.ts";
import { findModel, goldenOf, parseRecordOptions } from "./record-options.ts";

export interface GoldenJob {
	terminal: Terminal;
	inputs: GoldenInputs;
	repository: Repository;
	author: string;
}

export async function openGoldenJob(): Promise<GoldenJob> {
	const opened = openTerminal({ color: false });
	const inputs = readGoldenInputs();
	const { run, event, host } = await requireRun(
		opened.environment,
		inputs,
		"`trtgate golden record` records goldens",
	);
	checkTrust(event, run.eventName);
	checkInputs(inputs);
	const repository = host.repository();
	if (repository === null)
		throw proposalRefused(
			"This server has no API to store files and commits, so the recorded goldens could not be proposed.",
			"Record them with `trtgate golden record`, and commit them.",
		);
	const terminal: Terminal = { ...opened, cwd: opened.environment.workspace ?? opened.cwd };
	return { terminal, inputs, repository, author: inputs.author.trim() || run.actor || "unknown" };
}

const trusted: readonly RunEvent["kind"][] = ["push", "tag", "schedule", "dispatch"];

export function checkTrust(event: RunEvent, eventName: string): void {
	if (trusted.includes(event.kind)) return;
	// pull_request_target has write access on code that an outsider may have written.
	if (event.kind === "pull-request" && eventName === "pull_request" && !event.isFork) return;
	const whose = event.kind === "pull-request" && event.isFork ? "a fork's " : "";
	throw proposalRefused(
		`Goldens are not recorded in a run for ${whose}${quoteName(eventName)}, which outsiders may trigger or change.`,
		"Run it on workflow_dispatch, schedule, push, or a pull_request of the repository's own branches.",
	);
}

export function checkInputs(inputs: Pick<GoldenInputs, "reason" | "branch" | "base">): void {
	if (inputs.reason.trim() === "")
		throw usageError("Input reason is empty.", "Explain why the expected outputs change.");
	for (const input of ["branch", "base"] as const) {
		const name = inputs[input];
		if (isRefName(name) || (input === "base" && name === "")) continue;
		throw usageError(
			`Input ${input} is ${quoteName(name)}, which is not a valid branch name.`,
			"Correct it under `with:`.",
		);
	}
}

interface GoldenTarget {
	model: ModelConfig;
	path: string;
}

export interface RecordedModel extends GoldenTarget {
	state: "written" | "same";
	manifest: GoldenManifest;
	old: GoldenManifest | null;
	change: GoldenChange | null;
}

export interface RecordedGoldens {
	home: string;
	recorded: RecordedModel[];
	errors: unknown[];
	notes: string[];
}

/** @param names one per line, or separated by commas; empty: all models with a golden. @throws ConfigError usage. */
export function chooseTargets(config: Config, names: string): GoldenTarget[] {
	const wanted = new Set(names.split(/[\n,]/).map((name) => name.trim()));
	wanted.delete("");
	const chosen =
		wanted.size === 0
			? config.models.filter((model) => goldenOf(model) !== undefined)
			: [...wanted].map((name) => findModel(config, name));
	const targets = chosen.map((model) => ({ model, path: recordedPath(model) }));
	if (targets.length === 0)
		throw usageError(
			`No model of ${config.path} has a golden.`,
			"Set `golden:` for a model, the path of its golden.json.",
		);
	for (const [index, target] of targets.entries()) {
		const twin = targets.slice(0, index).find((other) => other.path === target.path);
		if (twin === undefined) continue;
		const both = `${quoteName(twin.model.name)} and ${quoteName(target.model.name)}`;
		throw usageError(
			`Models ${both} share the golden ${target.path}.`,
			"Name the one that it is recorded from with the input `model`.",
		);
	}
	return targets;
}

function recordedPath(model: ModelConfig) {
	const path = goldenOf(model);
	const name = quoteName(model.name);
	if (path === undefined)
		throw usageError(`Model ${name} has no golden.`, "Set its `golden:`, the path of its golden.json.");
	if (basename(path) === "golden.json") return path;
	throw usageError(
		`The golden of ${name} is ${path}, but a recorded golden must be named golden.json.`,
		"Rename it.",
	);
}

export function recordModel(
	target: GoldenTarget,
	{ terminal, inputs, author }: GoldenJob,
	home: string,
): Promise<RecordedModel> {
	const work = async (before: string) => {
		const old = await keepOld(target, home, before);
		// The equals sign keeps a value from looking like an option.
		const argv = [
			`--config=${inputs.config}`,
			`--model=${target.model.name}`,
			`--reason=${inputs.reason}`,
			`--author=${author}`,
			...inputs.options.flatMap(({ name, values }) => values.map((value) => `--${name}=${value}`)),
			...(inputs.propose ? ["--propose"] : []),
		];
		const recorded = await recordGolden(await parseRecordOptions(argv, terminal), terminal);
		const hasChange = recorded.state === "written" && old !== null;
		const change = hasChange ? await reviewTarget(target, recorded.manifest, home, before) : null;
		return { ...target, ...recorded, old, change };
	};
	return inNewFolder("trtgate-old-", work, terminal.environment.temp);
}

/** Recording removes the old tensors, which the review compares with. */
async function keepOld({ path }: GoldenTarget, home: string, before: string) {
	await confine(fileStore(), home, dirname(path));
	const manifest = await readManifest(join(home, path), path);
	if (manifest === null) return null;
	for (const file of ["golden.json", ...tensorPaths(manifest)]) {
		const to = join(before, dirname(path), file);
		await mkdir(dirname(to), { recursive: true });
		const bytes = await readInput(join(home, dirname(path), file), inputKinds.tensor).catch(() => null);
		if (bytes !== null) await writeFile(to, bytes);
	}
	return manifest;
}

async function reviewTarget(
	{ model, path }: GoldenTarget,
	manifest: GoldenManifest,
	home: string,
	before: string,
) {
	const specs = engineSpecs({ models: [model] }).filter((spec) => spec.engine.golden === path);
	const set = { manifest, folder: join(home, dirname(path)) };
	const goldens = new Map(specs.map((spec) => [spec.id, set]));
	const engines = { baseEngines: specs, headEngines: specs, goldens, baseFolder: before };
	const changes = await reviewGoldens(engines, { files: fileStore(), tensors: fileTensorReader() });
	return changes[0] ?? null;
}

export async function calibrateModels({ terminal, inputs, author }: GoldenJob): Promise<RecordedGoldens> {
	const { cwd, environment } = terminal;
	const { config, home } = await readConfigFile({ cwd, path: inputs.config, workspace: cwd });
	const targets = chooseTargets(config, inputs.model);
	const work = async (scratchFolder: string) => {
		const before = join(scratchFolder, "before");
		for (const target of targets) await keepOld(target, home, before);
		const options = {
			cwd,
			workspace: cwd,
			config: inputs.config,
			out: join(scratchFolder, "out"),
			inputs: {},
			only: targets.map(({ model }) => model.name).join("\n"),
			environment,
			progress: progressFor(terminal, { quiet: false }),
			onStart: (stop: (reason: string) => void) => void stopOnSignals(stop),
		};
		const calibration = await calibrateEngines(options, { multiple: defaultMultiple, given: new Map() });
		const { goldens, result } = calibration;
		const engines = goldens.flatMap((golden) => golden.engines);
		terminal.out(renderCalibration(engines, result.backend));
		const recorded: RecordedModel[] = [];
		for (const target of targets) {
			const golden = goldens.find(({ path }) => path === target.path);
			if (golden === undefined) continue;
			const { old } = golden;
			const manifest = await writeCalibration(golden, calibration, { reason: inputs.reason, author });
			const change = manifest === null ? null : await reviewTarget(target, manifest, home, before);
			const state = manifest === null ? "same" : "written";
			recorded.push({ ...target, state, manifest: manifest ?? old, old, change });
		}
		return { home, recorded, errors: errorsOf(result), notes: goldens.flatMap(notesOf) };
	};
	return inNewFolder("trtgate-calibration-", work, environment.temp);
}

function notesOf({ engines }: CalibratedGolden) {
	return engines.flatMap(({ engine, faults, limits }) => [
		...faults.map((fault) => `${engine} was not calibrated: ${fault}`),
		...limits
			.filter(({ state }) => state === "refused")
			.map(({ errors, why }) => `${engine} sets no limit: ${errors.output}: ${why}`),
	]);
}

function errorsOf({ errors, builds }: Result) {
	const failed = builds.flatMap(({ model, engine, failure }) =>
		failure === undefined || failure.kind === "runner"
			? []
			: [`${model}/${engine} was not built: ${failure.title} ${failure.fix}`],
	);
	return [
		...errors.map(({ kind, message, fix }) =>
			kind === "runner"
				? new ToolError({ code: "tool-crashed", message, fix })
				: new ConfigError({ code: "config-value", message, fix }),
		),
		...failed.map((message) => new ConfigError({ code: "model-unreadable", message })),
	];
}
