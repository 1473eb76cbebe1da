// Runs two engines at once in one process, base and head in pairs of processes: TensorRT only.
import type { Arm, Comparison } from "../../generated/result.ts";
import { type JudgeOptions, judgePairs } from "../core/compare/verdict.ts";
import { ToolError } from "../core/errors.ts";
import type { TogetherRun } from "../core/load/measured.ts";
import { median } from "../core/stats/quantile.ts";
import type { BuiltEngine } from "../ports/backend.ts";
import { eachOf, type LifetimeFound, type Observe, tensorsOf } from "./lifetime.ts";
import type { MeasureInput } from "./measure.ts";
import { type Paired, repeatedNotes, runPairs, type WatchedPorts } from "./run-pairs.ts";
import { isSwept } from "./sweep.ts";
import { engineOf, inputsOf } from "./time-pair.ts";
import { subjectOf, type TimedWorkload } from "./workloads.ts";

interface Two {
	head: BuiltEngine;
	both: readonly [TimedWorkload, TimedWorkload];
}

export async function* measureTogether(
	input: MeasureInput,
	ports: WatchedPorts,
): AsyncGenerator<LifetimeFound> {
	const timed = (name: string) =>
		input.workloads.find((one) => {
			const { model, engine } = one.head.spec;
			return !isSwept(one) && (name === model.name || name === `${model.name}/${engine.name}`);
		});
	const items: Two[] = [];
	for (const pair of input.measure.load.together ?? []) {
		const at = pair.indexOf(" + ");
		const [own, other] = [timed(pair.slice(0, at)), timed(pair.slice(at + 3))];
		if (own && other) items.push({ head: own.head, both: [own, other] });
		else
			yield {
				notes: [
					`measure.load.together: ${pair} was not measured, because this run times only one of them, or none.`,
				],
			};
	}
	const family = Math.max(1, 2 * items.length);
	const work = ({ both }: Two, observe: Observe) =>
		measureTwo(both, { ...input, family }, { ...ports, observe });
	yield* eachOf("together", items, work, { input, ports });
}

type Run = TogetherRun & Paired;

async function measureTwo(
	both: Two["both"],
	input: MeasureInput,
	ports: WatchedPorts & { observe: Observe },
) {
	const { looks } = input.measure;
	const isCompared = both.every(({ base }) => base !== undefined);
	const run = async (at: Paired) => ({
		...(await runOnce(both, at.arm, { input, ports })),
		...at,
	});
	const judge = (runs: readonly Run[]) =>
		both.map((timed, index) => resultOf([timed, both[1 - index] ?? timed], index, { runs, input }));
	const { firstArms } = both[0];
	const { runs, repeated, failure } = await runPairs({ looks, firstArms, isCompared, run, judge }, ports);
	if (failure) throw new ToolError(failure);
	const name = both.map(({ head }) => head.spec.id).join(" + ");
	return { together: judge(runs), notes: repeatedNotes(name, repeated) };
}

/** Long enough for the swing of a GPU at its power limit. */
const shareOfRun = 1 / 3;

async function runOnce(
	[own, other]: Two["both"],
	arm: Arm,
	{ input, ports }: { input: MeasureInput; ports: { observe: Observe } },
) {
	const atOnceMs = Math.ceil(shareOfRun * input.measure.load.durationMs);
	const cases = [
		{ id: "own", inputs: tensorsOf(inputsOf(own, arm)) },
		{ id: "beside", inputs: tensorsOf(inputsOf(other, arm)), ofBeside: true as const },
		{ id: "together", inputs: {}, atOnceMs },
	];
	const job = { engine: engineOf(own, arm), beside: engineOf(other, arm), mode: "load", cases } as const;
	const found = (await ports.observe(job)).flatMap((one) => ("togetherMs" in one ? [one] : []));
	return (
		found[0] ?? {
			aloneMs: [new Float64Array(), new Float64Array()],
			togetherMs: [new Float64Array(), new Float64Array()],
		}
	);
}

function resultOf(
	[timed, other]: Two["both"],
	index: number,
	{ runs, input }: { runs: readonly Run[]; input: MeasureInput },
) {
	const { looks } = input.measure;
	const { warn, fail = 0.1 } = timed.workload.config.gates.latency;
	const options: JudgeOptions = { minimalEffect: warn ?? fail, looks, share: 1 / input.family };
	const of = (arm: Arm) => runs.filter((run) => run.arm === arm);
	const middle = (figure: "aloneMs" | "togetherMs") => (run: Run) => median([...(run[figure][index] ?? [])]);
	const heads = of("head").map(middle("togetherMs"));
	const pairs = of("base").map((run, at) => ({ base: middle("togetherMs")(run), head: heads[at] ?? NaN }));
	const side = (arm: Arm) => {
		const own = of(arm);
		if (own.length === 0) return null;
		const over = (figure: "aloneMs" | "togetherMs") => median(own.map(middle(figure)));
		return { runs: own.length, aloneMs: over("aloneMs"), togetherMs: over("togetherMs") };
	};
	const known = pairs.length === 0 ? input.noBase(timed) : {};
	const comparison: Comparison = { ...judgePairs(pairs, options), ...known };
	return {
		...subjectOf(timed),
		beside: `${other.head.spec.model.name}/${other.head.spec.engine.name}`,
		...{ base: side("base"), head: side("head"), comparison },
	};
}
