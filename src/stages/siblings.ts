// Times engines of the head against their siblings: other engines of the same model, named by `against`.
import type { Comparison, ErrorRecord, SiblingResult } from "../../generated/result.ts";
import { firstArms } from "../core/compare/pairs.ts";
import { unknownChange } from "../core/compare/verdict.ts";
import { loadOf } from "../core/config/against.ts";
import type { BuiltEngine, TimedInput } from "../ports/backend.ts";
import { type MeasureInput, type MeasurePorts, measure } from "./measure.ts";
import type { TimedWorkload } from "./workloads.ts";

export interface SiblingPair {
	/** Its base is the sibling. */
	timed: TimedWorkload;
	against: string;
	/** Why there is nothing to time. */
	obstacle?: Pick<Comparison, "verdict" | "reason">;
}

interface Wanted {
	/** Of the head. */
	workloads: readonly TimedWorkload[];
	looks: readonly number[];
	seed: string;
	/** Whether the head has an engine that this run does not check. */
	isLeftOut(engineId: string): boolean;
}

/** Workloads that only one of two engines has are left out, unless they have none in common. */
export function siblingPairs({ workloads, looks, seed, isLeftOut }: Wanted): SiblingPair[] {
	return workloads.flatMap((own): SiblingPair[] => {
		const { model, engine } = own.head.spec;
		const { against } = engine;
		if (against === undefined) return [];
		const others = workloads.filter(({ workload }) => workload.engineId === `${model.name}/${against}`);
		const load = (timed: TimedWorkload): string => loadOf(timed.workload.config);
		const other = others.find((one) => load(one) === load(own));
		if (other !== undefined) return [pairOf(own, other, { against, looks, seed })];
		const shared = workloads.some(
			(one) =>
				one.workload.engineId === own.workload.engineId && others.some((two) => load(one) === load(two)),
		);
		if (shared) return [];
		if (isLeftOut(`${model.name}/${against}`)) {
			const reason = `${against} is not part of this run.`;
			return [{ timed: own, against, obstacle: { verdict: "missing", reason } }];
		}
		const why = others.length > 0 ? "has no workload of the same sizes and streams" : "has no engine to time";
		return [{ timed: own, against, obstacle: apart(`${against} ${why}.`) }];
	});
}

function apart(reason: string): SiblingPair["obstacle"] {
	return { verdict: "not-comparable", reason };
}

function pairOf(
	own: TimedWorkload,
	other: TimedWorkload,
	{ against, looks, seed }: Pick<Wanted, "looks" | "seed"> & { against: string },
): SiblingPair {
	const { payoff } = own.workload.config.gates;
	const gates = { ...own.workload.config.gates, latency: payoff };
	const id = `${own.workload.id} against ${against}`;
	const timed: TimedWorkload = {
		...own,
		workload: { ...own.workload, id, config: { ...own.workload.config, gates } },
		base: other.head,
		baseInputs: other.inputs,
		firstArms: firstArms(`${seed}:${id}`, looks.at(-1) ?? 0),
	};
	const differs = differenceOf(own.inputs, other.inputs);
	return differs === null
		? { timed, against }
		: { timed, against, obstacle: apart(`Inputs differ: ${differs}.`) };
}

/** Types may differ: a half-precision export takes half-precision inputs. */
function differenceOf(own: readonly TimedInput[], others: readonly TimedInput[]): string | null {
	const shapeOf = (inputs: readonly TimedInput[]): string[] =>
		inputs.map(({ name, shape }) => `${name} ${shape.join("×")}`).sort();
	const [mine, theirs] = [shapeOf(own), shapeOf(others)];
	return mine.join() === theirs.join() ? null : `${mine.join(", ")} against ${theirs.join(", ")}`;
}

/** Whether either engine is new to the base, or was built just now. */
export function isDue({ timed: { head, base } }: SiblingPair): boolean {
	const isNew = ({ record }: BuiltEngine): boolean =>
		record.sharedWithBase !== true || record.fromCache !== true;
	return isNew(head) || (base !== undefined && isNew(base));
}

export interface Timed {
	siblings: readonly [SiblingResult];
	errors?: readonly ErrorRecord[];
}

export async function* measureSiblings(
	pairs: readonly SiblingPair[],
	input: Omit<MeasureInput, "workloads" | "noBase">,
	ports: MeasurePorts,
): AsyncGenerator<Timed> {
	for (const pair of pairs)
		if (pair.obstacle !== undefined) yield { siblings: [untimed(pair, pair.obstacle)] };
	const ready = new Map(
		pairs.filter(({ obstacle }) => obstacle === undefined).map((pair) => [pair.timed.workload.id, pair]),
	);
	if (ready.size === 0) return;
	const workloads = [...ready.values()].map(({ timed }) => timed);
	const noBase = (): Pick<Comparison, "verdict"> => ({ verdict: "missing" });
	for await (const { rows, errors } of measure({ ...input, workloads, noBase }, ports)) {
		const [{ id, latency, base, head, runs, replaced, limits }] = rows;
		const pair = ready.get(id);
		if (pair === undefined) continue;
		const isOneEngine = latency.verdict === "unchanged" && runs.length === 0;
		const reason = "Both engines are the same, byte for byte, so nothing was timed.";
		const sibling: SiblingResult = {
			...subjectOf(pair),
			latency: isOneEngine ? { ...latency, reason } : latency,
			sibling: base,
			own: head,
			replaced,
			limits,
		};
		yield { siblings: [sibling], errors };
	}
}

function subjectOf({ timed: { head, workload }, against }: SiblingPair) {
	const { model, engine } = head.spec;
	return { model: model.name, engine: engine.name, against, workload: workload.config.name };
}

function untimed(pair: SiblingPair, obstacle: NonNullable<SiblingPair["obstacle"]>): SiblingResult {
	const latency = { ...unknownChange, pairs: 0, minimalEffect: 0, level: 1, ...obstacle };
	return { ...subjectOf(pair), latency, sibling: null, own: null, replaced: 0 };
}
