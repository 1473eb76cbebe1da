// Compares executed instructions, which have no noise.

import type { Arm, Comparison } from "../../../generated/result.ts";
import type { OnnxGraph, OnnxModel } from "../onnx/model.ts";
import { listNames } from "../text/labels.ts";
import { formatCount, formatPercent } from "../text/units.ts";
import { unknownChange } from "./verdict.ts";

/** Instructions per inference, on the workload's values and on other values. */
export interface Work {
	instructions: number;
	otherInput: number;
}

export type WorkByOperator = ReadonlyMap<string, number>;

/** Renamed nodes and reordered initializers change the count by up to 3e-6. */
const sameWork = 1e-5;
/** Values alone change the count of a convolution net by up to 4e-5. */
const ofValues = 1e-4;

export function compareWork({ base, head }: Record<Arm, Work>, minimalEffect: number): Comparison {
	const change = (of: (work: Work) => number) => {
		const fraction = of(head) / of(base) - 1;
		return Math.abs(fraction) < sameWork ? 0 : fraction;
	};
	const estimate = change(({ instructions }) => instructions);
	const other =
		dependsOnValues(base) || dependsOnValues(head) ? change(({ otherInput }) => otherInput) : estimate;
	const common = { minimalEffect, pairs: 0, level: 1, base: base.instructions, head: head.instructions };
	if (!Number.isFinite(estimate + other)) {
		const reason = `The count of the base is ${base.instructions}, that of the head ${head.instructions}: no ratio exists.`;
		return { ...common, verdict: "not-comparable", reason, ...unknownChange };
	}
	const verdict =
		estimate >= minimalEffect ? "regressed" : estimate <= -minimalEffect ? "improved" : "unchanged";
	const interval: [number, number] = [Math.min(estimate, other), Math.max(estimate, other)];
	return { ...common, verdict, estimate, interval, excluded: Math.max(Math.abs(estimate), Math.abs(other)) };
}

function spreadOf({ instructions, otherInput }: Work) {
	return Math.abs(otherInput / instructions - 1);
}

function dependsOnValues(work: Work) {
	return spreadOf(work) >= ofValues;
}

/**
 * Kernels whose time the count misses by more than a few percent (bench/work.ts), and nodes whose work depends on
 * values.
 */
const misjudged =
	/^(?:Erf|Gelu|FastGelu|BiasGelu|QuickGelu|Sigmoid|HardSigmoid|Tanh|Softmax|LogSoftmax|Div|Loop|Scan|If|NonMaxSuppression|NonZero|Unique)$/;
const quantised =
	/^(?:QLinear|QAttention|QGemm|QMoE|DynamicQuantize|Quantize|Dequantize|MatMulInteger|ConvInteger|MatMulNBits|QOrdered)/;

function isMisjudged(op: string) {
	return misjudged.test(op) || quantised.test(op);
}

/** Two inputs are few: others may lie this many times further apart. */
const unseenValues = 10;

/** @param limit more work than this fails: the doubt then holds only if other values can bring the change below it. */
export function doubtOfValues(works: Record<Arm, Work>, limit = Infinity): string | null {
	const spread = Math.max(spreadOf(works.base), spreadOf(works.head));
	const { interval } = compareWork(works, limit);
	const least = (1 + (interval?.[0] ?? 0)) * (1 - unseenValues * spread) - 1;
	if (!(spread >= ofValues) || least >= limit) return null;
	return `The work depends on the values: on other inputs it differs by ${formatPercent(spread, { digits: 2 })}, so the change is shown as a range.`;
}

export function doubtOfNodes(models: Record<Arm, OnnxModel>): string | null {
	const [before, after] = [operatorsOf(models.base), operatorsOf(models.head)];
	const changes = [...new Set([...before.keys(), ...after.keys()])].flatMap((op) => {
		const difference = (after.get(op) ?? 0) - (before.get(op) ?? 0);
		if (difference === 0 || !isMisjudged(op)) return [];
		return [`${formatCount(Math.abs(difference))} ${difference > 0 ? "more" : "fewer"} ${op}`];
	});
	if (changes.length === 0) return null;
	return `Counts follow the time of such nodes poorly: ${listNames(changes)}.`;
}

/** In trials, added nodes of this kind took 0.97 to 21 times the time that their count says (bench/work.md). */
const timePerCount = { least: 0.1, most: 25 };

/** One function may be written as any of these, so what one loses and another adds is the same work. */
const activations = /^(?:Erf|Div|Tanh|Sigmoid|\w*Gelu)$/;

/** Whether the change may be below the limit, for all that is known of the time of misjudged nodes. */
export function canExplain(
	{ base, head }: Record<Arm, Work>,
	operators: Partial<Record<Arm, WorkByOperator | undefined>>,
	limit: number,
): boolean {
	const changes = new Map<string, number>();
	for (const [arm, sign] of [
		["base", -1],
		["head", 1],
	] as const)
		for (const [op, own] of operators[arm] ?? []) {
			const kind = activations.test(op) ? "activation" : op;
			if (isMisjudged(op)) changes.set(kind, (changes.get(kind) ?? 0) + sign * own);
		}
	let change = head.instructions - base.instructions;
	for (const own of changes.values()) change += own * (timePerCount[own > 0 ? "least" : "most"] - 1);
	return change / base.instructions < limit;
}

/** Names with quotes or line breaks can forge lines of ONNX Runtime's profile, by which the work is split. */
export function hasPlainNames({ graph, functions }: OnnxModel): boolean {
	return !JSON.stringify([graph, functions]).includes("\\");
}

function operatorsOf({ graph, functions }: OnnxModel) {
	const counts = new Map<string, number>();
	const add = ({ nodes, subgraphs }: Pick<OnnxGraph, "nodes" | "subgraphs">) => {
		for (const { op } of nodes) counts.set(op, (counts.get(op) ?? 0) + 1);
		for (const { graph: inner } of subgraphs) add(inner);
	};
	for (const part of [graph, ...functions]) add(part);
	return counts;
}
