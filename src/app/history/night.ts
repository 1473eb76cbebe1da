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

/** Measures latency alone, and keeps nothing in the history. */
function sideRun({ adapt, out, ...side }: SideRun, { outFolder, run }: Night): Promise<Result | null> {
	const quiet = (own: Config): Config =>
		adapt({
			...own,
			history: undefined,
			profile: { nsys: "never", ncu: "never" },
		});
	return run({ ...side, out: join(outFolder, out), adapt: quiet });
}

/** A link takes so many times the pairs of a night: its error stays in the chain. */
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
		settings: (config: Config) => Partial<Config["measure"]>,
	): Promise<HistoryRow[]> => {
		// On one TensorRT: only the pairs of the night compare two.
		const adapt = ({ base: _, ...own }: Config): Config => ({
			...(kind === "control" ? oneWorkload(own) : own),
			measure: { ...own.measure, ...settings(own) },
		});
		const result = await sideRun({ base, head: pin, out: kind, adapt }, night);
		return result === null ? [] : pinRows(result, kind);
	};
	const old = await night.watching.oldPin(ran).catch(() => null);
	const links =
		old === null
			? []
			: await measure("link", old, (own) => ({ looks: [linkTimes * Math.max(...own.measure.looks)] }));
	const control = await measure("control", pin, () => ({
		unchangedModels: "verify",
		identicalEngines: "measure",
	}));
	return [...links, ...control];
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
async function bisect(kept: Result, { series, size, good, bad }: Doubt, night: Night): Promise<Result> {
	const budget = night.config.history?.bisect?.builds ?? 0;
	const pin = kept.arms.base?.commit;
	const level = levelOf(kept, series);
	if (budget === 0 || pin === undefined || level === null) return kept;
	const commits = await (await openHistory(night.git)).between(good, bad);
	if (commits.length < 2) return kept;
	const adapt = (own: Config): Config => withoutGolden(oneWorkload(own, series));
	let state = beginBisection(commits, budget);
	let builds = 0;
	for (let head = nextCommit(state); head !== null; head = nextCommit(state)) {
		builds += 1;
		const result = await sideRun({ base: pin, head, out: `bisect-${builds}`, adapt }, night);
		const found = result === null ? null : levelOf(result, series);
		state = narrowed(state, found === null ? null : isAfter(found, { level, size }));
	}
	const { model, engine } = subjectOf(series);
	const gates = kept.gates.map((gate) =>
		gate.gate === "trend" && gate.model === model && gate.engine === engine
			? { ...gate, message: `${gate.message} ${describeBisection(state, builds)}` }
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
