// Compares the limits of two golden revisions, defaults filled in, and lists which became weaker.
import type { GoldenManifest, GoldenOutput, Precision } from "../../../../generated/golden.ts";
import type { ToleranceChange } from "../../../../generated/result.ts";
import { type Comparator, resolveComparators } from "../compare/comparators.ts";
import { customSpecs } from "../compare/custom.ts";
import { metrics } from "../compare/registry.ts";
import { defaultTolerances, toleranceAt } from "../compare/tolerances.ts";
import { ofSlice } from "../tensor/slice.ts";
import type { Tensor } from "../tensor/tensor.ts";

export interface LimitContext {
	expected: ReadonlyMap<string, Tensor>;
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
}

const precisions = (Object.keys(defaultTolerances) as Precision[]).filter(
	(precision) => precision !== "fp64",
);

export function compareLimits(
	base: GoldenManifest,
	head: GoldenManifest,
	context: LimitContext,
): ToleranceChange[] {
	return [...context.expected].flatMap(([name, expected]) => {
		const [before, after] = [specOf(base, name), specOf(head, name)];
		const byPrecision = precisions.map((precision) => {
			const resolveContext = { expected, precision, relativeL2: context.relativeL2 };
			return {
				precision,
				before: resolveComparators(before, resolveContext),
				after: resolveComparators(after, resolveContext),
			};
		});
		const custom = byPrecision.flatMap(({ precision }) => customChanges(name, precision, [before, after]));
		return merged([...byPrecision.flatMap((at) => compareAt(name, at)), ...custom]).concat(
			nonFiniteChange(name, before, after),
		);
	});
}

function specOf(manifest: GoldenManifest, name: string): GoldenOutput | undefined {
	return Object.hasOwn(manifest.outputs, name) ? manifest.outputs[name] : undefined;
}

interface AtPrecision {
	precision: Precision;
	before: readonly Comparator[];
	after: readonly Comparator[];
}

function compareAt(output: string, { precision, before, after }: AtPrecision): ToleranceChange[] {
	const labels = [...new Set([...before, ...after].map(labelOf))];
	return labels.flatMap((kind) => {
		const [left, right] = [before, after].map((list) =>
			list.filter((comparator) => labelOf(comparator) === kind),
		);
		const longest = Math.max(left?.length ?? 0, right?.length ?? 0);
		return Array.from({ length: longest }, (_, index) =>
			comparePair({ output, kind, precision }, left?.[index], right?.[index]),
		).flat();
	});
}

function labelOf({ kind, slice }: Comparator): string {
	return `${kind}${ofSlice(slice)}`;
}

function presence(isThere: boolean): Pick<ToleranceChange, "what" | "base" | "head" | "looser"> {
	const states = ["absent", "present"] as const;
	const [base, head] = isThere ? states : states.toReversed();
	return { what: "comparator", base: base as string, head: head as string, looser: !isThere };
}

/** `kind` names the part of the output too. */
function comparePair(
	{ output, kind, precision }: { output: string; kind: string; precision: Precision },
	before: Comparator | undefined,
	after: Comparator | undefined,
): ToleranceChange[] {
	if (before === undefined || after === undefined)
		return [{ output, kind, ...presence(after !== undefined) }];
	const keys = Object.keys(after).filter(
		(key) => key !== "kind" && key !== "slice" && key !== "labels",
	) as (keyof Comparator)[];
	return keys.flatMap((key) => {
		const base = shown(before[key]);
		const head = shown(after[key]);
		if (base === head) return [];
		const what = key === "allowed" ? precision : key;
		return [{ output, kind, what, base, head, looser: isLooser(key, after.kind, base, head) }];
	});
}

function shown(value: unknown): number | string | null {
	if (typeof value === "number" && Number.isFinite(value)) return value;
	return value === undefined || value === null ? null : String(value);
}

/** Strictest first: what one slice may not hide in the whole, one case may not hide in the set. */
const scopes: readonly unknown[] = ["per-sample", "whole", "set"];

/** A changed setting counts as looser where the direction is unknown, so that a person reviews it. */
function isLooser(
	key: keyof Comparator,
	kind: Comparator["kind"],
	from: number | string | null,
	to: number | string | null,
): boolean {
	if (key === "severity") return to === "warn";
	if (key === "scope") return scopes.indexOf(to) > scopes.indexOf(from);
	if (typeof from !== "number" || typeof to !== "number") return true;
	if (key === "allowed") return metrics[kind].bound === "at-most" ? to > from : to < from;
	if (key === "rtol" || key === "atol" || key === "zeroProbability" || key === "floor") return to > from;
	return true;
}

function merged(changes: readonly ToleranceChange[]): ToleranceChange[] {
	const seen = new Map<string, { change: ToleranceChange; whats: Set<string> }>();
	for (const change of changes) {
		const isPrecision = (precisions as string[]).includes(change.what);
		const key = JSON.stringify([
			change.output,
			change.kind,
			isPrecision ? "tolerance" : change.what,
			change.base,
			change.head,
		]);
		const known = seen.get(key) ?? { change, whats: new Set<string>() };
		known.whats.add(change.what);
		seen.set(key, known);
	}
	return [...seen.values()].map(({ change, whats }) => {
		const what = whats.size === precisions.length ? "every precision" : [...whats].join(", ");
		return { ...change, what };
	});
}

function nonFiniteChange(
	output: string,
	before: GoldenOutput | undefined,
	after: GoldenOutput | undefined,
): ToleranceChange[] {
	const [base, head] = [before?.nonFinite ?? "reject", after?.nonFinite ?? "reject"];
	return base === head
		? []
		: [{ output, kind: "non-finite", what: "nonFinite", base, head, looser: head === "must-match" }];
}

/** Commands are paired by name; adding or removing a limit counts as weaker, so that a person reviews it. */
export function customChanges(
	output: string,
	precision: Precision,
	sides: readonly (GoldenOutput | undefined)[],
): ToleranceChange[] {
	const [before = [], after = []] = sides.map((side) => customSpecs(side));
	const names = new Set([...before, ...after].map(({ name }) => name));
	return [...names].flatMap((name) => {
		const at = { output, kind: `custom ${name}` };
		const was = before.find((spec) => spec.name === name);
		const is = after.find((spec) => spec.name === name);
		if (was === undefined || is === undefined) return [{ ...at, ...presence(is !== undefined) }];
		const base = toleranceAt(was.tolerance, precision) ?? null;
		const head = toleranceAt(is.tolerance, precision) ?? null;
		const looser = base === null || head === null || head > base;
		const severities = { base: was.severity ?? "fail", head: is.severity ?? "fail" };
		return [
			...(base === head ? [] : [{ ...at, what: precision, base, head, looser }]),
			...(severities.base === severities.head
				? []
				: [{ ...at, what: "severity", ...severities, looser: severities.head === "warn" }]),
		];
	});
}
