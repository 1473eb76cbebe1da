// What a night measures beside its pairs against the pin: links and a control, and commits between two nights by bisection.
import { join } from "node:path";
import type { HistoryRow } from "../../../generated/history.ts";
import type { Result } from "../../../generated/result.ts";
import { openHistory } from "../../adapters/git/history.ts";
import type { Git } from "../../adapters/git/run-git.ts";
import type { Config } from "../../core/config/config.ts";
import {
	beginBisection,
	type Doubt,
	describeBisection,
	isAfter,
	narrowed,
	nextCommit,
} from "../../core/history/bisect.ts";
import { subjectOf } from "../../core/history/judge-trend.ts";
import { comparedOf } from "../../core/stats/summary.ts";
import { type HistoryWatch, pinRows } from "./history-watch.ts";

/** A run of its own in the same job, of one commit against another. */
export interface SideRun {
	base: string;
	head: string;
	out: string;
	adapt(config: Config): Config;
}

export interface Night {
	config: Config;
	outFolder: string;
	git: Git;
	watching: HistoryWatch;
	/** null: it was only planned. */
	run(side: SideRun): Promise<Result | null>;
}

export async function concludeNight(ran: Result, night: Night): Promise<Result> {
	const kept = await night.watching.keep(ran, await measurePins(ran, night));
	const doubt = night.watching.doubt();
	return doubt === null ? kept : bisect(kept, doubt, night);
}

function sideRun(side: SideRun, { outFolder, run }: Night): Promise<Result | null> {
	const quiet = (own: Config): Config =>
		side.adapt({
			...own,
			history: undefined,
			profile: { nsys: "never", ncu: "never" },
			measure: { ...own.measure, soakMs: 0 },
		});
	return run({ ...side, out: join(outFolder, side.out), adapt: quiet });
}

/** So many times the pairs of a night: the error of a link stays in the chain. */
const linkTimes = 3;

/**
 * With a pin as the base: the old pin against the new one where it moved, so that levels chain, and the pin against itself on one
 * workload, whose alarms are false by construction.
 */
async function measurePins(ran: Result, night: Night): Promise<HistoryRow[]> {
	const pin = ran.arms.base?.commit;
	if (night.config.baseline.from !== "pin" || pin === undefined || ran.partial !== undefined) return [];
	const measure = async (
		kind: "link" | "control",
		base: string,
		adapt: (config: Config) => Config,
	): Promise<HistoryRow[]> => {
		// On one TensorRT: only the pairs of the night compare two.
		const result = await sideRun(
			{ base, head: pin, out: kind, adapt: ({ base: _, ...own }) => adapt(own) },
			night,
		);
		return result === null ? [] : pinRows(result, kind);
	};
	const old = await night.watching.oldPin(ran).catch(() => null);
	const links =
		old === null
			? []
			: await measure("link", old, (own) => ({
					...own,
					measure: { ...own.measure, looks: [linkTimes * Math.max(...own.measure.looks)] },
				}));
	const itself = { unchangedModels: "verify", identicalEngines: "measure" } as const;
	return [
		...links,
		...(await measure("control", pin, (own) => ({
			...oneWorkload(own),
			measure: { ...own.measure, ...itself },
		}))),
	];
}

/** The workload with this id, or the first of the config. */
function oneWorkload(config: Config, id?: string): Config {
	const wanted = id === undefined ? null : subjectOf(id);
	for (const model of config.models) {
		for (const engine of model.engines) {
			const isWanted = wanted === null || (model.name === wanted.model && engine.name === wanted.engine);
			const workload = engine.workloads.find(({ name }) => wanted === null || name === wanted.workload);
			if (isWanted && workload !== undefined)
				return { ...config, models: [{ ...model, engines: [{ ...engine, workloads: [workload] }] }] };
		}
	}
	return config;
}

/** Builds commits between the last good night and the first bad one and measures each against the same pin, within the budget of builds. */
async function bisect(kept: Result, doubt: Doubt, night: Night): Promise<Result> {
	const budget = night.config.history?.bisect?.builds ?? 0;
	const pin = kept.arms.base?.commit;
	const level = levelOf(kept, doubt.series);
	if (budget === 0 || pin === undefined || level === null) return kept;
	const commits = await (await openHistory(night.git)).between(doubt.good, doubt.bad);
	if (commits.length < 2) return kept;
	let state = beginBisection(commits, budget);
	let builds = 0;
	for (let head = nextCommit(state); head !== null; head = nextCommit(state)) {
		builds += 1;
		const side = {
			base: pin,
			head,
			out: `bisect-${builds}`,
			adapt: (own: Config) => withoutGolden(oneWorkload(own, doubt.series)),
		};
		const result = await sideRun(side, night);
		const found = result === null ? null : levelOf(result, doubt.series);
		state = narrowed(state, found === null ? null : isAfter(found, { level, size: doubt.size }));
	}
	const sentence = describeBisection(state, builds);
	const { model, engine } = subjectOf(doubt.series);
	const gates = kept.gates.map((gate) =>
		gate.gate === "trend" && gate.model === model && gate.engine === engine
			? { ...gate, message: `${gate.message} ${sentence}` }
			: gate,
	);
	return { ...kept, gates };
}

/** Only the time is in question. */
function withoutGolden(config: Config): Config {
	const models = config.models.map((model) => ({
		...model,
		engines: model.engines.map(({ golden: _golden, ...engine }) => engine),
	}));
	return { ...config, models };
}

function levelOf({ workloads }: Result, series: string): number | null {
	const row = workloads.find(({ id }) => id === series);
	const estimate = row?.fresh?.estimate ?? (row && comparedOf(row).estimate) ?? null;
	return estimate === null ? null : Math.log1p(estimate);
}
