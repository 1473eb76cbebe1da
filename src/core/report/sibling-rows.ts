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

interface Row {
	model: string;
	engine: string;
	workload: string;
	part?: string;
	precision: string;
	against?: string;
	latency?: Comparison;
	ms: number | null;
	/** ln of the time over the reference's: the ends of the interval; null: not known. */
	place: readonly [low: number, high: number] | null;
	/** `value`: the worst relative L2. A figure of the golden stands in for an unknown one in `text`. */
	error: { value: number | null; text: string | null; isWrong: boolean };
	memoryBytes: number | null;
	engineBytes: number | null;
}

export interface SiblingRow extends Row {
	isBest: boolean;
}

export function siblingFamilies(result: Result): SiblingRow[][] {
	const groups = groupBy(result.siblings ?? [], ({ model, workload, part }) =>
		JSON.stringify([model, workload, part]),
	);
	return [...groups.values()].flatMap((siblings) => {
		const engines = new Set(siblings.map(({ engine }) => engine));
		const references = siblings.filter(({ against }) => !engines.has(against));
		const families = [...groupBy(references, ({ against }) => against).values()];
		return families.map(([first]) => ranked(familyOf(first, siblings, result)));
	});
}

function familyOf(first: SiblingResult, siblings: readonly SiblingResult[], result: Result) {
	const { model, workload, ...of } = first;
	const rowOf = (engine: string, place: Row["place"], found?: ArmStats | null): Row => {
		const id = { model, engine, ...(of.part !== undefined && { part: of.part }) };
		const isOwn = (one: Parameters<typeof engineKey>[0]) => engineKey(one) === engineKey(id);
		const build = result.builds.find((one) => one.arm === "head" && isOwn(one));
		// An engine with the same bytes as its sibling is not timed in pairs.
		const stats = found ?? result.workloads.find((one) => isOwn(one) && one.workload === workload)?.head;
		return {
			...{ ...id, workload, place, precision: build?.precision ?? "" },
			ms: stats?.medianMs ?? null,
			error: errorOf(result.golden.filter(isOwn)),
			memoryBytes: stats?.peakMemoryBytes ?? null,
			engineBytes: build?.engineBytes ?? null,
		};
	};
	const rows = [rowOf(of.against, [0, 0], first.sibling)];
	// Each engine follows the one that it is against, once: a forged result may lead in circles.
	for (const { engine: against, place } of rows)
		for (const { engine, latency, own } of siblings.filter((one) => one.against === against))
			if (!rows.some((row) => row.engine === engine))
				rows.push({ ...rowOf(engine, placed(place, latency), own), against, latency });
	return rows;
}

/** Along a chain the widths add up. */
function placed(sibling: Row["place"], { interval }: Comparison): Row["place"] {
	if (sibling === null || interval === null) return null;
	return [sibling[0] + Math.log1p(interval[0]), sibling[1] + Math.log1p(interval[1])];
}

function errorOf(verdicts: readonly GoldenVerdict[]) {
	const checks = verdicts.flatMap((verdict) => verdict.checks).filter(({ got }) => got !== null);
	const l2 = checks.flatMap(({ metric, got }) =>
		metric === "relative-l2" && typeof got === "number" ? [got] : [],
	);
	const value = l2.length === 0 ? null : Math.max(...l2);
	const [worst] = checks.sort((a, b) => capRatio(b) - capRatio(a));
	const other = worst === undefined ? null : `${checkLabel(worst)} ${gotText(worst)}`;
	const isWrong = verdicts.some(({ state }) => state !== "match");
	return { value, text: value === null ? other : formatValue(value), isWrong };
}

function ranked(family: readonly Row[]) {
	const right = family.filter(({ error }) => !error.isWrong);
	return family.map((own) => ({
		...own,
		isBest: own.place !== null && right.includes(own) && !right.some((other) => isBetter(other, own)),
	}));
}

/** Other kernels change an error by less than this factor, as in the gate `golden.error-growth`. */
const sameError = 2;

/** Faster or more accurate beyond doubt, and not the opposite in the other. */
function isBetter(one: Row, other: Row) {
	if (one.place === null || other.place === null) return false;
	const isMoreExact = ({ error: a }: Row, { error: b }: Row) =>
		a.value !== null && b.value !== null && b.value > sameError * a.value;
	if (one.place[0] > other.place[1] || isMoreExact(other, one)) return false;
	return one.place[1] < other.place[0] || isMoreExact(one, other);
}
