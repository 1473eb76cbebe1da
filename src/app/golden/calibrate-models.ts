// Calibrates the goldens of a config's models on this runner's engines, for a pull request.

import { join } from "node:path";
import type { ErrorRecord, Result } from "../../../generated/result.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { inNewFolder } from "../../adapters/process/write-error.ts";
import { ConfigError, ToolError } from "../../core/errors.ts";
import { renderCalibration } from "../../core/golden/calibrate/propose-limits.ts";
import { defaultMultiple } from "../commands/golden-tables.ts";
import { readConfigFile } from "../config-file.ts";
import { stopOnSignals } from "../signals.ts";
import { progressFor } from "../terminal.ts";
import type { GoldenJob } from "./action-job.ts";
import {
	type CalibratedGolden,
	type Calibration,
	calibrateEngines,
	writeCalibration,
} from "./calibrate-engines.ts";
import type { RecordedGoldens } from "./propose-goldens.ts";
import {
	chooseTargets,
	type GoldenTarget,
	keepOld,
	type RecordedModel,
	reviewTarget,
} from "./record-models.ts";

/** An engine that fails does not stop the others. */
export async function calibrateModels(job: GoldenJob): Promise<RecordedGoldens> {
	const { terminal, inputs } = job;
	const { config, home } = await readConfigFile({
		cwd: terminal.cwd,
		path: inputs.config,
		workspace: terminal.cwd,
	});
	const targets = chooseTargets(config, inputs.model);
	return inNewFolder(
		"trtgate-calibration-",
		async (scratchFolder) => {
			const before = join(scratchFolder, "before");
			for (const target of targets) await keepOld(target, { home, before });
			const calibration = await calibrate(targets, job, join(scratchFolder, "out"));
			const { goldens, result } = calibration;
			terminal.out(
				renderCalibration(
					goldens.flatMap(({ engines }) => engines),
					result.backend,
				),
			);
			const recorded: RecordedModel[] = [];
			for (const target of targets) recorded.push(...(await writeOne(target, { job, calibration, before })));
			return { home, recorded, errors: errorsOf(result), notes: goldens.flatMap(notesOf) };
		},
		terminal.environment.temp,
	);
}

function calibrate(
	targets: readonly GoldenTarget[],
	{ terminal, inputs }: GoldenJob,
	out: string,
): Promise<Calibration> {
	const options = {
		...{ cwd: terminal.cwd, workspace: terminal.cwd, config: inputs.config, out, inputs: {} },
		only: targets.map(({ model }) => model.name).join("\n"),
		environment: terminal.environment,
		progress: progressFor(terminal, { quiet: false }),
		onStart: (stop: (reason: string) => void) => void stopOnSignals(stop),
	};
	return calibrateEngines(options, { multiple: defaultMultiple, given: new Map() });
}

interface Writing {
	job: GoldenJob;
	calibration: Calibration;
	before: string;
}

async function writeOne(
	target: GoldenTarget,
	{ job, calibration, before }: Writing,
): Promise<RecordedModel[]> {
	const golden = calibration.goldens.find(({ path }) => path === target.path);
	if (golden === undefined) return [];
	const change = { reason: job.inputs.reason, author: job.author };
	const manifest = await writeCalibration(golden, calibration, { change, files: fileStore() });
	if (manifest === null)
		return [{ ...target, state: "same", manifest: golden.old, old: golden.old, change: null }];
	const [reviewed = null] = await reviewTarget({ target, manifest, home: calibration.home, before });
	return [{ ...target, state: "written", manifest, old: golden.old, change: reviewed }];
}

function notesOf({ engines }: CalibratedGolden): string[] {
	return engines.flatMap(({ engine, faults, limits }) => [
		...faults.map((fault) => `${engine} was not calibrated: ${fault}`),
		...limits.flatMap(({ state, errors, why }) =>
			state === "refused" ? [`${engine} sets no limit: ${errors.output}: ${why}`] : [],
		),
	]);
}

/** What kept engines from being built or run. */
function errorsOf({ errors, builds }: Result): Error[] {
	const failed = builds.flatMap(({ model, engine, failure }) =>
		failure === undefined || failure.kind === "runner"
			? []
			: [`${model}/${engine} was not built: ${failure.title} ${failure.fix}`],
	);
	return [
		...errors.map(asError),
		...failed.map((message) => new ConfigError({ code: "model-unreadable", message })),
	];
}

function asError({ kind, message, fix }: ErrorRecord): Error {
	return kind === "runner"
		? new ToolError({ code: "tool-crashed", message, fix })
		: new ConfigError({ code: "config-value", message, fix });
}
