// Starts processes of base and head in pairs, and lets processes of the head run for long: TensorRT only.
import type { Arm, Comparison, Result } from "../../generated/result.ts";
import {
	growthState,
	growthText,
	judgeGrowth,
	judgeStarts,
	type Start,
	summarizeStarts,
	type WorkerFigures,
} from "../core/compare/lifetime.ts";
import { shouldStop } from "../core/compare/verdict.ts";
import { folderName } from "../core/config/identity.ts";
import { recordError, ToolError } from "../core/errors.ts";
import { fillInput } from "../core/fill.ts";
import { resolveShapes } from "../core/onnx/input-shapes/search.ts";
import { runsWithoutBase } from "../core/plan/plan.ts";
import { counted } from "../core/text/labels.ts";
import { timedInputsOf } from "../core/timed-inputs.ts";
import { sizesAt } from "../golden/core/probes/subject.ts";
import { tensorBytes } from "../golden/core/tensor/tensor.ts";
import type { Backend, BuiltEngine, InferJob, TimedInput } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";
import type { MeasureInput } from "./measure.ts";
import { armsOf, engineOf, inputsOf } from "./time-pair.ts";
import { identicalEngines, isIdentical, type TimedWorkload } from "./workloads.ts";

export type LifetimePorts = Pick<Ports, "progress" | "interrupt"> & { backend: Pick<Backend, "infer"> };

export type LifetimeFound = Partial<
	Pick<Result, "startUps" | "memoryGrowths" | "measuredLoads" | "together" | "errors" | "notes">
>;

export type Observe = (
	job: Pick<InferJob, "engine" | "beside" | "mode" | "cases">,
) => Promise<readonly WorkerFigures[]>;

/** A fault ends the engine's turn; without a worker, all engines are left out. */
export async function* eachOf<Item extends { head: BuiltEngine }>(
	what: string,
	items: readonly Item[],
	work: (item: Item, observe: Observe) => Promise<LifetimeFound>,
	{ input, ports }: { input: MeasureInput; ports: LifetimePorts },
): AsyncGenerator<LifetimeFound> {
	if (items.length === 0) return;
	ports.progress.stage(what, items.length);
	const { measure, outFolder } = input;
	const observe: Observe = async (job) => {
		const { id } = job.engine.spec;
		const logPath = `${outFolder}/logs/${what}-${folderName(id)}-${job.engine.arm}.log`;
		const result = await ports.backend.infer({ ...job, ...measure, scratchFolder: outFolder, logPath });
		if (result.state === "failed") throw new ToolError(result.failure);
		const asked = result.cases.filter((_, at) => {
			const { runs: isTimed, soak, load, atOnceMs } = job.cases[at] ?? {};
			return isTimed ?? soak ?? load ?? atOnceMs;
		});
		return asked.map((one) => {
			if ("figures" in one && one.figures !== undefined) return one.figures;
			const why = "message" in one ? one.message : "it gave no figures";
			throw new ToolError({ code: "tool-output", message: `The engine did not run: ${why}.`, log: logPath });
		});
	};
	for (const item of items) {
		const { id, model, engine } = item.head.spec;
		ports.progress.item(id);
		try {
			yield await work(item, observe);
		} catch (error) {
			const fault = recordError(error);
			if (fault.code === "tool-missing" || ports.interrupt.reason() !== null) return;
			yield { errors: [{ ...fault, model: model.name, engine: engine.name }] };
		}
	}
	ports.progress.done(counted(items.length, "engine"));
}

/** At the first workload of each engine. */
export function timeStarts(input: MeasureInput, ports: LifetimePorts): AsyncGenerator<LifetimeFound> {
	const first = new Map([...input.workloads].reverse().map((one) => [one.workload.engineId, one]));
	const family = Math.max(1, [...first.values()].filter(({ base }) => base).length);
	const work = async (timed: TimedWorkload, observe: Observe) => {
		const { model, engine } = timed.head.spec;
		const { looks } = input.measure;
		const { warn, fail = 0.1 } = engine.gates.startUp;
		const options = { minimalEffect: warn ?? fail, looks, share: 1 / family };
		const judge = (starts: Starts) => judgeStarts(starts, options);
		const isSame = isIdentical(timed, input.measure);
		const starts: Starts = isSame ? { base: [], head: [] } : await startPairs(timed, looks, [observe, judge]);
		const known = isSame ? identicalEngines(timed, "timed") : timed.base ? {} : input.noBase(timed);
		const [base, head] = [summarizeStarts(starts.base), summarizeStarts(starts.head)];
		const comparison = { ...judge(starts), ...known };
		return { startUps: [{ model: model.name, engine: engine.name, comparison, base, head }] };
	};
	return eachOf("start-up", [...first.values()].reverse(), work, { input, ports });
}

type Starts = Record<Arm, Start[]>;

/** After the first, to see when the time of a run is steady. */
const runs = 20;
const coldStarts = 3;

/** The first pair fills the page cache and does not count. */
async function startPairs(
	timed: TimedWorkload,
	looks: readonly number[],
	[observe, judge]: readonly [Observe, judge: (starts: Starts) => Comparison],
) {
	const starts: Starts = { base: [], head: [] };
	const arms = armsOf(timed.base !== undefined);
	const startAll = async (order: readonly Arm[], mode: "warm" | "cold") => {
		for (const arm of order) {
			const cases = [{ id: "start", inputs: tensorsOf(inputsOf(timed, arm)), runs }];
			const [start] = await observe({ engine: engineOf(timed, arm), mode, cases });
			if (start && "parts" in start && start.cold === (mode === "cold")) starts[arm].push(start);
		}
	};
	await startAll(arms, "warm");
	for (const arm of arms) starts[arm] = [];
	const most = timed.base ? looks.at(-1) : runsWithoutBase;
	for (const [pair, first] of timed.firstArms.slice(0, most).entries()) {
		await startAll(armsOf(timed.base !== undefined, first), "warm");
		if (timed.base && looks.includes(pair + 1) && shouldStop(judge(starts))) break;
	}
	for (let count = 0; count < coldStarts; count += 1) {
		await startAll(arms, "cold");
		if (!starts.head.at(-1)?.cold) break;
	}
	return starts;
}

export function tensorsOf(inputs: readonly TimedInput[]) {
	return Object.fromEntries(
		inputs.map((input, at) => [input.name, { ...input, data: fillInput(input, 1, at) }] as const),
	);
}

/** Of the head, unless the base shares them. */
export function soakEngines(
	engines: readonly BuiltEngine[],
	input: MeasureInput,
	ports: LifetimePorts,
): AsyncGenerator<LifetimeFound> {
	const heads = engines.filter(({ arm, record }) => arm === "head" && record.sharedWithBase !== true);
	const items = heads.map((head) => ({ head }));
	const budgetMs = Math.min(60_000, Math.floor(input.measure.timeoutMs / 10));
	const work = async ({ head }: { head: BuiltEngine }, observe: Observe) => {
		const { model, engine } = head.spec;
		const limit = engine.gates.memoryGrowth;
		const shapes = casesOf(head);
		const asked = soaks
			.filter(({ phase }) => shapes.length > 1 || phase !== "shape-changes")
			.map((one) => ({ id: one.phase, inputs: {}, soak: { ...one, budgetMs } }));
		const found = await observe({ engine: head, mode: "soak", cases: [...shapes, ...asked] });
		const phases = found.flatMap((one) => ("phase" in one ? (judgeGrowth(one, limit) ?? []) : []));
		const growth = { state: growthState(phases), message: growthText(phases, limit), phases };
		return { memoryGrowths: [{ model: model.name, engine: engine.name, ...growth }] };
	};
	return eachOf("memory-growth", items, work, { input, ports });
}

/** A reload takes as long as hundreds of runs. */
const soaks = [
	{ phase: "same-shape", steps: 4096, samples: 120 },
	{ phase: "shape-changes", steps: 4096, samples: 120 },
	{ phase: "reloads", steps: 48, samples: 24 },
] as const;

/** At the optimum and the ends of the first profile, without sizes whose inputs take more than 64 MiB. */
function casesOf({ spec, model }: BuiltEngine) {
	const { inputs } = spec.model;
	const inputsAt = timedInputsOf(model.onnx, inputs);
	const [profile = {}] = spec.engine.profiles;
	const sized = (["opt", "min", "max"] as const).map((point) => {
		const dims = { ...spec.engine.workloads[0]?.dims, ...Object.fromEntries(sizesAt(profile, point)) };
		const tensors = inputsAt(resolveShapes(model.onnx, { dims, inputs }));
		return [JSON.stringify(tensors.map(({ shape }) => shape)), tensors] as const;
	});
	return [...new Map(sized)].flatMap(([id, tensors]) => {
		const bytes = tensors.reduce((sum, tensor) => sum + tensorBytes(tensor), 0);
		return bytes > 64 * 2 ** 20 ? [] : [{ id, inputs: tensorsOf(tensors) }];
	});
}
