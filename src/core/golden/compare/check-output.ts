// Checks one output of one case: what comes before any metric first, then each comparator.
import type { GoldenOutput, Precision } from "../../../../generated/golden.ts";
import type { GoldenCheck } from "../../../../generated/result.ts";
import { placeSlice } from "../tensor/slice.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { everyValue } from "../tensor/values.ts";
import {
	exactValues,
	findWorst,
	layoutCheck,
	markExisting,
	nonFiniteCheck,
	type OutputPart,
	splitParts,
	toNumeric,
	type Worst,
	worstOf,
} from "./checks.ts";
import { type Comparator, resolveComparators } from "./comparators.ts";
import { coveredSides } from "./coverage.ts";
import { type CommandAnswer, customCheck, customSpecs } from "./custom.ts";
import { keepsLimit, metrics } from "./registry.ts";

export interface OutputSides {
	name: string;
	expected: Tensor;
	got: Tensor;
	/** The base engine's, where there is one. */
	base: Tensor | undefined;
}

export interface OutputContext {
	spec: GoldenOutput | undefined;
	precision: Precision;
	/** The base engine's, where it is another one. */
	basePrecision?: Precision | undefined;
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
	/** Human labels: one class for each row. */
	labels?: readonly number[] | undefined;
	/** Results of the commands that the output's comparators name, in order; absent where no commands run, such as during recording. */
	answers?: readonly CommandAnswer[] | undefined;
}

export interface OutputChecks {
	checks: GoldenCheck[];
	/** Elements that some metric covers. */
	compared: number;
}

/** The checks of an output that both sides have. Metrics run only on what can be measured. */
export function checkOutput(sides: OutputSides, context: OutputContext): OutputChecks {
	const { name, expected, got } = sides;
	const layout = layoutCheck(name, expected, got);
	const baseLayout = sides.base && layoutCheck(name, expected, sides.base);
	if (layout !== null)
		return { checks: [markExisting(layout, baseLayout?.detail === layout.detail)], compared: 0 };
	const all = resolveComparators(context.spec, { ...context, expected });
	// Comparators of the whole set run after all cases; here the output only has to be comparable.
	const comparators = all.filter(({ scope }) => scope !== "set");
	if (elementCount(expected.shape) === 0)
		return { checks: comparators.map((comparator) => emptyCheck(name, comparator)), compared: 0 };
	const cut: Cut = { batchAxis: batchAxisOf(context.spec, expected), comparators };
	const parts = partsOf({ expected, got }, cut);
	const mustMatch = context.spec?.nonFinite === "must-match";
	const first = { scope: comparators[0]?.scope ?? "whole", slice: undefined, floor: 0 } as const;
	const placing = { mustMatch, batchAxis: cut.batchAxis };
	const nonFinite = nonFiniteCheck(name, parts(first), placing);
	const baseParts = sides.base && baseLayout === null ? partsOf({ expected, got: sides.base }, cut) : null;
	if (nonFinite?.pass === false) {
		const ofBase = baseParts && nonFiniteCheck(name, baseParts(first), placing);
		return { checks: [markExisting(nonFinite, ofBase?.pass === false)], compared: 0 };
	}
	const { basePrecision } = context;
	const ofBase =
		basePrecision === undefined
			? null
			: resolveComparators(context.spec, { ...context, precision: basePrecision, expected });
	const measured = comparators.map((comparator) => {
		const check = measuredCheck(name, comparator, { parts: parts(comparator), batchAxis: cut.batchAxis });
		const own = ofBase?.[all.indexOf(comparator)];
		return sides.base === undefined
			? check
			: withBase(check, { comparator, own }, baseParts?.(comparator) ?? null);
	});
	const { precision } = context;
	const commandChecks = customSpecs(context.spec).flatMap((spec, index) =>
		context.answers === undefined
			? []
			: [customCheck(name, spec, { answer: context.answers[index] ?? notRun, expected, precision })],
	);
	const checks = [...measured, ...commandChecks];
	const hasSetComparators = comparators.length < all.length || checks.length === 0;
	return {
		checks: nonFinite === null ? checks : [nonFinite, ...checks],
		compared: hasSetComparators
			? elementCount(expected.shape)
			: Math.max(nonFinite?.elements ?? 0, ...checks.map((check) => check.elements)),
	};
}

const notRun: CommandAnswer = { state: "failed", message: "it was not run" };

function batchAxisOf(spec: GoldenOutput | undefined, expected: Tensor): number | null {
	const axis = spec?.batchAxis ?? null;
	return axis !== null && axis < expected.shape.length ? axis : null;
}

interface Cut {
	batchAxis: number | null;
	comparators: readonly Comparator[];
}

/** What a comparator covers. */
type Coverage = Pick<Comparator, "scope" | "slice" | "floor">;

function coverageKey({ scope, slice, floor }: Coverage): string {
	return JSON.stringify([scope, slice ?? null, floor]);
}

/** The parts that a comparator covers, created on first use; one pass over them serves the sums and the first allclose. */
function partsOf(
	whole: { expected: Tensor; got: Tensor },
	cut: Cut,
): (coverage: Coverage) => readonly OutputPart[] {
	const known = new Map<string, readonly OutputPart[]>();
	return (coverage) => {
		const { scope, slice, floor } = coverage;
		const key = coverageKey(coverage);
		const planned = cut.comparators.find(
			(comparator) => comparator.kind === "allclose" && coverageKey(comparator) === key,
		);
		const axis = scope === "per-sample" ? cut.batchAxis : null;
		const parts =
			known.get(key) ??
			splitParts(coveredSides(whole, { slice, floor }), {
				axis,
				slice: placeSlice(slice, whole.expected.shape),
				planned,
			});
		known.set(key, parts);
		return parts;
	};
}

function checkOf(output: string, comparator: Comparator): Omit<GoldenCheck, "pass" | "got" | "elements"> {
	const { kind, allowed, severity, slice } = comparator;
	return { output, metric: kind, slice, allowed, bound: metrics[kind].bound, severity };
}

/** Shapes agree, so the outputs do; the case reports that nothing was compared. */
function emptyCheck(output: string, comparator: Comparator): GoldenCheck {
	return {
		...checkOf(output, comparator),
		got: null,
		pass: true,
		elements: 0,
		detail: "the output is empty, as the golden is",
	};
}

function measuredCheck(
	output: string,
	comparator: Comparator,
	cut: { parts: readonly OutputPart[]; batchAxis: number | null },
): GoldenCheck {
	const metric = metrics[comparator.kind];
	const check = checkOf(output, comparator);
	const parts =
		comparator.kind === "accuracy"
			? cut.parts
			: cut.parts.filter(({ pair }) => pair.difference().elements > 0);
	if (parts.length === 0) return infiniteCheck(check, cut.parts);
	const worst = findWorst(parts, metric.bound, (pair) => metric.measure(pair, comparator));
	if (worst === null)
		return { ...check, got: null, pass: false, elements: 0, detail: "nothing could be measured" };
	const { measured, part, elements } = worst;
	const detail = detailOf(worst);
	return {
		...check,
		...(part.sample === null ? {} : { sample: part.sample }),
		got: toNumeric(measured.value),
		pass: keepsLimit(measured.value, metric.bound, comparator.allowed),
		elements,
		...(measured.worstAt < 0 ? {} : { worst: worstOf(part, measured.worstAt, cut.batchAxis) }),
		detail,
	};
}

/** No element is finite, and both sides are the same (checked before). Infinities count as values, but any broken engine returns NaN everywhere. */
function infiniteCheck(
	check: Omit<GoldenCheck, "pass" | "got" | "elements">,
	parts: readonly OutputPart[],
): GoldenCheck {
	const pass = parts.some(
		({ pair }) => !everyValue(pair.expected, (value) => Math.abs(value) !== Number.POSITIVE_INFINITY),
	);
	const detail = pass
		? "no element of the golden is finite, and the engine's are the same"
		: "every element is NaN, so nothing was measured";
	return { ...check, got: null, pass, elements: 0, detail };
}

function detailOf({ measured, part }: Worst): string | undefined {
	const exact = measured.worstAt < 0 ? undefined : exactValues(part, measured.worstAt);
	const details = [measured.detail, exact].filter((detail) => detail !== undefined);
	return details.length === 0 ? undefined : details.join("; ");
}

/** Adds the base engine's score against the same golden; null: its output cannot be compared. */
/** @param comparators the head's, and the base's own where its precision is another one. */
function withBase(
	check: GoldenCheck,
	{ comparator, own }: { comparator: Comparator; own: Comparator | undefined },
	parts: readonly OutputPart[] | null,
): GoldenCheck {
	if (parts === null) return { ...check, base: null };
	const metric = metrics[comparator.kind];
	const misplaced = parts.some((part) => part.pair.difference().nonFinite.differing > 0);
	const worst = misplaced ? null : findWorst(parts, metric.bound, (pair) => metric.measure(pair, comparator));
	const value = misplaced ? Number.NaN : (worst?.measured.value ?? null);
	if (value === null) return { ...check, base: null };
	const { allowed } = own ?? comparator;
	const shown = { ...check, base: toNumeric(value), baseAllowed: own === undefined ? undefined : allowed };
	return markExisting(shown, !keepsLimit(value, metric.bound, allowed));
}
