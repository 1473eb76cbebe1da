// Entry of probes/: plans which probes apply to an engine, their inputs, and which outputs must be equal.

import type { ProbeName } from "../../../../generated/result.ts";
import type { DimRange } from "../../config/config.ts";
import {
	again,
	anchor,
	type Comparison,
	caseBytes,
	compareViews,
	maxCaseBytes,
	openProbeContext,
	type ProbeCase,
	type ProbeContext,
	type ProbeRequest,
	repetition,
} from "./context.ts";
import { probePadding } from "./padding.ts";
import { composeBatch, makePool, otherRow, type Tensors, upTo } from "./pool.ts";
import { type ProbeSubject, rangeIn, sizesAt } from "./subject.ts";

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

/** In the order of the reports. A string is the reason why the probe is skipped. */
const requestBuilders: Readonly<Record<ProbeName, (context: ProbeContext) => ProbeRequest | string>> = {
	determinism: () => ({ cases: [], comparisons: [repetition] }),
	"duplicate-rows": probeDuplicates,
	neighbours: probeNeighbours,
	"batch-size": probeBatchSize,
	"profile-ends": probeProfileEnds,
	padding: probePadding,
};

/**
 * @param subject a string is the reason why no inputs can be made.
 * @param only empty: all. `donors`: inputs of golden cases, which are better than generated ones.
 */
export function planProbes(
	subject: ProbeSubject | string,
	{ only, donors }: { only: readonly ProbeName[]; donors: readonly Tensors[] },
): ProbePlan {
	const all = Object.keys(requestBuilders) as ProbeName[];
	const wanted = all.filter((name) => only.length === 0 || only.includes(name));
	const context = typeof subject === "string" ? subject : openProbeContext(subject, donors);
	if (typeof context === "string") {
		const probes = wanted.map((probe) => ({ probe, state: "skipped" as const, why: context }));
		return { outputs: [], batch: null, cases: [], probes };
	}
	const sent: ProbeCase[] = [];
	const probes = wanted.map((probe): PlannedProbe => {
		const request = requestBuilders[probe](context);
		if (typeof request === "string") return { probe, state: "skipped", why: request };
		sent.push(...request.cases);
		return { probe, state: "planned", comparisons: request.comparisons, note: request.note };
	});
	const { batch, rows, pool } = context;
	const plain = { inputs: composeBatch(pool, upTo(rows)), batch: batch === null ? null : rows };
	const cases = [{ id: anchor, ...plain }, ...sent, { id: again, ...plain }];
	return { outputs: context.subject.outputs, batch, cases, probes };
}

function probeDuplicates({ batch, noBatch, rows, pool }: ProbeContext): ProbeRequest | string {
	if (batch === null) return noBatch;
	if (rows < 2) return "Its batch has only one row.";
	const id = "duplicates";
	const first = upTo(rows).map(() => 0);
	// Another row of a batch may use another tile of a kernel.
	const comparison = compareViews("other", [id, first.slice(1)], [id, upTo(rows).slice(1)]);
	return { cases: [{ id, inputs: composeBatch(pool, first), batch: rows }], comparisons: [comparison] };
}

/** Twice, with the odd and with the even rows replaced: a leak in one direction, such as a running sum, shows in one of the two. */
function probeNeighbours({ batch, noBatch, rows, pool }: ProbeContext): ProbeRequest | string {
	if (batch === null) return noBatch;
	if (rows < 2) return "Its batch has only one row.";
	const replacements = upTo(rows).map((row) => otherRow(pool, row, row + rows));
	if (replacements.includes(null))
		return "All rows of its inputs are equal, so neighbours cannot be replaced.";
	const cases: ProbeCase[] = [];
	const comparisons: Comparison[] = [];
	for (const [parity, kept] of ["even", "odd"].entries()) {
		const id = `neighbours-of-${kept}`;
		const places = upTo(rows).map((row) => (row % 2 === parity ? row : (replacements[row] ?? row)));
		const watched = upTo(rows).filter((row) => row % 2 === parity);
		cases.push({ id, inputs: composeBatch(pool, places), batch: rows });
		comparisons.push(compareViews("same", [anchor, watched], [id, watched]));
	}
	return { cases, comparisons };
}

function probeBatchSize({ batch, noBatch, rows, pool }: ProbeContext): ProbeRequest | string {
	if (batch === null) return noBatch;
	const few = batch.range.min;
	if (few >= rows) return `It is built only for batches of ${rows}.`;
	const cases: ProbeCase[] = [];
	const comparisons: Comparison[] = [];
	for (const end of ["first", "last"]) {
		const id = `batch-${few}-${end}`;
		const places = end === "first" ? upTo(few) : upTo(rows).slice(rows - few);
		cases.push({ id, inputs: composeBatch(pool, places), batch: few });
		comparisons.push(compareViews("other", [anchor, places], [id, upTo(few)]));
	}
	return { cases, comparisons };
}

/** A config may name 16 profiles; probing more than these takes too long. */
const maxProfiles = 4;

function probeProfileEnds(context: ProbeContext): ProbeRequest | string {
	const cases: ProbeCase[] = [];
	const comparisons: Comparison[] = [];
	const omitted: string[] = [];
	for (const [index, profile] of context.subject.profiles.slice(0, maxProfiles).entries()) {
		for (const level of levelsOf(context, profile)) {
			const name = `profile-${index}-${level}`;
			const request = probeLevel(context, profile, level, { name, caseIndex: 1 + cases.length });
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

/** The ends of the dimensions beside the batch; where none of the inputs has a range, the batch's own sizes. */
function levelsOf({ batch, subject }: ProbeContext, profile: ProbeContext["profile"]): (keyof DimRange)[] {
	const used = new Set(subject.inputs.flatMap(({ axes }) => axes));
	const isRanged = Object.entries(profile).some(
		([name, { min, max }]) => name !== batch?.dim && used.has(name) && max > Math.max(1, min),
	);
	if (isRanged) return ["min", "max"];
	const range = batch && (rangeIn(profile, batch.dim ?? "") ?? batch.range);
	return range !== null && range.min < range.max ? ["opt"] : [];
}

/** A string is the reason why the level is skipped. */
function probeLevel(
	{ subject, batch }: ProbeContext,
	profile: ProbeContext["profile"],
	level: keyof DimRange,
	{ name, caseIndex }: { name: string; caseIndex: number },
): ProbeRequest | string {
	const sizes = sizesAt(profile, level);
	const range = batch && (rangeIn(profile, batch.dim ?? "") ?? batch.range);
	const batches =
		range === null ? [1] : [...new Set([range.min, range.opt, range.max])].sort((a, b) => a - b);
	const fitting = batches.filter((rows) => caseBytes(subject, batch, sizes, rows) <= maxCaseBytes);
	const [least, ...more] = fitting;
	if (least === undefined)
		return `Sizes whose batch takes more than ${maxCaseBytes / 2 ** 20} MiB are left out.`;
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
		return {
			cases: [first, second],
			comparisons: [compareViews("same", [first.id, null], [second.id, null])],
		};
	}
	const larger = more.map((rows) => send(rows, `${name}-${rows}`));
	const shared = upTo(least);
	return {
		cases: [first, ...larger],
		comparisons: larger.map(({ id }) => compareViews("other", [first.id, shared], [id, shared])),
	};
}
