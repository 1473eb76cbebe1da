// The stages that use built engines.
import type { MeasureWhen } from "../../generated/config.ts";
import type { Comparison } from "../../generated/result.ts";
import { maxSizes } from "../core/compare/sweep.ts";
import type { WorkloadConfig } from "../core/config/config.ts";
import { absoluteGates } from "../core/config/gate-records.ts";
import { groupBy } from "../core/group.ts";
import { capitalize, listNames, present } from "../core/text/labels.ts";
import { bisect } from "../golden/stages/bisect.ts";
import { keepVerdicts, recallVerdicts } from "../golden/stages/kept-verdicts.ts";
import { probe } from "../golden/stages/probe.ts";
import { uncheckedNotes } from "../golden/stages/timed-sizes.ts";
import { type Verified, verify } from "../golden/stages/verify.ts";
import type { BuiltEngine } from "../ports/backend.ts";
import { count } from "../stages/count.ts";
import { soakEngines, timeStarts } from "../stages/lifetime.ts";
import { measureLoads } from "../stages/load.ts";
import { type MeasureInput, measure } from "../stages/measure.ts";
import { isDue, measureSiblings, siblingPairs } from "../stages/siblings.ts";
import { isSwept, measureSweeps } from "../stages/sweep.ts";
import { measureTogether } from "../stages/together.ts";
import { isIdentical, type TimedWorkload, timedWorkloads } from "../stages/workloads.ts";
import { computedLoads, recordedFacts } from "./conclude.ts";
import { type Found, type RunContext, stopIfInterrupted, unchangedMode } from "./run-context.ts";

export async function* verifyEngines(
	engines: readonly BuiltEngine[],
	{ input, seen, prepared, ports }: RunContext,
): AsyncGenerator<Found> {
	const { threads, timeoutMs } = input.config.measure;
	const verifying = {
		unusable: engines.flatMap(({ spec, arm }) => {
			const fault = arm === "head" ? prepared.goldenFaults.get(spec.id) : undefined;
			return fault === undefined ? [] : [{ spec, fault }];
		}),
		engines,
		threads,
		timeoutMs,
		goldens: prepared.goldens,
		outFolder: input.outFolder,
		modelSha256: new Map(
			prepared.models.flatMap((one) =>
				one.arm === "head" && one.state === "ready" && one.spec.engine.onnx === one.spec.model.onnx
					? [[one.spec.model.name, one.model.sha256] as const]
					: [],
			),
		),
		commands: {
			known: input.config.commands ?? [],
			cwd: input.arms.find(({ arm }) => arm === "head")?.path ?? "",
		},
	};
	const { keptVerdicts: kept } = ports;
	const { backend, environment } = seen();
	const conditions = { version: input.version, backend, environment };
	const takenOver =
		kept === undefined || unchangedMode(input) !== "skip"
			? []
			: await recallVerdicts(verifying, conditions, kept);
	if (takenOver.length > 0) {
		const names = listNames(takenOver.map(({ engineId, at }) => `${engineId} (${at.slice(0, 10)})`));
		yield {
			golden: takenOver.flatMap(({ verdicts }) => verdicts),
			notes: [
				`Golden verdicts reused from earlier runs with the same engine, golden, limits, machine and versions: ${names}. To verify them again, use run --fresh; in a workflow, cache: false.`,
			],
		};
	}
	const left = engines.filter(({ spec }) => !takenOver.some(({ engineId }) => engineId === spec.id));
	yield { notes: uncheckedNotes(engines, prepared.goldens) };
	const found: Verified[] = [];
	for await (const verified of verify({ ...verifying, engines: left }, ports)) {
		found.push(verified);
		yield verified.state === "judged" ? { golden: [verified.verdict] } : { errors: [verified.error] };
		stopIfInterrupted(ports);
	}
	if (kept !== undefined)
		await keepVerdicts(verifying, found, { facts: conditions, kept, at: ports.clock.timestamp() });
}

export async function* bisectGoldens(
	engines: readonly BuiltEngine[],
	{ input, seen, prepared, ports }: RunContext,
): AsyncGenerator<Found> {
	const { bisect: when, budgetMs } = input.config.explain;
	const { reference } = ports;
	if (reference === undefined || !(when === "on" || (when === "nightly" && input.isScheduled === true)))
		return;
	const { threads, timeoutMs, buildTimeoutMs } = input.config.measure;
	const { outFolder } = input;
	const limits = { threads, timeoutMs, buildTimeoutMs, budgetMs, outFolder };
	const searching = { ...limits, engines, goldens: prepared.goldens, verdicts: seen().golden };
	for await (const found of bisect(searching, { ...ports, reference })) yield { bisections: [found] };
}

export async function* probeEngines(
	engines: readonly BuiltEngine[],
	{ input, seen, prepared, ports }: RunContext,
): AsyncGenerator<Found> {
	const { threads, timeoutMs } = input.config.measure;
	const { outFolder, isScheduled = false } = input;
	const isTensorRt = seen().backend.kind === "tensorrt";
	const when = { isScheduled, isTensorRt };
	const probing = { engines, goldens: prepared.goldens, outFolder, threads, timeoutMs, ...when };
	for await (const probed of probe(probing, ports)) {
		yield probed.state === "judged" ? { probes: probed.results } : { errors: [probed.error] };
		stopIfInterrupted(ports);
	}
}

export function timingOf(engines: readonly BuiltEngine[], run: RunContext): MeasureInput {
	const { measure } = run.input.config;
	const workloads = timedWorkloads(run.prepared.plan, engines, run.seen().shapes);
	const siblings = run.seen().backend.kind === "tensorrt" ? siblingsOf(workloads, run).due : [];
	const timed = [...workloads, ...siblings.map((pair) => pair.timed)];
	const compared = timed
		.filter((one) => one.base && !isIdentical(one, measure))
		.reduce((sum, one) => sum + (isSwept(one) ? maxSizes : 1), 0);
	return {
		workloads,
		measure,
		family: Math.max(1, compared),
		noBase: (timed) => whyNoBase(timed, run),
		outFolder: run.input.outFolder,
	};
}

/** Unless the config or the night asks for all, only pairs that may show something new cost time on the GPU. */
function siblingsOf(workloads: readonly TimedWorkload[], { input }: RunContext) {
	const pairs = input.config.measure.looks.at(-1) ?? 0;
	const isAsked = unchangedMode(input) !== "skip";
	const single = workloads.filter((timed) => !isSwept(timed));
	const groups = groupBy(siblingPairs(single, { seed: input.seed, pairs }), (pair) => isAsked || isDue(pair));
	return { due: groups.get(true) ?? [], spared: groups.get(false) ?? [] };
}

export async function* timeWorkloads(timing: MeasureInput, run: RunContext): AsyncGenerator<Found> {
	const workloads = timing.workloads.filter((timed) => !isSwept(timed));
	yield* measure({ ...timing, workloads }, run.ports);
	yield* measureSweeps({ ...timing, seed: run.input.seed }, run.ports);
}

export async function* timeSiblings(timing: MeasureInput, run: RunContext): AsyncGenerator<Found> {
	const { due, spared } = siblingsOf(timing.workloads, run);
	const names = new Set(spared.map(({ timed, against }) => `${timed.workload.engineId} against ${against}`));
	const why =
		"Both engines are the base's, from the cache; nightly runs and unchanged-models: verify time them";
	if (names.size > 0) yield { notes: [`Payoff not timed: ${listNames([...names])}. ${why}.`] };
	yield* measureSiblings(due, timing, run.ports);
}

export async function* observeEngines(
	engines: readonly BuiltEngine[],
	timing: MeasureInput,
	{ input, seen, prepared, ports }: RunContext,
): AsyncGenerator<Found> {
	const { startUp, memoryGrowth, load } = timing.measure;
	const isDue = (when: MeasureWhen) =>
		when === "always" || (when === "nightly" && input.isScheduled === true);
	if (isDue(startUp)) yield* timeStarts(timing, ports);
	stopIfInterrupted(ports);
	if (isDue(memoryGrowth)) yield* soakEngines(engines, timing, ports);
	stopIfInterrupted(ports);
	if (!isDue(load.when) && !(load.when === "nightly" && input.isRelease === true)) return;
	yield* measureLoads({ ...timing, arrivals: prepared.arrivals, loads: computedLoads(seen()) }, ports);
	stopIfInterrupted(ports);
	yield* measureTogether(timing, ports);
}

function whyNoBase(
	{ workload }: TimedWorkload,
	{ input, prepared, seen }: RunContext,
): Pick<Comparison, "verdict" | "reason"> {
	if (input.noBase !== undefined) return { verdict: "missing", reason: `${capitalize(input.noBase)}.` };
	const { baseDiffers: difference, baseHoldsOtherSizes } = seen().shapes.get(workload.id) ?? {};
	if (baseHoldsOtherSizes) return { verdict: "missing", reason: `New: ${difference}.` };
	const notComparable = (reason: string) => ({ verdict: "not-comparable", reason }) as const;
	if (difference !== undefined) return notComparable(`The inputs differ: ${difference}.`);
	const base = prepared.models.find(({ arm, spec }) => arm === "base" && spec.id === workload.engineId);
	if (base?.state === "broken" && base.arm === "base") return notComparable(base.error.message);
	if (base?.state !== "missing") return notComparable("The base's engine could not be built.");
	if (base.isNew) return { verdict: "missing", reason: `New: ${base.reason}.` };
	const known =
		input.baseConfigFault === undefined
			? "The base's config has this engine, but"
			: "The base's config cannot be read, and";
	return notComparable(`${known} ${base.reason}.`);
}

export async function* countWorkloads(timing: MeasureInput, { ports }: RunContext): AsyncGenerator<Found> {
	const { workloads, measure: how } = timing;
	const has = (holds: (config: WorkloadConfig) => boolean) =>
		workloads.some(({ workload }) => holds(workload.config));
	const limits = absoluteGates.filter(
		({ key, level }) => level === "workload" && has(({ gates }) => gates[key] !== undefined),
	);
	const unused = present([
		...limits.map(({ name }) => name),
		has(({ gates }) => gates.slo !== undefined) && "slo",
		has(({ everyMs }) => everyMs !== undefined) && "every",
		has(({ streams }) => streams > 1) && "streams",
		workloads.some(({ head }) => head.spec.engine.against !== undefined) && "against",
		how.load.when !== "off" && "measure.load",
		how.startUp === "always" && "measure.start-up",
		how.memoryGrowth === "always" && "measure.memory-growth",
	]);
	const says = "ONNX Runtime's work is counted, and nothing is timed";
	yield {
		notes: [
			...unused.map((name) => `${name} has no effect: ${says}.`),
			...(has(({ sweep }) => sweep !== undefined) ? ["Of a sweep, only the largest size is counted."] : []),
		],
	};
	yield* count(timing, ports);
}

/** A single bad night must raise no alarm. */
export async function* measureAgain(timing: MeasureInput, run: RunContext): AsyncGenerator<Found> {
	const due = (await run.input.suspects?.(recordedFacts(run.seen(), run.input))) ?? [];
	const workloads = timing.workloads.filter((timed) => !isSwept(timed) && due.includes(timed.workload.id));
	if (workloads.length === 0) return;
	const again = {
		...timing,
		workloads,
		measure: { ...timing.measure, looks: timing.measure.looks.slice(-1) },
		outFolder: `${timing.outFolder}/fresh`,
	};
	for await (const {
		rows: [row],
	} of measure(again, run.ports))
		yield {
			rows: run.seen().rows.flatMap((one) => (one.id === row.id ? [{ ...one, fresh: row.latency }] : [])),
		};
}
