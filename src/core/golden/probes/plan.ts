// Entry of probes/: plans which probes apply to an engine, their inputs, and which outputs must be equal.

import type { ProbeName } from "../../../../generated/result.ts";
import type { DimRange } from "../../config/config.ts";
import type { Tensor } from "../tensor/tensor.ts";
import {
	again,
	anchor,
	type Comparison,
	caseBytes,
	maxCaseBytes,
	openProbeContext,
	type ProbeCase,
	type ProbeContext,
	type ProbeRequest,
	repetition,
} from "./context.ts";
import { probePadding } from "./padding.ts";
import { composeBatch, makePool, otherRow, upTo } from "./pool.ts";
import { type ProbeSubject, sizesAt } from "./subject.ts";

export type PlannedProbe =
	| { probe: ProbeName; state: "planned"; comparisons: readonly Comparison[]; note?: string }
	| { probe: ProbeName; state: "skipped"; why: string };

export interface ProbePlan {
	outputs: ProbeSubject["outputs"];
	batch: ProbeContext["batch"];
	/** In the order in which they are to run: the last is the first once more. */
	cases: readonly ProbeCase[];
	probes: readonly PlannedProbe[];
}

/** In the order of the reports. */
export const probeNames: readonly ProbeName[] = [
	"determinism",
	"duplicate-rows",
	"neighbours",
	"batch-size",
	"profile-ends",
	"padding",
];

interface Planning {
	/** Empty: all. */
	only: readonly ProbeName[];
	/** Inputs of golden cases, which are better than generated ones. */
	donors: readonly Readonly<Record<string, Tensor>>[];
}

/** @param subject a string is the reason why no inputs can be made. */
export function planProbes(subject: ProbeSubject | string, { only, donors }: Planning): ProbePlan {
	const wanted = probeNames.filter((name) => only.length === 0 || only.includes(name));
	const context = typeof subject === "string" ? subject : openProbeContext(subject, donors);
	if (typeof context === "string") {
		return {
			outputs: [],
			batch: null,
			cases: [],
			probes: wanted.map((probe) => ({ probe, state: "skipped", why: context })),
		};
	}
	const requests = wanted.map((probe) => [probe, requestBuilders[probe](context)] as const);
	return {
		outputs: context.subject.outputs,
		batch: context.batch,
		cases: framed(
			context,
			requests.flatMap(([, request]) => (typeof request === "string" ? [] : request.cases)),
		),
		probes: requests.map(([probe, request]) => plannedOf(probe, request)),
	};
}

/** The anchor first, and once more at the end. */
function framed({ batch, rows, pool }: ProbeContext, between: readonly ProbeCase[]): ProbeCase[] {
	const shared = { inputs: composeBatch(pool, upTo(rows)), batch: batch === null ? null : rows };
	return [{ id: anchor, ...shared }, ...between, { id: again, ...shared }];
}

function plannedOf(probe: ProbeName, request: ProbeRequest | string): PlannedProbe {
	if (typeof request === "string") return { probe, state: "skipped", why: request };
	return { probe, state: "planned", comparisons: request.comparisons, note: request.note };
}

type RequestBuilder = (context: ProbeContext) => ProbeRequest | string;

const requestBuilders: Readonly<Record<ProbeName, RequestBuilder>> = {
	determinism: () => ({ cases: [], comparisons: [repetition] }),
	"duplicate-rows": probeDuplicates,
	neighbours: probeNeighbours,
	"batch-size": probeBatchSize,
	"profile-ends": probeProfileEnds,
	padding: probePadding,
};

function probeDuplicates(context: ProbeContext): ProbeRequest | string {
	if (context.batch === null) return context.noBatch;
	if (context.rows < 2) return "Its batch has only one row.";
	const rows = upTo(context.rows);
	const id = "duplicates";
	const inputs = composeBatch(
		context.pool,
		rows.map(() => 0),
	);
	const others = rows.slice(1);
	// Another row of a batch may use another tile of a kernel.
	const comparison: Comparison = {
		expected: { caseId: id, rows: others.map(() => 0) },
		got: { caseId: id, rows: others },
		arithmetic: "other",
	};
	return { cases: [{ id, inputs, batch: context.rows }], comparisons: [comparison] };
}

/** Twice, with the odd and with the even rows replaced: a leak in one direction, such as a running sum, shows in one of the two. */
function probeNeighbours(context: ProbeContext): ProbeRequest | string {
	if (context.batch === null) return context.noBatch;
	if (context.rows < 2) return "Its batch has only one row.";
	const rows = upTo(context.rows);
	const replacements = rows.map((row) => otherRow(context.pool, row, row + context.rows));
	if (replacements.some((replacement) => replacement === null))
		return "All rows of its inputs are equal, so neighbours cannot be replaced.";
	const rounds = (["even", "odd"] as const).map((kept, parity) => {
		const stays = (row: number): boolean => row % 2 === parity;
		const id = `neighbours-of-${kept}`;
		const inputs = composeBatch(
			context.pool,
			rows.map((row) => (stays(row) ? row : (replacements[row] ?? row))),
		);
		const watched = rows.filter(stays);
		const comparison: Comparison = {
			expected: { caseId: anchor, rows: watched },
			got: { caseId: id, rows: watched },
			arithmetic: "same",
		};
		return { sent: { id, inputs, batch: context.rows }, comparison };
	});
	return { cases: rounds.map(({ sent }) => sent), comparisons: rounds.map(({ comparison }) => comparison) };
}

function probeBatchSize(context: ProbeContext): ProbeRequest | string {
	const { batch, rows } = context;
	if (batch === null) return context.noBatch;
	const few = batch.range.min;
	if (few >= rows) return `It is built only for batches of ${rows}.`;
	const rounds = [upTo(few), upTo(rows).slice(rows - few)].map((places, index) => {
		const id = `batch-${few}-${index === 0 ? "first" : "last"}`;
		const comparison: Comparison = {
			expected: { caseId: anchor, rows: places },
			got: { caseId: id, rows: upTo(few) },
			arithmetic: "other",
		};
		return { sent: { id, inputs: composeBatch(context.pool, places), batch: few }, comparison };
	});
	return { cases: rounds.map(({ sent }) => sent), comparisons: rounds.map(({ comparison }) => comparison) };
}

/** A config may name 16 profiles; probing more than these takes too long. */
const maxProfiles = 4;

function probeProfileEnds(context: ProbeContext): ProbeRequest | string {
	const cases: ProbeCase[] = [];
	const comparisons: Comparison[] = [];
	const omitted: string[] = [];
	for (const [index, profile] of context.subject.profiles.slice(0, maxProfiles).entries()) {
		for (const level of levelsOf(context, profile)) {
			const request = probeLevel(context, {
				profile,
				level,
				name: `profile-${index}-${level}`,
				caseIndex: 1 + cases.length,
			});
			if (typeof request === "string") omitted.push(request);
			else {
				cases.push(...request.cases);
				comparisons.push(...request.comparisons);
			}
		}
	}
	if (comparisons.length === 0) return omitted[0] ?? "Its sizes are fixed, so its profile has no ends.";
	return { cases, comparisons, note: omitted[0] };
}

/** Dimensions of the inputs beside the batch that have a range. */
function isRanged(context: ProbeContext, profile: ProbeContext["profile"]): boolean {
	const used = new Set(context.subject.inputs.flatMap(({ axes }) => axes));
	return Object.entries(profile).some(
		([name, { min, max }]) => name !== context.batch?.dim && used.has(name) && max > Math.max(1, min),
	);
}

function levelsOf(context: ProbeContext, profile: ProbeContext["profile"]): (keyof DimRange)[] {
	if (isRanged(context, profile)) return ["min", "max"];
	const { min, max } = rangeIn(context, profile) ?? { min: 1, max: 1 };
	return min < max ? ["opt"] : [];
}

function rangeIn({ batch }: ProbeContext, profile: ProbeContext["profile"]): DimRange | null {
	if (batch === null) return null;
	const range = batch.dim !== null && Object.hasOwn(profile, batch.dim) ? profile[batch.dim] : undefined;
	if (range === undefined) return batch.range;
	return { min: Math.max(1, range.min), opt: Math.max(1, range.opt), max: Math.max(1, range.max) };
}

interface Level {
	profile: ProbeContext["profile"];
	/** Of all dimensions but the batch. */
	level: keyof DimRange;
	name: string;
	caseIndex: number;
}

/** A string is the reason why the level is skipped. */
function probeLevel(
	context: ProbeContext,
	{ profile, level, name, caseIndex }: Level,
): ProbeRequest | string {
	const { subject, batch } = context;
	const sizes = sizesAt(profile, level);
	const range = rangeIn(context, profile);
	const fitting = batchesOf(range).filter(
		(rows) => caseBytes(subject, batch, { sizes, rows }) <= maxCaseBytes,
	);
	const [least = 1, ...more] = fitting;
	const most = `${maxCaseBytes / 2 ** 20} MiB`;
	if (fitting.length === 0) return `Sizes whose batch takes more than ${most} are left out.`;
	const pool = makePool(subject, batch, { sizes, rows: Math.max(...fitting), caseIndex });
	if (typeof pool === "string") return pool;
	const send = (rows: number, id: string): ProbeCase => ({
		id,
		inputs: composeBatch(pool, upTo(rows)),
		batch: batch === null ? null : rows,
	});
	const first = send(least, `${name}-${least}`);
	// With a single batch size, two runs of the same size are compared.
	if (more.length === 0) {
		const second = send(least, `${name}-${least}-again`);
		return { cases: [first, second], comparisons: [whole(first.id, second.id)] };
	}
	const larger = more.map((rows) => send(rows, `${name}-${rows}`));
	return { cases: [first, ...larger], comparisons: larger.map(({ id }) => shared(first.id, id, least)) };
}

/** Ascending, each once. */
function batchesOf(range: DimRange | null): number[] {
	if (range === null) return [1];
	return [...new Set([range.min, range.opt, range.max])].sort((left, right) => left - right);
}

function whole(expected: string, got: string): Comparison {
	return { expected: { caseId: expected, rows: null }, got: { caseId: got, rows: null }, arithmetic: "same" };
}

function shared(expected: string, got: string, rows: number): Comparison {
	return {
		expected: { caseId: expected, rows: upTo(rows) },
		got: { caseId: got, rows: upTo(rows) },
		arithmetic: "other",
	};
}
