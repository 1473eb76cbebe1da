// The probe of a profile's sizes: the engine must answer at its ends and between them, alike for the rows that they share.

import {
	type Comparison,
	caseBytes,
	caseOf,
	compareViews,
	makePool,
	maxCaseBytes,
	type ProbeCase,
	type ProbeContext,
	type ProbeRequest,
	upTo,
} from "./context.ts";
import { type Batch, type Profile, rangeIn, type SizePoint, sizePoints, sizesAt } from "./subject.ts";

const maxProfiles = 4;
const maxBytes = 384 * 1024 * 1024;
const byImportance = ["max", "min", "opt", "high", "low"] as const satisfies readonly SizePoint[];

export function probeSizes(context: ProbeContext): ProbeRequest | string {
	const { subject, batch } = context;
	const cases: ProbeCase[] = [];
	const comparisons: Comparison[] = [];
	let omitted: string | undefined;
	let bytes = 0;
	const profiles = subject.profiles.slice(0, maxProfiles);
	for (const { id, isBetween, sizes, batches } of profiles.flatMap((profile, index) =>
		sizesOf(context, profile, index),
	)) {
		const [least, ...more] = batches.filter((rows) => {
			const own = caseBytes(subject, batch, sizes, rows);
			const fits = own <= maxCaseBytes && bytes + own <= maxBytes;
			if (fits) bytes += own;
			else
				omitted = `Batches of more than ${maxCaseBytes / 2 ** 20} MiB, or ${maxBytes / 2 ** 20} MiB together, are left out.`;
			return fits;
		});
		if (least === undefined) continue;
		const rows = Math.max(least, ...more);
		const pool = makePool(subject, batch, { sizes, rows, caseIndex: 1 + cases.length });
		if (typeof pool === "string") return pool;
		const own = upTo(least);
		const first = caseOf(`${id}-${least}`, pool, own);
		const compare = (other: ProbeCase, views: Comparison) => {
			cases.push(other);
			comparisons.push({ ...views, isBetween, at: describe(sizes, batch, [least, other.batch ?? 1]) });
		};
		cases.push(first);
		if (more.length === 0) {
			const other = { ...first, id: `${first.id}-again` };
			compare(other, compareViews("same", [first.id, null], [other.id, null]));
		}
		for (const rows of more) {
			// The last row is the first once more: where only the first is right, shared rows at the front do not tell.
			const other = caseOf(`${id}-${rows}`, pool, [...upTo(rows - 1), 0]);
			compare(other, compareViews("other", [first.id, [...own, 0]], [other.id, [...own, rows - 1]]));
		}
	}
	if (comparisons.length === 0) return omitted ?? "Its sizes are fixed.";
	return { cases, comparisons, note: omitted };
}

/** Where sizes beside the batch vary, each is asked with the ends of the batch and its own point; else the batch takes all five. */
function sizesOf({ batch, subject }: ProbeContext, profile: Profile, index: number) {
	const used = new Set(subject.inputs.flatMap(({ axes }) => axes));
	const varies = ([name, { min, max }]: [string, Profile[string]]) =>
		name !== batch?.dim && used.has(name) && max > Math.max(1, min);
	const isRanged = Object.entries(profile).some(varies);
	const range = (batch && (rangeIn(profile, batch.dim ?? "") ?? batch.range)) ?? { min: 1, opt: 1, max: 1 };
	const ends = sizePoints(range);
	const batchesOf = (points: readonly SizePoint[]) =>
		[...new Set(points.map((point) => ends[point]))].sort((a, b) => a - b);
	if (!isRanged) {
		const batches = batchesOf(byImportance);
		const size = { id: `profile-${index}`, isBetween: false, sizes: sizesAt(profile, "opt"), batches };
		return batches.length < 2 ? [] : [size];
	}
	const seen = new Set<string>();
	return byImportance.flatMap((point) => {
		const sizes = sizesAt(profile, point);
		const key = JSON.stringify([...sizes]);
		if (seen.has(key)) return [];
		seen.add(key);
		const isBetween = point === "low" || point === "high";
		return [{ id: `profile-${index}-${point}`, isBetween, sizes, batches: batchesOf(["min", point, "max"]) }];
	});
}

function describe(sizes: ReadonlyMap<string, number>, batch: Batch | null, rows: readonly [number, number]) {
	const batches = batch === null ? [] : [`batch ${[...new Set(rows)].join(" and ")}`];
	const beside = [...sizes].filter(([name]) => name !== batch?.dim).map(([name, size]) => `${name} ${size}`);
	return [...batches, ...beside].join(", ");
}
