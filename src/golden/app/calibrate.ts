// `trtgate golden calibrate`: each engine's own error beside the limits of its golden, and the limits that follow.
import { dirname, join } from "node:path";
import type { GoldenManifest } from "../../../generated/golden.ts";
import type { Result } from "../../../generated/result.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { createProcesses } from "../../adapters/process/processes.ts";
import { misused, parseArguments } from "../../app/commands/arguments.ts";
import { calibrateTable } from "../../app/commands/golden-tables.ts";
import { readConfigFile } from "../../app/config-file.ts";
import { describeRecord, exitCodes, exitOfResult } from "../../app/exit.ts";
import { type GateOptions, gate } from "../../app/gate.ts";
import { progressFor, stopOnSignals, type Terminal } from "../../app/terminal.ts";
import type { Config } from "../../core/config/config.ts";
import { usageError } from "../../core/errors.ts";
import { type EngineSpec, engineSpecs } from "../../core/plan/plan.ts";
import { jsonText, quoteName } from "../../core/text/escape.ts";
import { listNames } from "../../core/text/labels.ts";
import { childEnvironment } from "../../host/adapters/github/env.ts";
import { applyCalibration, isSameCalibration } from "../core/calibrate/apply.ts";
import {
	type CalibratedErrors,
	type CalibrationRule,
	errorsOf,
	proposeLimits,
	renderCalibration,
} from "../core/calibrate/propose-limits.ts";
import { manifestText, readManifest } from "./keep.ts";
import { findAuthor } from "./record-options.ts";

export async function calibrateGolden(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, calibrateTable);
	const rule = { multiple: multipleOf(args.text("multiple")), given: givenLimits(args.texts("limit")) };
	const change = args.flag("write")
		? await changeOf(args.text("reason"), args.text("author"), terminal.cwd)
		: null;
	const options = {
		cwd: terminal.cwd,
		out: args.text("out"),
		...args.given("config", "trtexec"),
		onnxruntimeFolder: args.text("onnxruntime-folder"),
		only: args.texts("only").join("\n"),
		inputs: args.given("backend", "device", "onnxruntime"),
		environment: terminal.environment,
		progress: progressFor(terminal, { quiet: args.flag("quiet"), json: args.flag("json") }),
		onStart: stopOnSignals,
	};
	const calibration = await calibrateEngines(options, rule);
	const { result, goldens } = calibration;
	const engines = goldens.flatMap((golden) => golden.engines);
	refuseUnmet(rule.given, engines);
	const written: string[] = [];
	if (change !== null)
		for (const golden of goldens) {
			const manifest = await writeCalibration(golden, calibration, change);
			if (manifest !== null) written.push(`${golden.path}: ${manifest.goldenId}`);
		}
	const isJson = args.flag("json");
	const { backend } = result;
	terminal.out(isJson ? jsonText({ backend, engines, written }) : renderCalibration(engines, backend));
	const unbuilt = result.builds.flatMap(({ model, engine, failure }) =>
		failure === undefined ? [] : [`${model}/${engine} was not built: ${failure.title} ${failure.fix}\n`],
	);
	terminal.err([...unbuilt, ...result.errors.map(describeRecord)].join(""));
	if (!isJson) terminal.out(conclusion(engines, written, change !== null));
	if (result.outcome === "error") return exitOfResult(result);
	const fails =
		isRefused(engines) ||
		engines.some(({ faults }) => faults.length > 0) ||
		result.builds.some(({ state }) => state !== "built");
	return fails ? exitCodes.failed : exitCodes.ok;
}

async function changeOf(reason: string | undefined, given: string | undefined, cwd: string) {
	const processes = createProcesses({ env: childEnvironment() });
	const author = await findAuthor(given, cwd, processes).finally(() => processes.killAll());
	if (author === undefined)
		throw usageError(
			"--write changes goldens, and who changes them is not known.",
			'Name the author: --author "…".',
		);
	return { author, reason: reason ?? "Limits calibrated on engines." };
}

function isRefused(engines: readonly CalibratedErrors[]) {
	return engines.some(({ limits }) => limits.some(({ state }) => state === "refused"));
}

function conclusion(engines: readonly CalibratedErrors[], written: readonly string[], writes: boolean) {
	if (engines.length === 0) return "No engine with a golden was run, so nothing was calibrated.\n";
	if (written.length > 0) return ["Written, with the evidence:", ...written].join("\n  ").concat("\n");
	if (writes) return "Nothing was written: the goldens already contain these limits, by the same engines.\n";
	const refused = isRefused(engines)
		? "Fix a wrong engine first; if its error is correct nonetheless, set the limit with --limit OUTPUT=VALUE.\n"
		: "";
	return `${refused}Nothing was written: --write puts these limits and their evidence into the goldens.\n`;
}

function multipleOf(text: string) {
	const multiple = Number(text);
	if (multiple >= 1 && multiple <= 1000) return multiple;
	throw misused("--multiple", "a number from 1 to 1000", text);
}

function givenLimits(texts: readonly string[]) {
	return new Map(
		texts.map((text) => {
			const cut = text.lastIndexOf("=");
			const limit = Number(text.slice(cut + 1));
			if (cut > 0 && limit > 0 && Number.isFinite(limit)) return [text.slice(0, cut), limit];
			throw misused("--limit", "OUTPUT=VALUE with a value above 0, such as logits=2e-2", text);
		}),
	);
}

function refuseUnmet(given: ReadonlyMap<string, number>, engines: readonly CalibratedErrors[]) {
	const errors = engines.flatMap(({ limits }) => limits.map((limit) => limit.errors));
	const known = errors.filter(({ kind }) => kind === "relative-l2").map(({ output }) => output);
	const unmet = [...given.keys()].find((output) => !known.includes(output));
	if (unmet === undefined || errors.length === 0) return;
	const names = [...new Set(known)].map((name) => quoteName(name));
	throw usageError(
		`--limit: no calibrated output ${quoteName(unmet)} has a limit of relative L2.`,
		`Give that of one of: ${listNames(names)}.`,
	);
}

interface Calibration {
	result: Result;
	home: string;
	goldens: readonly CalibratedGolden[];
}

export interface CalibratedGolden {
	path: string;
	old: GoldenManifest;
	engines: readonly CalibratedErrors[];
}

export async function calibrateEngines(
	options: Omit<GateOptions, "adapt" | "head" | "base">,
	given: Omit<CalibrationRule, "backend">,
): Promise<Calibration> {
	const { result } = await gate({ ...options, adapt: onlyGoldens });
	const { cwd, inputs, workspace } = options;
	const { config, home } = await readConfigFile({
		cwd,
		path: options.config ?? "trtgate.yml",
		inputs,
		workspace,
	});
	const byPath = new Map<string, EngineSpec[]>();
	for (const spec of engineSpecs(config)) {
		const { golden } = spec.engine;
		if (golden !== undefined && verdictsOf(spec, result).length > 0)
			byPath.set(golden, [...(byPath.get(golden) ?? []), spec]);
	}
	const goldens: CalibratedGolden[] = [];
	for (const [path, specs] of byPath) {
		const old = await readManifest(join(home, path), path);
		if (old === null) continue;
		const engines = specs.map((spec) => {
			const errors = errorsOf(old, verdictsOf(spec, result));
			const about = { engine: spec.id, precision: spec.engine.precision, golden: old.goldenId, ...errors };
			// An engine that fails one case gives no evidence for any limit.
			const isUsable = about.faults.length === 0;
			const limits = isUsable ? proposeLimits(about, { ...given, backend: result.backend.kind }) : [];
			return { ...about, limits };
		});
		goldens.push({ path, old, engines });
	}
	return { result, home, goldens };
}

function verdictsOf({ model, engine }: EngineSpec, { golden }: Result) {
	return golden.filter((verdict) => verdict.model === model.name && verdict.engine === engine.name);
}

/** Nothing is timed or probed, there is no base, and earlier verdicts do not count. */
function onlyGoldens(config: Config): Config {
	const models = config.models.map((model) => ({
		...model,
		engines: model.engines.map((engine) => ({ ...engine, workloads: [] })),
		probes: { ...model.probes, when: "off" as const },
	}));
	return { ...config, models, baseline: { from: "base-ref" }, cache: { ...config.cache, verdicts: false } };
}

export async function writeCalibration(
	golden: CalibratedGolden,
	{ home, result }: Calibration,
	change: { reason: string; author: string },
): Promise<GoldenManifest | null> {
	const { kind: backend, version, device } = result.backend;
	const engines = golden.engines.flatMap(({ engine, precision, limits }) => {
		// An engine that is wrong in one output gives no evidence for another.
		const isWrong = limits.some(({ state }) => state === "refused");
		const usable = isWrong ? limits.filter(({ state }) => state === "given") : limits;
		const about = { engine, precision, backend, version, device, at: result.startedAt };
		return usable.length === 0 ? [] : [{ ...about, limits: usable }];
	});
	if (engines.length === 0) return null;
	const manifest = applyCalibration(golden.old, engines, change);
	if (isSameCalibration(golden.old, manifest)) return null;
	const path = join(home, golden.path);
	const files = fileStore();
	await files.makeFolder(dirname(path));
	await files.writeText(path, manifestText(manifest));
	return manifest;
}
