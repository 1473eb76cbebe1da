// Gives every input its shape, and searches sizes for open axes.
import type { ConfigError } from "../../errors.ts";
import { formatDims, quoteName, showText } from "../../text/escape.ts";
import { isTensor, notTensorFix, notTensorText, type OnnxModel } from "../model.ts";
import {
	bindShapes,
	fault,
	fillShapes,
	refuseImpossible,
	type ShapeCheck,
	type ShapeSource,
	shapeCheck,
} from "./bind.ts";
import {
	type AxisKind,
	describeShapes,
	describeUses,
	kindsOf,
	lineToCopy,
	type OpenInputs,
	proposeSizes,
} from "./open-axes.ts";

/** @throws ConfigError config-dims if a size is missing, binds nothing, or contradicts the model. */
export function resolveShapes(model: OnnxModel, source: ShapeSource): Record<string, number[]> {
	const bound = bindShapes(model, source);
	const shapes = fillShapes(bound, new Map());
	if (shapes === null) throw missingSizes(model, bound, source);
	return shapes;
}

export function runnableShapes(model: OnnxModel, source: ShapeSource): Record<string, number[]> {
	const shapes = resolveShapes(model, source);
	refuseImpossible(shapeCheck(model), shapes, source);
	return shapes;
}

export function missingSizes(
	model: OnnxModel,
	bound: OpenInputs,
	source: ShapeSource & { tried?: string },
): ConfigError {
	const { inputs, labels, open } = bound;
	const at = open.length === 0 ? "/inputs" : "/dims";
	const stray = inputs.find((input) => !isTensor(input));
	if (stray !== undefined) {
		const message = `Input ${quoteName(stray.name)} is ${notTensorText(stray)}.`;
		return fault(source, { message, fix: notTensorFix(model.graph), at });
	}
	const isOption = source.pointer === undefined;
	const sizes = searchSizes(model, bound).next(1)[0] ?? proposeSizes(model, open);
	const messages: string[] = [];
	const lines: string[] = [];
	if (open.length > 0) {
		const isOpen = new Set(open.flatMap(({ uses }) => uses.map(({ input }) => input)));
		const shapes = inputs.filter(({ name }) => isOpen.has(name));
		const shown = shapes.map(({ name, dims }) => `${quoteName(name)} ${formatDims(dims ?? [])}`).join(", ");
		messages.push(`Sizes are missing: ${describeUses(open)}. The model's inputs: ${shown}.`);
		lines.push(lineToCopy(bound, sizes, isOption ? "options" : "config"));
	}
	for (const [index, { name, kind }] of inputs.entries()) {
		if (labels[index] !== null) continue;
		messages.push(`The model gives no shape for its input ${quoteName(name)} (${kind}).`);
		const shown = quoteName(name, "");
		lines.push(isOption ? `--shape ${shown}=…` : `inputs: { ${shown}: { shape: […] } }`);
	}
	if (source.tried !== undefined) messages.push(source.tried);
	const where = isOption ? "" : ", under the model in trtgate.yml";
	const fix = `Give the sizes that you serve${where}: ${lines.join(isOption ? " " : ", ")}`;
	return fault(source, { message: messages.join(" "), fix, at });
}

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

const maxChecks = 300;
const maxSize = 65_536;

export function searchSizes(model: OnnxModel, bound: OpenInputs): SizeSearch {
	const kinds = kindsOf(model, bound.open);
	const candidates = new Map([...kinds].map(([name, { sizes }]) => [name, sizes]));
	const check: ShapeCheck = bound.open.length === 0 ? () => null : shapeCheck(model);
	const attempts: Attempt[] = [];
	const nearby: Sizes[] = [];
	const seen = new Set<string>();
	let checks = 0;
	const learn = (attempt: Attempt) => {
		attempts.push(attempt);
		addHints(attempt, { candidates, bound, kinds });
		// Checks are cheap, runs are expensive.
		if (attempt.by === "static shapes") nearby.push(...lengthened(attempt, kinds));
	};
	const isNew = (sizes: Sizes) => seen.size < seen.add([...sizes.values()].join()).size;
	const firstNew = () => {
		for (let next = nearby.shift(); next !== undefined; next = nearby.shift()) if (isNew(next)) return next;
		for (const next of combinations(candidates)) if (isNew(next)) return next;
		return undefined;
	};
	return {
		attempts,
		failed: (sizes, why) => learn({ sizes, why, by: "run" }),
		next(count) {
			const found: Sizes[] = [];
			while (found.length < count && checks++ < maxChecks) {
				const sizes = firstNew();
				if (sizes === undefined) break;
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
	const queue = [{ ranks: lists.map(() => 0), last: lists.length - 1 }];
	for (const { ranks, last } of queue) {
		yield new Map(lists.map(([name, sizes], axis) => [name, sizes[ranks[axis] ?? 0] ?? 1]));
		for (let axis = last; axis >= 0; axis--) {
			const rank = (ranks[axis] ?? 0) + 1;
			if (rank < (lists[axis]?.[1].length ?? 0)) queue.push({ ranks: ranks.with(axis, rank), last: axis });
		}
	}
}

interface Hinted {
	candidates: Map<string, readonly number[]>;
	bound: OpenInputs;
	kinds: ReadonlyMap<string, AxisKind>;
}

function addHints({ sizes, why }: Attempt, { candidates, bound, kinds }: Hinted) {
	const expected = expectedSize(why, bound);
	for (const [name, list] of candidates) {
		const size = sizes.get(name) ?? 1;
		const kind = kinds.get(name);
		// Guesses of guesses lead nowhere, and a message's numbers seldom are batch sizes.
		const guessed = kind?.sizes.includes(size) === true && kind.isBatch !== true ? hintsFor(size, why) : [];
		const hints = expected === null ? guessed : expected.name === name ? [expected.size] : [];
		candidates.set(name, [...hints, ...list.filter((each) => !hints.includes(each))]);
	}
}

function lengthened({ sizes, why }: Attempt, kinds: Hinted["kinds"]) {
	const missing = pairsIn(why).flatMap(([got, expected]) => (expected > got ? [expected - got] : []));
	return [...sizes].flatMap(([name, size]) => {
		const kind = kinds.get(name);
		if (kind?.isBatch === true || kind?.sizes.includes(size) !== true) return [];
		return missing.map((more) => new Map([...sizes, [name, size + more]]));
	});
}

function expectedSize(why: string, { inputs, labels }: OpenInputs) {
	const found = /Input "(.+)" has size \d+ in dimension (\d+), expected (\d+)/.exec(why);
	const label = labels[inputs.findIndex(({ name }) => name === found?.[1])]?.[Number(found?.[2])];
	return typeof label === "object" ? { name: label.name, size: Number(found?.[3]) } : null;
}

const mostNumbers = 8;
const mostHints = 4;

/** The size is off by the ratio of the two numbers, or by its root if height and width count; one class token may be among them. */
function hintsFor(size: number, why: string) {
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

/** Both ways round: stated pairs, else where two shapes differ, else all numbers. */
function pairsIn(why: string) {
	const both = (one: number, other: number) => [[one, other] as const, [other, one] as const];
	const stated = /(\d{1,9}) and (\d{1,9})(?= must be the same|$)/.exec(why);
	if (stated !== null) return both(Number(stated[1]), Number(stated[2]));
	const shapes = [...why.matchAll(/[[{](\d+(?:, ?\d+)+)[\]}]/g)].map(([, list = ""]) =>
		list.split(",").map(Number),
	);
	const [first = [], last = []] = shapes.slice(-2);
	const pairs =
		first.length === last.length ? first.map((size, axis) => [size, last[axis] ?? 1] as const) : [];
	const odd = pairs.filter(([one, other]) => one !== other);
	if (odd.length > 0) return odd.flatMap(([one, other]) => both(one, other));
	const numbers = [...why.matchAll(/(?<![\w.])\d{1,6}(?![\w.])/g)].map(([text]) => Number(text));
	const few = [...new Set(numbers.filter((number) => number > 1))].slice(0, mostNumbers);
	return few.flatMap((got, index) => few.slice(index + 1).flatMap((expected) => both(got, expected)));
}

const mostReasons = 8;

export function describeChosen(
	model: OnnxModel,
	{ open }: OpenInputs,
	{ sizes, untried }: { sizes: Sizes; untried: string | null },
): string {
	const kinds = kindsOf(model, open);
	const reasons = open.map(
		({ name }) => `${quoteName(name, "")} ${sizes.get(name)} (${kinds.get(name)?.says ?? "a guess"})`,
	);
	const shown = reasons.length > mostReasons ? [...reasons.slice(0, mostReasons), "…"] : reasons;
	const proof =
		untried === null ? "ONNX Runtime runs them" : `not tried, because ${untried.replace(/\.$/, "")}`;
	return `sizes chosen: ${shown.join(", ")}; ${proof}`;
}

const mostAttempts = 5;

export function describeAttempts(bound: OpenInputs, attempts: readonly Attempt[]): string {
	if (attempts.length === 0) return "";
	const texts = attempts.slice(0, mostAttempts).map(({ sizes, why }) => {
		const shapes = describeShapes(fillShapes(bound, sizes) ?? {});
		return `${shapes}: ${showText(why.slice(0, 200)).replace(/\.$/, "")}`;
	});
	const more = attempts.length > mostAttempts ? `; and ${attempts.length - mostAttempts} more` : "";
	return `Tried without success: ${texts.join("; ")}${more}.`;
}
