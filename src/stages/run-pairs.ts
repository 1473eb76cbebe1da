// Runs processes in pairs until all comparisons are decided, and repeats pairs that do not count.
import type { Arm, Comparison } from "../../generated/result.ts";
import { shouldStop } from "../core/compare/verdict.ts";
import { runsWithoutBase } from "../core/plan/plan.ts";
import { judgeValidity } from "../core/telemetry/conditions.ts";
import { counted } from "../core/text/labels.ts";
import type { Ports } from "../ports/ports.ts";
import type { ToolFailure } from "../ports/world.ts";
import type { LifetimePorts } from "./lifetime.ts";
import { armsOf, replacementCap, unstable } from "./time-pair.ts";

export interface Paired {
	arm: Arm;
	pair: number;
}

interface Work<Run> {
	looks: readonly number[];
	firstArms: readonly Arm[];
	isCompared: boolean;
	run(at: Paired): Promise<Run>;
	judge(runs: readonly Run[]): readonly { comparison: Comparison }[];
	/** Why a run does not count, apart from its GPU's conditions. */
	fault?(run: Run): string | null;
}

interface Ran<Run> {
	runs: readonly Run[];
	repeated: readonly string[];
	/** Too many were: there are no runs. */
	failure?: ToolFailure;
}

export type WatchedPorts = LifetimePorts & Pick<Ports, "clock" | "telemetry">;

export async function runPairs<Run extends Paired>(work: Work<Run>, ports: WatchedPorts): Promise<Ran<Run>> {
	await ports.telemetry.start();
	try {
		return await runWatched(work, ports);
	} finally {
		await ports.telemetry.stop();
	}
}

interface Watched<Run> {
	run: Run;
	fromMs: number;
	toMs: number;
}

async function runWatched<Run extends Paired>(work: Work<Run>, ports: WatchedPorts) {
	const { looks, isCompared, judge } = work;
	const most = (isCompared ? looks.at(-1) : runsWithoutBase) ?? 0;
	const left = new Set(Array.from({ length: most }, (_, pair) => pair));
	const repeated: string[] = [];
	let watched: Watched<Run>[] = [];
	while (left.size > 0 && ports.interrupt.reason() === null) {
		const pair = Math.min(...left);
		ports.progress.detail(`pair ${pair + 1} of ${looks.find((look) => look > pair) ?? most}`);
		watched.push(...(await runPair(work, pair, ports)));
		left.delete(pair);
		const invalid = invalidPairs(watched, work, ports);
		watched = watched.filter(({ run }) => !invalid.has(run.pair));
		for (const [again, reason] of invalid) {
			if (repeated.length === replacementCap) return { runs: [], repeated, failure: unstable(reason) };
			repeated.push(reason);
			left.add(again);
		}
		const runs = watched.map(({ run }) => run);
		const isLook = isCompared && invalid.size === 0 && looks.includes(runs.length / 2);
		if (isLook && judge(runs).every(({ comparison }) => shouldStop(comparison))) break;
	}
	return { runs: watched.map(({ run }) => run), repeated };
}

export function repeatedNotes(what: string, repeated: readonly string[]): string[] {
	const last = repeated.at(-1);
	return last === undefined
		? []
		: [`${what}: ${counted(repeated.length, "pair")} repeated, the last because ${last}.`];
}

async function runPair<Run>(
	{ isCompared, firstArms, run }: Work<Run>,
	pair: number,
	{ clock }: WatchedPorts,
) {
	const ran: Watched<Run>[] = [];
	for (const arm of armsOf(isCompared, firstArms[pair])) {
		const fromMs = clock.now();
		ran.push({ fromMs, run: await run({ arm, pair }), toMs: clock.now() });
	}
	return ran;
}

/** Reasons by pair. Readings arrive up to a second late, so all runs are judged again. */
function invalidPairs<Run extends Paired>(
	watched: readonly Watched<Run>[],
	{ fault }: Work<Run>,
	{ telemetry }: WatchedPorts,
) {
	const reasons = watched.flatMap(({ run, fromMs, toMs }) => {
		const gpu = telemetry.window(fromMs, toMs);
		// A process also loads and waits, so its mean clock and share of computing say nothing.
		const window = gpu && { ...gpu, smClockMhz: null };
		const foreignProcesses = telemetry.foreignProcesses(fromMs, toMs);
		const validity = judgeValidity({ window, computeShare: null, foreignProcesses }, []);
		const reason = validity.state === "invalid" ? validity.reason : (fault?.(run) ?? null);
		return reason === null ? [] : [[run.pair, reason] as const];
	});
	return new Map(reasons);
}
