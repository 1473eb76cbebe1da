// Times engines of the head against their siblings: other engines of the same model, named by `against`.
import type { ErrorRecord, SiblingResult } from "../../generated/result.ts";
import { firstArms } from "../core/compare/pairs.ts";
import { unknownChange } from "../core/compare/verdict.ts";
import { loadOf } from "../core/config/against.ts";
import type { BuiltEngine } from "../ports/backend.ts";
import { type MeasureInput, type MeasurePorts, measure } from "./measure.ts";
import { subjectOf, type TimedWorkload } from "./workloads.ts";

export interface SiblingPair {
	timed: TimedWorkload;
	against: string;
	obstacle?: string;
}

/** Leaves out workloads that only one of the two engines has. */
export function siblingPairs(
	workloads: readonly TimedWorkload[],
	order: { seed: string; pairs: number },
): SiblingPair[] {
	return workloads.flatMap((own) => {
		const { model, engine } = own.head.spec;
		const { against } = engine;
		if (against === undefined) return [];
		const others = workloads.filter(({ workload }) => workload.engineId === `${model.name}/${against}`);
		const load = loadOf(own.workload.config);
		const other = others.find(({ workload }) => loadOf(workload.config) === load);
		if (other !== undefined) return [pairOf(own, other, { ...order, against })];
		const obstacle = `${against} is not part of this run, or could not be built.`;
		return others.length === 0 ? [{ timed: own, against, obstacle }] : [];
	});
}

function pairOf(
	own: TimedWorkload,
	other: TimedWorkload,
	{ seed, pairs, against }: { seed: string; pairs: number; against: string },
): SiblingPair {
	const { id, config } = own.workload;
	const gates = { ...config.gates, latency: config.gates.payoff };
	const workload = { ...own.workload, id: `${id} against ${against}`, config: { ...config, gates } };
	const sides = { base: other.head, baseInputs: other.inputs };
	const timed = { ...own, ...sides, workload, firstArms: firstArms(`${seed}:${workload.id}`, pairs) };
	// Types may differ: a half-precision export takes half-precision inputs.
	const [mine, theirs] = [own, other].map(({ inputs }) =>
		JSON.stringify(inputs.map(({ name, shape }) => [name, shape]).sort()),
	);
	return { timed, against, ...(mine !== theirs && { obstacle: `${against} takes other inputs or shapes.` }) };
}

/** Whether either engine is new to the base, or was built just now. */
export function isDue({ timed: { head, base } }: SiblingPair): boolean {
	const isKnown = ({ record }: BuiltEngine) => record.sharedWithBase === true && record.fromCache === true;
	return !(isKnown(head) && base !== undefined && isKnown(base));
}

export async function* measureSiblings(
	pairs: readonly SiblingPair[],
	input: MeasureInput,
	ports: MeasurePorts,
): AsyncGenerator<{ siblings: readonly [SiblingResult]; errors?: readonly ErrorRecord[] }> {
	const namesOf = ({ timed, against }: SiblingPair) => ({ ...subjectOf(timed), against });
	for (const { obstacle, ...pair } of pairs) {
		if (obstacle === undefined) continue;
		const nothing = { ...unknownChange, pairs: 0, minimalEffect: 0, level: 1 };
		const latency = { verdict: "missing", reason: obstacle, ...nothing } as const;
		yield { siblings: [{ ...namesOf(pair), latency, sibling: null, own: null, replaced: 0 }] };
	}
	const ready = pairs.filter(({ obstacle }) => obstacle === undefined);
	if (ready.length === 0) return;
	const workloads = ready.map(({ timed }) => timed);
	for await (const { rows, errors } of measure({ ...input, workloads }, ports)) {
		const [{ id, latency, base, head, runs, replaced, limits }] = rows;
		const pair = ready.find(({ timed }) => timed.workload.id === id);
		if (pair === undefined) continue;
		const isOneEngine = latency.verdict === "unchanged" && runs.length === 0;
		const reason = isOneEngine ? "Both engines are the same, byte for byte." : latency.reason;
		const found = { latency: { ...latency, reason }, sibling: base, own: head, replaced, limits };
		yield { siblings: [{ ...namesOf(pair), ...found }], errors };
	}
}
