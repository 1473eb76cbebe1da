// What the steps of a run are expected to take, after what others of their kind have taken so far.
import type { Arm } from "../schema/result.ts";
import { type Duration, roughDuration } from "./time-left.ts";

/** A finished item of a stage. */
export interface Took {
	kind: string;
	engineId: string;
	/** Of a build. */
	arm?: Arm;
	/** Of a measurement. */
	workloadId?: string;
	ms: number;
}

/** An item of a stage. */
export interface Line extends Omit<Took, "ms"> {
	/** As the stage reports it. */
	label: string;
	likelyMs: number;
	isKnown: boolean;
	/** 0: not a guess. */
	spread: number;
	/** Lines that are wrong by the same factor; of both sides where none of its own side is done. */
	groups: readonly string[];
	tookMs?: number;
}

/** First guesses count as much as so many builds: of what all builds share, and of what those of one model do. */
const guessWeights = { all: 1.5, model: 1 };
const leastBuildMs = 100;
/** How much of the spread is left where the same model was built for another precision. */
const seenSpread = 0.6;

export function laterDuration(lines: readonly Line[], at: number): Duration {
	const factors = factorsOf(lines);
	const expected = expectedBy(factors);
	const later = lines.slice(at + 1).map((line) => ({ ...line, ...durationOf(expected(line)) }));
	const guesses = later.filter(({ spread }) => spread > 0);
	const spread = Math.max(0, ...guesses.map((line) => line.spread));
	const [, group = ""] = guesses[0]?.groups ?? [];
	// All guesses may be wrong by the same factor, which is less certain the fewer builds are done.
	const factorVariance = Math.expm1(spread ** 2 / (guessWeights.all + (factors.get(group)?.count ?? 0)));
	return {
		meanMs: sumOf(later, "meanMs"),
		varianceMs2: sumOf(later, "varianceMs2") + sumOf(guesses, "meanMs") ** 2 * factorVariance,
	};
}

function sumOf<Key extends string>(items: readonly Readonly<Record<Key, number>>[], key: Key): number {
	return items.reduce((sum, item) => sum + item[key], 0);
}

/** What something takes: the spread is the standard deviation of its logarithm, 0 where it is known. */
export interface Rough {
	medianMs: number;
	spread: number;
}

function durationOf({ medianMs, spread }: Rough): Duration {
	return spread > 0 ? roughDuration(medianMs, spread) : { meanMs: medianMs, varianceMs2: 0 };
}

type Factors = ReadonlyMap<string, { factor: number; count: number }>;

/** Another precision of the same model takes longer for the same reasons. */
const modelGroup = ({ groups: [group = ""], engineId }: Line): string => `${group} of ${engineId.split("/", 1)[0]}`;

export function expectedBy(factors: Factors): (line: Line) => Rough {
	return (line) => {
		const learned = line.groups.map((group) => factors.get(group)).find((found) => found !== undefined);
		const { factor } = learned ?? (line.isKnown ? factors.get("known") : undefined) ?? { factor: 1 };
		const seen = line.spread > 0 ? factors.get(modelGroup(line)) : undefined;
		return { medianMs: line.likelyMs * factor * (seen?.factor ?? 1), spread: line.spread * (seen === undefined ? 1 : seenSpread) };
	};
}

/** What the lines of a group took ÷ what was expected; of all that earlier runs had, `known`: how fast the machine is today. */
export function factorsOf(lines: readonly Line[]): Factors {
	const over = lines.flatMap(({ tookMs, ...line }) => (tookMs !== undefined && wasDone(line, tookMs) ? [{ ...line, tookMs }] : []));
	const factorOf = (some: typeof over): number => {
		if (some.every(({ spread }) => spread === 0)) return some.length === 0 ? 1 : sumOf(some, "tookMs") / sumOf(some, "likelyMs");
		return Math.exp(sumOf(some.map(logOf), "log") / (some.length + guessWeights.all));
	};
	const groups = [...new Set(over.flatMap((line) => line.groups))].map((name) => {
		const some = over.filter((line) => line.groups.includes(name));
		return [name, { factor: factorOf(some), count: some.length }] as const;
	});
	const shared = new Map(groups);
	const guesses = over.filter(({ spread }) => spread > 0);
	const models = [...new Set(guesses.map(modelGroup))].map((name) => {
		const some = guesses.filter((line) => modelGroup(line) === name);
		const own = sumOf(some.map(logOf), "log") - some.length * Math.log(shared.get(some[0]?.groups[0] ?? "")?.factor ?? 1);
		return [name, { factor: Math.exp(own / (some.length + guessWeights.model)), count: some.length }] as const;
	});
	const known = over.filter(({ isKnown }) => isKnown);
	// An engine that the cache had lost says nothing of the machine.
	return new Map([...groups, ...models, ["known", { factor: Math.min(2, Math.max(0.5, factorOf(known))), count: known.length }]]);
}

/** A build of a model that is missing or blocked is over at once. */
function wasDone({ likelyMs, spread }: Line, tookMs: number): boolean {
	return likelyMs > 0 && (spread === 0 || tookMs >= leastBuildMs);
}

function logOf({ tookMs, likelyMs }: { tookMs: number; likelyMs: number }): { log: number } {
	return { log: Math.log(Math.max(1, tookMs) / likelyMs) };
}
