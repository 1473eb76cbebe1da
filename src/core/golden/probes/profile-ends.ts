// The profile-ends probe: the engine runs at the smallest and largest sizes, and rows that two batches share agree.
import type { DimRange } from "../../config/config.ts";
import { type Comparison, caseBytes, maxCaseBytes, type ProbeCase, type ProbeContext, type ProbeRequest } from "./context.ts";
import { composeBatch, makePool, upTo } from "./pool.ts";
import { sizesAt } from "./subject.ts";

/** A config may name 16 profiles; probing more than these takes too long. */
const maxProfiles = 4;

export function probeProfileEnds(context: ProbeContext): ProbeRequest | string {
	const cases: ProbeCase[] = [];
	const comparisons: Comparison[] = [];
	const omitted: string[] = [];
	for (const [index, profile] of context.subject.profiles.slice(0, maxProfiles).entries()) {
		for (const level of levelsOf(context, profile)) {
			const request = probeLevel(context, { profile, level, name: `profile-${index}-${level}`, caseIndex: 1 + cases.length });
			if (typeof request === "string") omitted.push(request);
			else {
				cases.push(...request.cases);
				comparisons.push(...request.comparisons);
			}
		}
	}
	if (comparisons.length === 0) return omitted[0] ?? "Its sizes are fixed, so its profile has no ends.";
	return { cases, comparisons, ...(omitted[0] === undefined ? {} : { note: omitted[0] }) };
}

/** Dimensions of the inputs beside the batch that have a range. */
function isRanged(context: ProbeContext, profile: ProbeContext["profile"]): boolean {
	const used = new Set(context.subject.inputs.flatMap(({ axes }) => axes));
	return Object.entries(profile).some(([name, { min, max }]) => name !== context.batch?.dim && used.has(name) && max > Math.max(1, min));
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
function probeLevel(context: ProbeContext, { profile, level, name, caseIndex }: Level): ProbeRequest | string {
	const { subject, batch } = context;
	const sizes = sizesAt(profile, level);
	const range = rangeIn(context, profile);
	const fitting = batchesOf(range).filter((rows) => caseBytes(subject, batch, { sizes, rows }) <= maxCaseBytes);
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
	return { expected: { caseId: expected, rows: upTo(rows) }, got: { caseId: got, rows: upTo(rows) }, arithmetic: "other" };
}
