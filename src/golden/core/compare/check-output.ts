// Checks one output of one case: structure and NaN before any metric, then each comparator and the user's commands.

import type { ComparatorSpec, GoldenOutput, Precision } from "../../../../generated/golden.ts";
import type { GoldenCheck } from "../../../../generated/result.ts";
import { keepsLimit } from "../metrics/element-errors.ts";
import { elementCount, type Sides, type Tensor } from "../tensor/tensor.ts";
import { everyValue } from "../tensor/values.ts";
import {
	type Coverage,
	coveredParts,
	findWorst,
	layoutCheck,
	markExisting,
	nonFiniteCheck,
	type OutputPart,
	structuralCheck,
	toNumeric,
	worstOf,
} from "./checks.ts";
import { type Comparator, type ResolveContext, resolveComparators } from "./comparators.ts";
import { makePair } from "./difference.ts";
import { metrics } from "./registry.ts";
import { toleranceAt } from "./tolerances.ts";

interface OutputContext extends Omit<ResolveContext, "expected"> {
	spec: GoldenOutput | undefined;
	basePrecision?: Precision;
	answers?: readonly CommandAnswer[];
	positionOf?: (step: number) => number;
}

export interface OutputChecks {
	checks: GoldenCheck[];
	compared: number;
}

const notRun: CommandAnswer = { state: "failed", message: "it was not run" };

export function checkOutput(
	{ name, expected, got, base }: Sides & { name: string; base: Tensor | undefined },
	context: OutputContext,
): OutputChecks {
	const { spec, precision, basePrecision, answers, positionOf } = context;
	const layout = layoutCheck(name, expected, got);
	const baseLayout = base && layoutCheck(name, expected, base);
	if (layout !== null)
		return { checks: [markExisting(layout, baseLayout?.detail === layout.detail)], compared: 0 };
	const elements = elementCount(expected.shape);
	const all = resolveComparators(spec, { ...context, expected });
	const comparators = all.filter(({ scope }) => scope !== "set");
	if (elements === 0) {
		const empty = { got: null, pass: true, elements: 0, detail: "the output is empty, as the golden is" };
		return { checks: comparators.map((one) => ({ ...aboutCheck(name, one), ...empty })), compared: 0 };
	}
	const axis = spec?.batchAxis ?? expected.shape.length;
	const batchAxis = axis < expected.shape.length ? axis : null;
	// One pass serves the sums and the first allclose.
	const planned = comparators.find(({ kind }) => kind === "allclose");
	const partsOf = (engine: Tensor, coverage: Coverage & Pick<Comparator, "scope">) =>
		coveredParts({ expected, got: engine }, coverage, coverage.scope === "per-sample" ? batchAxis : null).map(
			(part) => ({ ...part, ...makePair(part.expected, part.got, planned) }),
		);
	const comparable = baseLayout === null ? base : undefined;
	const unsliced = { scope: comparators[0]?.scope ?? "whole" };
	const options = { mustMatch: spec?.nonFinite === "must-match", batchAxis };
	const nonFinite = nonFiniteCheck(name, partsOf(got, unsliced), options);
	if (nonFinite?.pass === false) {
		const ofBase = comparable && nonFiniteCheck(name, partsOf(comparable, unsliced), options);
		return { checks: [markExisting(nonFinite, ofBase?.pass === false)], compared: 0 };
	}
	// A base of another precision has its own limits.
	const ofBase =
		basePrecision && resolveComparators(spec, { ...context, precision: basePrecision, expected });
	const firstFailing = (comparator: Comparator) => {
		const step = firstStep(comparator, partsOf(got, { ...comparator, scope: "per-sample" }));
		return step === null ? undefined : positionOf?.(step);
	};
	const measured = comparators.map((comparator) => {
		const measuredAll = measuredCheck(name, comparator, partsOf(got, comparator), batchAxis);
		const fails = !measuredAll.pass && positionOf !== undefined && batchAxis !== null;
		const check = fails ? { ...measuredAll, position: firstFailing(comparator) } : measuredAll;
		if (base === undefined) return check;
		const parts = comparable ? partsOf(comparable, comparator) : null;
		return withBase(check, comparator, ofBase?.[all.indexOf(comparator)], parts);
	});
	const custom = (answers === undefined ? [] : customSpecs(spec)).map((one, index) =>
		customCheck(name, one, { answer: answers?.[index] ?? notRun, expected, precision }),
	);
	const checks = [...(nonFinite === null ? [] : [nonFinite]), ...measured, ...custom];
	const hasSetComparators = comparators.length < all.length || measured.length + custom.length === 0;
	const compared = hasSetComparators ? elements : Math.max(0, ...checks.map((check) => check.elements));
	return { checks, compared };
}

function aboutCheck(output: string, { kind, allowed, severity, slice }: Comparator) {
	return { output, metric: kind, slice, allowed, bound: metrics[kind].bound, severity };
}

function measuredCheck(
	output: string,
	comparator: Comparator,
	all: readonly OutputPart[],
	batchAxis: number | null,
) {
	const { kind } = comparator;
	const { bound, measure } = metrics[kind];
	const about = { ...aboutCheck(output, comparator), got: null, elements: 0 };
	const parts = kind === "accuracy" ? all : all.filter((part) => part.difference().elements > 0);
	if (parts.length === 0) {
		// Both sides are identical, as checked before. Infinities count as values, but any broken engine returns NaN everywhere.
		const isNotInfinite = (value: number) => Math.abs(value) !== Infinity;
		const pass = all.some(({ expected }) => !everyValue(expected, isNotInfinite));
		const detail = pass
			? "no element of the golden is finite, and the engine's are the same"
			: "every element is NaN, so nothing was measured";
		return { ...about, pass, detail };
	}
	const worst = findWorst(parts, bound, (pair) => measure(pair, comparator));
	if (worst === null) return { ...about, pass: false, detail: "nothing could be measured" };
	const { measured, part, elements } = worst;
	return {
		...about,
		sample: part.sample ?? undefined,
		got: toNumeric(measured.value),
		pass: keepsLimit(measured.value, bound, comparator.allowed),
		elements,
		worst: measured.worstAt < 0 ? undefined : worstOf(part, measured.worstAt, batchAxis),
		detail: measured.detail,
	};
}

function firstStep(comparator: Comparator, parts: readonly OutputPart[]) {
	const { kind, scope } = comparator;
	const { bound, measure } = metrics[kind];
	const allowed = scope !== "per-sample" && bound === "at-least" ? 1 : comparator.allowed;
	const failing = parts.find((part) => !keepsLimit(measure(part, comparator).value, bound, allowed));
	return failing?.sample ?? null;
}

/**
 * Adds the base engine's score against the same golden.
 * @param own the base's comparator if its precision is another one.
 * @param parts null: the base's output cannot be compared.
 */
function withBase(
	check: GoldenCheck,
	comparator: Comparator,
	own: Comparator | undefined,
	parts: readonly OutputPart[] | null,
) {
	if (parts === null) return { ...check, base: null };
	const { bound, measure } = metrics[comparator.kind];
	const misplaced = parts.some((part) => part.difference().nonFinite.differing > 0);
	const value = misplaced
		? NaN
		: findWorst(parts, bound, (pair) => measure(pair, comparator))?.measured.value;
	if (value === undefined) return { ...check, base: null };
	const shown = { ...check, base: toNumeric(value), baseAllowed: own?.allowed };
	return markExisting(shown, !keepsLimit(value, bound, (own ?? comparator).allowed));
}

export interface CommandRequest {
	schemaVersion: 1;
	comparator: string;
	golden: string;
	case: string;
	output: string;
	model: string;
	engine: string;
	precision: Precision;
	tolerance: number | null;
	labels?: readonly number[];
}

export type CommandAnswer =
	| { state: "answered"; pass: boolean; value: number | null; detail?: string }
	| { state: "failed"; message: string };

export type CustomSpec = ComparatorSpec & { kind: "custom"; name: string };

export function customSpecs(output: GoldenOutput | undefined): CustomSpec[] {
	const listed: readonly ComparatorSpec[] = output?.comparators ?? [];
	return listed.filter((spec): spec is CustomSpec => spec.kind === "custom" && spec.name !== undefined);
}

const longestDetail = 500;
const shownAnswer = 80;

/**
 * Exit 0 passes and 1 fails. The last line of stdout may be an object with `value` (a number, larger is worse), `pass` and
 * `detail`. Exit 1 fails whatever the JSON says.
 */
export function parseCommandAnswer(stdout: string, exitCode: number): CommandAnswer {
	const failed = (message: string): CommandAnswer => ({ state: "failed", message });
	if (exitCode !== 0 && exitCode !== 1) return failed(`it exited with code ${exitCode}; expected 0 or 1`);
	const line = stdout.trimEnd().split("\n").at(-1)?.trim() ?? "";
	if (!line.startsWith("{")) return { state: "answered", pass: exitCode === 0, value: null };
	const show = (value: unknown) => JSON.stringify(value)?.slice(0, shownAnswer);
	let answer: { value?: unknown; pass?: unknown; detail?: unknown };
	try {
		answer = JSON.parse(line);
	} catch {
		return failed(`its last line is not a JSON object: ${JSON.stringify(line.slice(0, shownAnswer))}`);
	}
	const { value = null, pass = true, detail } = answer;
	if (value !== null && (typeof value !== "number" || !Number.isFinite(value)))
		return failed(`its value is ${show(value)}; expected a finite number`);
	if (typeof pass !== "boolean") return failed(`its pass is ${show(pass)}; expected true or false`);
	const shownDetail = typeof detail === "string" ? { detail: detail.slice(0, longestDetail) } : {};
	return { state: "answered", pass: pass && exitCode === 0, value, ...shownDetail };
}

export function customCheck(
	output: string,
	spec: CustomSpec,
	{ answer, expected, precision }: { answer: CommandAnswer; expected: Tensor; precision: Precision },
): GoldenCheck {
	const allowed = toleranceAt(spec.tolerance, precision) ?? null;
	const metric = `custom ${spec.name}`;
	const about = { allowed, severity: spec.severity ?? "fail" };
	if (answer.state === "failed")
		return { ...structuralCheck(output, metric, `the command failed: ${answer.message}`), ...about };
	const { value, pass, detail } = answer;
	const keeps = allowed === null || (value !== null && value <= allowed);
	let refused: string | undefined;
	if (allowed !== null && value === null) refused = "the command gave no value to compare with the limit";
	else if (keeps && !pass) refused = "the command reported a failure";
	return {
		output,
		metric,
		...about,
		got: value === null ? null : toNumeric(value),
		bound: "at-most",
		pass: keeps && pass,
		elements: elementCount(expected.shape),
		detail: [refused, detail].filter(Boolean).join("; ") || undefined,
	};
}
