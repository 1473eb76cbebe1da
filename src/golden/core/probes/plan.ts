// Entry of probes/: plans which probes apply to an engine, their inputs, and which outputs must be equal.
import type { Precision } from "../../../../generated/golden.ts";
import type { ProbeName } from "../../../../generated/result.ts";
import { shapesText } from "../../../core/text/labels.ts";
import { canEncode, encodeTensor } from "../record/generators/encode.ts";
import { isFloating, type Tensor, type Tensors } from "../tensor/tensor.ts";
import { valuesOf } from "../tensor/values.ts";
import {
	again,
	anchor,
	type Comparison,
	caseOf,
	compareViews,
	nudged,
	openProbeContext,
	otherRow,
	type ProbeCase,
	type ProbeContext,
	type ProbeRequest,
	repeat,
	repetition,
	upTo,
} from "./context.ts";
import { probePadding } from "./padding.ts";
import { probeSizes } from "./sizes.ts";
import type { Batch, ProbeSubject } from "./subject.ts";

export type PlannedProbe =
	| { probe: ProbeName; state: "planned"; comparisons: readonly Comparison[]; note?: string }
	| { probe: ProbeName; state: "skipped"; why: string };

export interface ProbePlan {
	outputs: ProbeSubject["outputs"];
	batch: Batch | null;
	cases: readonly ProbeCase[];
	probes: readonly PlannedProbe[];
}

interface RowContext extends ProbeContext {
	batch: Batch;
}

type Probe = (context: ProbeContext) => ProbeRequest | string;

const probes: Readonly<Record<ProbeName, Probe>> = {
	determinism: () => ({ cases: [], comparisons: [repetition] }),
	order: () => ({ cases: [], comparisons: [] }),
	streams: ({ subject, pool, rows }) => {
		if (subject.streams < 2) return "This backend runs one inference at a time.";
		const cases = upTo(subject.streams).map((stream) => {
			const one = { ...caseOf(`stream-${stream}`, pool, upTo(rows)), needsOthers: true as const };
			return stream === 0 ? one : { ...one, together: true as const };
		});
		return { cases, comparisons: cases.map(({ id }) => repeat(anchor, id)) };
	},
	"duplicate-rows": withRows(2, ({ rows, pool }) => {
		const id = "duplicates";
		const first = upTo(rows).map(() => 0);
		// Another row of a batch may use another tile of a kernel.
		const comparison = compareViews("other", [id, first.slice(1)], [id, upTo(rows).slice(1)]);
		return { cases: [caseOf(id, pool, first)], comparisons: [comparison] };
	}),
	neighbours: withRows(2, probeNeighbours),
	"batch-size": withRows(1, probeBatchSize),
	"profile-sizes": probeSizes,
	padding: probePadding,
	refit: probeRefit,
};

function withRows(least: number, probe: (context: RowContext) => ProbeRequest | string): Probe {
	return ({ batch, ...context }) => {
		if (batch === null) return context.noBatch;
		return context.rows < least ? "Its batch has only one row." : probe({ ...context, batch });
	};
}

interface ProbeOptions {
	only: readonly ProbeName[];
	/** Inputs of golden cases, which are better than generated ones. */
	donors: readonly Tensors[];
	precision: Precision;
}

export function planProbes(
	subject: ProbeSubject | string,
	{ only, donors, precision }: ProbeOptions,
): ProbePlan {
	const all = Object.keys(probes) as ProbeName[];
	const wanted = all.filter((name) => only.length === 0 || only.includes(name));
	const context = typeof subject === "string" ? subject : openProbeContext(subject, donors);
	if (typeof context === "string") {
		const skipped = wanted.map((probe) => ({ probe, state: "skipped" as const, why: context }));
		return { outputs: [], batch: null, cases: [], probes: skipped };
	}
	const sent: ProbeCase[] = [];
	const last: ProbeCase[] = [];
	const planned = wanted.map((probe): PlannedProbe => {
		const request = probes[probe](context);
		if (typeof request === "string") return { probe, state: "skipped", why: request };
		(probe === "refit" ? last : sent).push(...request.cases);
		return { probe, state: "planned", comparisons: request.comparisons, note: request.note };
	});
	const { rows, pool, batch } = context;
	const send = (id: string) => caseOf(id, pool, upTo(rows));
	const moved = nudge(send(nudged).inputs, precision);
	const first = [send(anchor), send(again), ...(moved === null ? [] : [{ ...send(nudged), inputs: moved }])];
	const forwards = [...first, ...sent];
	const ordered = addOrder(planned, forwards);
	const cases = [...forwards, ...ordered.backwards, ...last];
	return { outputs: context.subject.outputs, batch, cases, probes: ordered.probes };
}

const backwardsMark = " once more";

/** What a case leaves in the engine's memory may change a later one: all of them again, the last first. */
function addOrder(planned: readonly PlannedProbe[], sent: readonly ProbeCase[]) {
	if (!planned.some(({ probe }) => probe === "order")) return { backwards: [], probes: planned };
	const alone = sent.filter(({ id, together }) => id !== again && !together);
	const backwards = alone
		.map((one) => ({ ...one, id: `${one.id}${backwardsMark}`, needsOthers: true as const }))
		.reverse();
	const comparisons = alone.map(({ id, inputs }) => ({
		...repeat(id, `${id}${backwardsMark}`),
		at: describeShapes(inputs),
	}));
	const probes = planned.map((one) => (one.probe === "order" ? { ...one, comparisons } : one));
	return { backwards, probes };
}

/** Two show the sizes: a decoder's others repeat them. */
function describeShapes(inputs: Tensors) {
	const shapes = Object.entries(inputs).map(([name, { shape }]) => [name, shape] as const);
	return shapesText(Object.fromEntries(shapes.slice(0, 2))).join(", ");
}

function probeRefit({ subject, pool, rows }: ProbeContext): ProbeRequest | string {
	if (!subject.isRefittable) return "It is not built to be refitted.";
	const needsOthers = true as const;
	const give = (id: string, refit: "model" | "zeros") => ({
		id,
		inputs: {},
		batch: null,
		refit,
		needsOthers,
	});
	const same = { ...caseOf("refitted", pool, upTo(rows)), needsOthers };
	const back = { ...same, id: "refitted-back" };
	return {
		cases: [give("refit-1", "model"), same, give("refit-2", "zeros"), give("refit-3", "model"), back],
		comparisons: [same, back].map(({ id }) => repeat(anchor, id)),
	};
}

/** A leak in one direction, such as a running sum, shows in one of the two halves. */
function probeNeighbours({ rows, pool }: RowContext): ProbeRequest | string {
	const replacements = upTo(rows).map((row) => otherRow(pool, row, row + rows));
	if (replacements.includes(null))
		return "All rows of its inputs are equal, so neighbours cannot be replaced.";
	const halves = ["even", "odd"].map((kept, parity) => ({
		id: `neighbours-of-${kept}`,
		places: upTo(rows).map((row) => (row % 2 === parity ? row : (replacements[row] ?? row))),
		watched: upTo(rows).filter((row) => row % 2 === parity),
	}));
	return {
		cases: halves.map(({ id, places }) => caseOf(id, pool, places)),
		comparisons: halves.map(({ id, watched }) => compareViews("same", [anchor, watched], [id, watched])),
	};
}

function probeBatchSize({ batch, rows, pool }: RowContext): ProbeRequest | string {
	const few = batch.range.min;
	if (few >= rows) return `It is built only for batches of ${rows}.`;
	const ends = { first: upTo(few), last: upTo(rows).slice(rows - few) };
	const named = Object.entries(ends).map(([end, places]) => ({ id: `batch-${few}-${end}`, places }));
	return {
		cases: named.map(({ id, places }) => caseOf(id, pool, places)),
		comparisons: named.map(({ id, places }) => compareViews("other", [anchor, places], [id, upTo(few)])),
	};
}

/** Unit roundoff of the least precise type that an engine of this precision may compute in; fp32 may be TF32. */
const roundoff: Readonly<Record<Precision, number>> = {
	fp64: 2 ** -53,
	fp32: 2 ** -11,
	tf32: 2 ** -11,
	fp16: 2 ** -11,
	bf16: 2 ** -8,
	int8: 2 ** -8,
	fp8: 2 ** -4,
	int4: 2 ** -4,
	fp4: 2 ** -3,
};

/** Each element of floats up or down by the roundoff, of 16-bit inputs by one step at least; null if there are no floats. */
function nudge(inputs: Tensors, precision: Precision): Tensors | null {
	const made: Record<string, Tensor> = Object.create(null);
	let isMoved = false;
	for (const [name, tensor] of Object.entries(inputs)) {
		made[name] = tensor;
		const { dtype, shape } = tensor;
		if (!isFloating(dtype) || !canEncode(dtype)) continue;
		const step = Math.max(
			roundoff[precision],
			dtype === "float16" ? 2 ** -10 : dtype === "bfloat16" ? 2 ** -7 : 0,
		);
		const values = valuesOf(tensor);
		// Multiplied so that neighbours and rows get other signs.
		const sign = (index: number) => (Math.imul(index + 1, 0x9e3779b1) >>> 31 === 0 ? 1 : -1);
		made[name] = encodeTensor(dtype, shape, (index) => (values[index] ?? 0) * (1 + sign(index) * step));
		isMoved = true;
	}
	return isMoved ? made : null;
}
