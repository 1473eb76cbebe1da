// Calibrates the goldens of a config's models on this runner's engines, for a pull request.

import { join } from "node:path";
import type { Result } from "../../../generated/result.ts";
import { inNewFolder } from "../../adapters/process/write-error.ts";
import { ConfigError, ToolError } from "../../core/errors.ts";
import { renderCalibration } from "../../core/golden/calibrate/propose-limits.ts";
import { defaultMultiple } from "../commands/golden-tables.ts";
import { readConfigFile } from "../config-file.ts";
import { stopOnSignals } from "../signals.ts";
import { progressFor } from "../terminal.ts";
import type { GoldenJob } from "./action-job.ts";
import { type CalibratedGolden, calibrateEngines, writeCalibration } from "./calibrate.ts";
import type { RecordedGoldens } from "./propose-goldens.ts";
import { chooseTargets, keepOld, type RecordedModel, reviewTarget } from "./record-models.ts";

export async function calibrateModels({ terminal, inputs, author }: GoldenJob): Promise<RecordedGoldens> {
	const { cwd, environment } = terminal;
	const { config, home } = await readConfigFile({ cwd, path: inputs.config, workspace: cwd });
	const targets = chooseTargets(config, inputs.model);
	const work = async (scratchFolder: string): Promise<RecordedGoldens> => {
		const before = join(scratchFolder, "before");
		for (const target of targets) await keepOld(target, { home, before });
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
			if (manifest === null) {
				recorded.push({ ...target, state: "same", manifest: old, old, change: null });
				continue;
			}
			const [change = null] = await reviewTarget(target, manifest, { home, before });
			recorded.push({ ...target, state: "written", manifest, old, change });
		}
		return { home, recorded, errors: errorsOf(result), notes: goldens.flatMap(notesOf) };
	};
	return inNewFolder("trtgate-calibration-", work, environment.temp);
}

function notesOf({ engines }: CalibratedGolden): string[] {
	return engines.flatMap(({ engine, faults, limits }) => [
		...faults.map((fault) => `${engine} was not calibrated: ${fault}`),
		...limits
			.filter(({ state }) => state === "refused")
			.map(({ errors, why }) => `${engine} sets no limit: ${errors.output}: ${why}`),
	]);
}

function errorsOf({ errors, builds }: Result): Error[] {
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
