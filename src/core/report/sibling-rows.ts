// Engines that `against` links, with what each costs and how wrong it is, and which of them are worth having.
import type {
	ArmStats,
	Comparison,
	GoldenVerdict,
	Result,
	SiblingResult,
} from "../../../generated/result.ts";
import { groupBy } from "../group.ts";
import { formatValue } from "../text/units.ts";
import { capRatio, checkLabel, gotText } from "./golden-format.ts";
import { engineKey } from "./index-gates.ts";

/** ln of the time over that of the family's reference, with its interval; null: not known. */
export interface Place {
	low: number;
	high: number;
}

export interface SiblingRow {
	model: string;
	engine: string;
	workload: string;
	part?: string | undefined;
	precision: string;
	/** Absent: the reference of its family. */
	against?: string;
	latency?: Comparison;
	ms: number | null;
	place: Place | null;
	error: OwnError;
	memoryBytes: number | null;
	engineBytes: number | null;
	/** No other engine of its family is better beyond doubt. */
	isBest: boolean;
}

export interface OwnError {
	/** The worst relative L2 error of its golden; null: not known. */
	relativeL2: number | null;
	/** A figure of the golden stands in for an unknown relative L2. */
	text: string | null;
	isWrong: boolean;
}

type Unranked = Omit<SiblingRow, "isBest">;

/** Reference first, then by time. */
export function siblingFamilies(result: Result): SiblingRow[][] {
	const groups = groupBy(result.siblings ?? [], ({ model, workload, part }) =>
		JSON.stringify([model, workload, part]),
	);
	return [...groups.values()].flatMap((siblings) =>
		referencesOf(siblings).map((reference) => ranked(familyOf(reference, siblings, result))),
	);
}

function referencesOf(siblings: readonly SiblingResult[]): string[] {
	const engines = new Set(siblings.map(({ engine }) => engine));
	return [...new Set(siblings.map(({ against }) => against))].filter((name) => !engines.has(name));
}

function familyOf(reference: string, siblings: readonly SiblingResult[], result: Result): Unranked[] {
	const [first] = siblings;
	if (first === undefined) return [];
	const { model, workload, part } = first;
	const errors = groupBy(result.golden, engineKey);
	const rowOf = (engine: string, stats: ArmStats | null, own: Pick<Unranked, "ms" | "place">): Unranked => {
		const of = { model, engine, part };
		const build = result.builds.find((one) => one.arm === "head" && engineKey(one) === engineKey(of));
		return {
			...{ ...of, workload, ...own, precision: build?.precision ?? "" },
			error: errorOf(errors.get(engineKey(of)) ?? []),
			memoryBytes: stats?.peakMemoryBytes ?? null,
			engineBytes: build?.engineBytes ?? null,
		};
	};
	const start = siblings.find(({ against }) => against === reference);
	const stats = start?.sibling ?? null;
	const ms = start?.latency.base ?? stats?.medianMs ?? null;
	const rows = [rowOf(reference, stats, { ms, place: { low: 0, high: 0 } })];
	// Each engine follows the one that it is against, and no chain closes a circle.
	for (const { engine, place } of rows)
		for (const { latency, own, ...sibling } of siblings.filter(({ against }) => against === engine)) {
			const time = { ms: latency.head ?? own?.medianMs ?? null, place: placed(place, latency) };
			rows.push({ ...rowOf(sibling.engine, own, time), against: engine, latency });
		}
	const [head, ...others] = rows;
	const byTime = others.sort((a, b) => (a.ms ?? Number.MAX_VALUE) - (b.ms ?? Number.MAX_VALUE));
	return head === undefined ? [] : [head, ...byTime];
}

/** Along a chain the widths add up. */
function placed(sibling: Place | null, { interval }: Comparison): Place | null {
	if (sibling === null || interval === null) return null;
	const [low, high] = interval.map(Math.log1p) as [number, number];
	return { low: sibling.low + low, high: sibling.high + high };
}

function errorOf(verdicts: readonly GoldenVerdict[]): OwnError {
	const checks = verdicts.flatMap((verdict) => verdict.checks);
	const l2 = checks.flatMap(({ metric, got }) =>
		metric === "relative-l2" && typeof got === "number" ? [got] : [],
	);
	const relativeL2 = l2.length === 0 ? null : Math.max(...l2);
	const [worst] = checks.filter(({ got }) => got !== null).sort((a, b) => capRatio(b) - capRatio(a));
	const other = worst === undefined ? null : `${checkLabel(worst)} ${gotText(worst)}`;
	const isWrong = verdicts.some(({ state }) => state !== "match");
	return { relativeL2, text: relativeL2 === null ? other : formatValue(relativeL2), isWrong };
}

/** Other kernels change an error by less than this factor, as in the gate `golden.error-growth`. */
const sameError = 2;

function ranked(family: readonly Unranked[]): SiblingRow[] {
	return family.map((own) => ({
		...own,
		isBest:
			family.length > 1 &&
			own.place !== null &&
			!own.error.isWrong &&
			!family.some((other) => !other.error.isWrong && isBetter(other, own)),
	}));
}

/** Faster or more accurate beyond doubt, and not the opposite in the other. */
function isBetter(one: Unranked, other: Unranked): boolean {
	if (one.place === null || other.place === null) return false;
	const [mine, theirs] = [one.error.relativeL2, other.error.relativeL2];
	const isMoreExact = (a: number | null, b: number | null): boolean =>
		a !== null && b !== null && b > sameError * a;
	const [isFaster, isSlower] = [one.place.high < other.place.low, one.place.low > other.place.high];
	if (isSlower || isMoreExact(theirs, mine)) return false;
	return isFaster || isMoreExact(mine, theirs);
}
