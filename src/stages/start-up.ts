// Starts fresh processes of base and head in pairs, and times each to its first inference.
import type { Arm, Comparison, ErrorRecord, StartUpResult } from "../../generated/result.ts";
import type { Pair } from "../core/compare/pairs.ts";
import { type Start, summarizeStarts, totalMs } from "../core/compare/start-up.ts";
import { judgePairs, shouldStop, unknownChange } from "../core/compare/verdict.ts";
import { folderName } from "../core/config/identity.ts";
import { recordFault } from "../core/errors.ts";
import { fillInput } from "../core/fill.ts";
import { runsWithoutBase } from "../core/plan/plan.ts";
import { counted } from "../core/text/labels.ts";
import type { Backend, ObserveResult, TimedInput, WorkerMode } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";
import type { MeasureInput } from "./measure.ts";
import { engineOf, inputsOf } from "./time-pair.ts";
import { identicalEngines, isIdentical, type TimedWorkload } from "./workloads.ts";

export type ObservePorts = Pick<Ports, "progress" | "interrupt"> & { backend: Pick<Backend, "observe"> };

export interface StartsFound {
	startUps?: readonly StartUpResult[];
	errors?: readonly ErrorRecord[];
	notes?: readonly string[];
}

/** Timed again after the first, to see when a run's time is steady. */
const runs = 20;
const coldStarts = 3;

/** At the first workload of each engine. */
export async function* timeStarts(input: MeasureInput, ports: ObservePorts): AsyncGenerator<StartsFound> {
	const all = input.workloads;
	const firsts = all.filter(({ workload }, at) => engineAt(all, workload.engineId) === at);
	ports.progress.stage("start-up", firsts.length);
	for (const timed of firsts) {
		ports.progress.item(timed.workload.engineId);
		const found = await startEngine(timed, { ...input, workloads: firsts }, ports);
		if (found.startUps !== undefined || found.errors !== undefined) yield found;
		else return yield found;
	}
	ports.progress.done(counted(firsts.length, "engine"));
}

function engineAt(all: readonly TimedWorkload[], id: string): number {
	return all.findIndex(({ workload }) => workload.engineId === id);
}

class Stopped extends Error {
	readonly result: Exclude<ObserveResult, { state: "done" }>;
	constructor(result: Stopped["result"]) {
		super(result.state);
		this.result = result;
	}
}

async function startEngine(
	timed: TimedWorkload,
	input: MeasureInput,
	ports: ObservePorts,
): Promise<StartsFound> {
	const { model, engine } = timed.head.spec;
	const subject = { model: model.name, engine: engine.name };
	const of = (comparison: Comparison, own: Pick<StartUpResult, "base" | "head">): StartsFound => ({
		startUps: [{ ...subject, comparison, ...own }],
	});
	const { warn, fail } = engine.gates.startUp;
	const options = {
		minimalEffect: warn ?? fail ?? 0.1,
		looks: input.measure.looks,
		share: 1 / Math.max(1, input.workloads.filter(({ base }) => base).length),
	};
	const nothing = judgePairs([], options);
	if (isIdentical(timed, input.measure))
		return of({ ...nothing, ...identicalEngines(timed, "timed") }, { base: null, head: null });
	try {
		const { warm, cold, comparison } = await startPairs(timed, options, { input, ports });
		const stats = (arm: Arm) => summarizeStarts(warm[arm], cold[arm]);
		return of(timed.base ? comparison : { ...nothing, ...input.noBase(timed) }, {
			base: stats("base"),
			head: stats("head"),
		});
	} catch (error) {
		if (!(error instanceof Stopped)) throw error;
		const { result } = error;
		if (result.state === "absent") return { notes: [`Start-up was not timed: ${result.reason}.`] };
		const record = recordFault(result.failure, subject);
		const unknown = {
			...nothing,
			...unknownChange,
			verdict: "not-comparable",
			reason: record.message,
		} as const;
		return { ...of(unknown, { base: null, head: null }), errors: [record] };
	}
}

type Starts = Record<Arm, Start[]>;

/** The first pair warms the page cache and does not count. @throws Stopped. */
async function startPairs(
	timed: TimedWorkload,
	options: Parameters<typeof judgePairs>[1] & { looks: readonly number[] },
	{ input, ports }: { input: MeasureInput; ports: ObservePorts },
): Promise<{ warm: Starts; cold: Starts; comparison: Comparison }> {
	const looks = timed.base ? options.looks : [runsWithoutBase];
	const [warm, cold]: [Starts, Starts] = [
		{ base: [], head: [] },
		{ base: [], head: [] },
	];
	let comparison = judgePairs([], options);
	const both = async (first: Arm | undefined, mode: WorkerMode): Promise<Pair> => {
		const times: Pair = { base: Number.NaN, head: Number.NaN };
		const arms: Arm[] = !timed.base ? ["head"] : first === "head" ? ["head", "base"] : ["base", "head"];
		for (const arm of arms) {
			const start = await startOnce(timed, { arm, mode }, { input, ports });
			if (mode === "warm" || start.cold) (mode === "warm" ? warm : cold)[arm].push(start);
			times[arm] = totalMs(start);
		}
		return times;
	};
	await both("base", "warm");
	for (const arm of ["base", "head"] as const) warm[arm] = [];
	const pairs: Pair[] = [];
	for (const first of timed.firstArms.slice(0, looks.at(-1))) {
		if (ports.interrupt.reason() !== null) break;
		ports.progress.detail(`start ${pairs.length + 1} of ${looks.find((look) => look > pairs.length)}`);
		pairs.push(await both(first, "warm"));
		if (!timed.base || !looks.includes(pairs.length)) continue;
		comparison = judgePairs(pairs, options);
		if (shouldStop(comparison)) break;
	}
	for (let start = 0; start < coldStarts && cold.head.length === start; start += 1)
		await both("base", "cold");
	return { warm, cold, comparison };
}

async function startOnce(
	timed: TimedWorkload,
	{ arm, mode }: { arm: Arm; mode: WorkerMode },
	{ input, ports }: { input: MeasureInput; ports: ObservePorts },
): Promise<Start & { cold: boolean }> {
	const name = `start-up-${folderName(timed.workload.engineId)}-${arm}`;
	const result = (await ports.backend.observe?.({
		engine: engineOf(timed, arm),
		mode,
		cases: [{ id: "start", inputs: tensorsOf(inputsOf(timed, arm)), runs }],
		timeoutMs: input.measure.timeoutMs,
		logPath: `${input.outFolder}/logs/${name}.log`,
	})) ?? { state: "absent", reason: "only TensorRT is observed" };
	if (result.state !== "done") throw new Stopped(result);
	const [start] = result.figures;
	if (start?.kind !== "start-up") throw new Stopped({ state: "absent", reason: "the worker gave no times" });
	return start;
}

export function tensorsOf(inputs: readonly TimedInput[]) {
	return Object.fromEntries(
		inputs.map((input, at) => {
			const { name, dtype, shape } = input;
			return [name, { dtype, shape, data: fillInput(input, 1, at) }];
		}),
	);
}
