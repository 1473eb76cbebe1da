// Searches sizes for open axes: combinations of what is worth trying, without those that the static shapes rule out.
import type { OnnxModel } from "../model.ts";
import { quoteName, showText } from "../quote.ts";
import { type BoundShapes, fillShapes, type ShapeCheck, shapeCheck } from "./bind.ts";
import { type AxisKind, kindsOf } from "./propose.ts";
import { describeShapes, lineToCopy } from "./render.ts";

export type Sizes = ReadonlyMap<string, number>;

export interface Attempt {
	sizes: Sizes;
	why: string;
	by: "static shapes" | "run";
}

export interface SizeSearch {
	next(count: number): Sizes[];
	failed(sizes: Sizes, why: string): void;
	attempts: readonly Attempt[];
}

/** Combinations that one search looks at: each costs milliseconds. */
const maxChecks = 300;
const maxSize = 65_536;

export function searchSizes(model: OnnxModel, bound: BoundShapes): SizeSearch {
	const kinds = kindsOf(model, bound.open);
	const candidates = new Map([...kinds].map(([name, { sizes }]) => [name, [...sizes]]));
	const check: ShapeCheck = bound.open.length === 0 ? () => null : shapeCheck(model);
	const [seen, attempts, nearby]: [Set<string>, Attempt[], Sizes[]] = [new Set(), [], []];
	let checks = 0;
	const learn = (attempt: Attempt): void => {
		attempts.push(attempt);
		addHints(attempt, { candidates, bound, kinds });
		// Checks cost little, runs much.
		if (attempt.by === "static shapes") nearby.push(...lengthened(attempt, kinds));
	};
	function* worthTrying(): Generator<Sizes> {
		for (let next = nearby.shift(); next !== undefined; next = nearby.shift()) yield next;
		yield* combinations(candidates);
	}
	const firstNew = (): Sizes | null => {
		for (const sizes of worthTrying()) {
			const key = [...sizes.values()].join();
			if (seen.has(key)) continue;
			seen.add(key);
			return sizes;
		}
		return null;
	};
	return {
		attempts,
		failed: (sizes, why) => learn({ sizes, why, by: "run" }),
		next(count) {
			const found: Sizes[] = [];
			while (found.length < count && checks++ < maxChecks) {
				const sizes = firstNew();
				if (sizes === null) break;
				const shapes = fillShapes(bound, sizes);
				const why = shapes === null ? "an input has no shape" : check(shapes);
				if (why === null) found.push(sizes);
				else learn({ sizes, why, by: "static shapes" });
			}
			return found;
		},
	};
}

function* combinations(candidates: ReadonlyMap<string, readonly number[]>): Generator<Sizes> {
	const lists = [...candidates];
	const highest = lists.reduce((sum, [, sizes]) => sum + sizes.length - 1, 0);
	for (let sum = 0; sum <= highest; sum++) yield* withSum(lists, sum);
}

function* withSum(
	lists: readonly (readonly [string, readonly number[]])[],
	sum: number,
): Generator<Map<string, number>> {
	const [first, ...others] = lists;
	if (first === undefined) {
		if (sum === 0) yield new Map();
		return;
	}
	const [name, sizes] = first;
	const reach = others.reduce((total, [, list]) => total + list.length - 1, 0);
	for (let rank = Math.max(0, sum - reach); rank <= Math.min(sum, sizes.length - 1); rank++) {
		for (const tail of withSum(others, sum - rank)) yield new Map([[name, sizes[rank] ?? 1], ...tail]);
	}
}

interface Hinted {
	candidates: Map<string, number[]>;
	bound: BoundShapes;
	kinds: ReadonlyMap<string, AxisKind>;
}

function addHints({ sizes, why }: Attempt, { candidates, bound, kinds }: Hinted): void {
	const named = expectedSize(why, bound);
	// A message's numbers seldom are batch sizes.
	const mayHint = (name: string): boolean => named === null && kinds.get(name)?.isBatch !== true;
	for (const [name, list] of candidates) {
		const size = sizes.get(name) ?? 1;
		const hints = mayHint(name) ? hintsFor(size, why) : named?.name === name ? [named.size] : [];
		// Guesses of guesses lead nowhere.
		if (named === null && kinds.get(name)?.sizes.includes(size) !== true) continue;
		candidates.set(name, [...hints, ...list.filter((each) => !hints.includes(each))]);
	}
}

/** One axis longer by what the message's shapes differ in: a mask covers the steps of the cache and the new ones. */
function lengthened({ sizes, why }: Attempt, kinds: Hinted["kinds"]): Sizes[] {
	const own = [...sizes].filter(
		([name, size]) => kinds.get(name)?.isBatch !== true && kinds.get(name)?.sizes.includes(size),
	);
	const missing = pairsIn(why).flatMap(([got, expected]) => (expected > got ? [expected - got] : []));
	return own.flatMap(([name, size]) => missing.map((more) => new Map([...sizes, [name, size + more]])));
}

/** ONNX Runtime about an input: `Got invalid dimensions for input: x … index: 2 Got: 16 Expected: 48`. */
function expectedSize(why: string, { inputs, labels }: BoundShapes): { name: string; size: number } | null {
	const groups = /Input "(?<input>.+)" has size \d+ in dimension (?<axis>\d+), expected (?<size>\d+)/.exec(
		why,
	)?.groups;
	const label =
		labels[inputs.findIndex(({ name }) => name === groups?.["input"])]?.[Number(groups?.["axis"])];
	return label === undefined || typeof label === "number"
		? null
		: { name: label.name, size: Number(groups?.["size"]) };
}

const mostNumbers = 8;
const mostHints = 4;

/**
 * A message such as `joins [1, 401, 64] and [1, 197, 64]` names what came out and what was expected: the size is off by their
 * ratio, or by its root where height and width both count; one class token may be among them.
 */
function hintsFor(size: number, why: string): number[] {
	const hints = pairsIn(why).flatMap(([got, expected]) => [
		size * Math.sqrt(expected / got),
		(size * expected) / got,
		size * Math.sqrt((expected - 1) / (got - 1)),
	]);
	const usable = hints.filter(
		(hint) => Number.isInteger(hint) && hint > 0 && hint <= maxSize && hint !== size,
	);
	return [...new Set(usable)].slice(0, mostHints);
}

/**
 * Numbers of a message that may be at odds, what came out before what was expected, and the other way round: those that it says
 * so of, else those in which two shapes of one rank differ, else all.
 */
function pairsIn(why: string): (readonly [number, number])[] {
	const both = (one: number, other: number) => [[one, other] as const, [other, one] as const];
	const stated = /(\d{1,9}) and (\d{1,9})(?= must be the same|$)/.exec(why);
	if (stated !== null) return both(Number(stated[1]), Number(stated[2]));
	const shapes = [...why.matchAll(/[[{](\d+(?:, ?\d+)+)[\]}]/g)].map(([, list = ""]) =>
		list.split(",").map(Number),
	);
	const [first, last] = [shapes.at(-2) ?? [], shapes.at(-1) ?? []];
	const odd =
		last.length === first.length ? [...last.keys()].filter((axis) => last[axis] !== first[axis]) : [];
	if (odd.length > 0) return odd.flatMap((axis) => both(first[axis] ?? 1, last[axis] ?? 1));
	const numbers = [...why.matchAll(/(?<![\w.])\d{1,6}(?![\w.])/g)]
		.map(([text]) => Number(text))
		.filter((number) => number > 1);
	const few = [...new Set(numbers)].slice(0, mostNumbers);
	return few.flatMap((got, index) => few.slice(index + 1).flatMap((expected) => both(got, expected)));
}

interface ChosenSizes {
	sizes: Sizes;
	untried: string | null;
	attempts: readonly Attempt[];
}

const mostReasons = 8;

export function describeChosen(
	model: OnnxModel,
	bound: BoundShapes,
	{ sizes, untried, attempts }: ChosenSizes,
): string {
	const kinds = kindsOf(model, bound.open);
	const reasons = bound.open.map(
		({ name }) => `${quoteName(name, "")} ${sizes.get(name)} (${reasonFor(name, sizes, kinds)})`,
	);
	const shown = reasons.length > mostReasons ? [...reasons.slice(0, mostReasons), "…"] : reasons;
	const isFirst = bound.open.every(({ name }) => kinds.get(name)?.sizes[0] === sizes.get(name));
	const failed =
		attempts.length === 0 || isFirst
			? ""
			: ` after ${attempts.length} other${attempts.length === 1 ? "" : "s"} that cannot run`;
	const proof =
		untried === null ? `ONNX Runtime runs them${failed}` : `not tried, because ${untried.replace(/\.$/, "")}`;
	return `sizes chosen: ${shown.join(", ")}; ${proof}`;
}

function reasonFor(name: string, sizes: Sizes, kinds: ReadonlyMap<string, AxisKind>): string {
	const kind = kinds.get(name);
	const size = sizes.get(name) ?? 1;
	if (kind === undefined || kind.sizes.includes(size)) return kind?.says ?? "a guess";
	return `${kind.says}; an error message named it`;
}

export function sameSizes(bound: BoundShapes, sizes: Sizes): string {
	return lineToCopy(bound, sizes, "options");
}

const mostAttempts = 5;

/** `Tried without success: x [1, 3, 16, 16]: …`. */
export function describeAttempts(bound: BoundShapes, attempts: readonly Attempt[]): string {
	if (attempts.length === 0) return "";
	const texts = attempts.slice(0, mostAttempts).map(({ sizes, why, by }) => {
		const shapes = describeShapes(fillShapes(bound, sizes) ?? {});
		return `${shapes} ${by === "run" ? "failed" : "cannot run"}: ${showText(why.slice(0, 200)).replace(/\.$/, "")}`;
	});
	const more = attempts.length > mostAttempts ? `; and ${attempts.length - mostAttempts} more` : "";
	return `Tried without success: ${texts.join("; ")}${more}.`;
}
