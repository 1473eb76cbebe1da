// Compares the limits of two golden revisions, defaults filled in, and lists which became weaker.
import type { GoldenManifest, GoldenOutput, Precision } from "../../../../generated/golden.ts";
import type { ToleranceChange } from "../../../../generated/result.ts";
import { type Comparator, resolveComparators } from "../compare/comparators.ts";
import { type CustomSpec, customSpecs } from "../compare/custom.ts";
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

interface ComparatorAt {
	output: string;
	kind: string;
	precision: Precision;
}

function comparePair(
	{ output, kind, precision }: ComparatorAt,
	before: Comparator | undefined,
	after: Comparator | undefined,
): ToleranceChange[] {
	if (before === undefined || after === undefined) {
		const there = after !== undefined;
		return [
			{
				output,
				kind,
				what: "comparator",
				base: there ? "absent" : "present",
				head: there ? "present" : "absent",
				looser: !there,
			},
		];
	}
	const keys = Object.keys(after).filter(
		(key) => key !== "kind" && key !== "slice" && key !== "labels",
	) as (keyof Comparator)[];
	return keys.flatMap((key) => {
		const [from, to] = [shown(before[key]), shown(after[key])];
		if (from === to) return [];
		const what = key === "allowed" ? precision : key;
		return [
			{ output, kind, what, base: from, head: to, looser: isLooser(key, { kind: after.kind, from, to }) },
		];
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
	change: { kind: Comparator["kind"]; from: number | string | null; to: number | string | null },
): boolean {
	const { from, to } = change;
	if (key === "severity") return to === "warn";
	if (key === "scope") return scopes.indexOf(to) > scopes.indexOf(from);
	if (typeof from !== "number" || typeof to !== "number") return true;
	if (key === "allowed") return metrics[change.kind].bound === "at-most" ? to > from : to < from;
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
		const [was, is] = [before, after].map((specs) => specs.find((spec) => spec.name === name));
		const at = { output, kind: `custom ${name}` };
		if (was !== undefined && is !== undefined)
			return [...limitChange(at, precision, [was, is]), ...severityChange(at, [was, is])];
		const there = is !== undefined;
		return [
			{
				...at,
				what: "comparator",
				base: there ? "absent" : "present",
				head: there ? "present" : "absent",
				looser: !there,
			},
		];
	});
}

type CommandComparator = Pick<ToleranceChange, "output" | "kind">;

function limitChange(
	at: CommandComparator,
	precision: Precision,
	specs: readonly [CustomSpec, CustomSpec],
): ToleranceChange[] {
	const [base, head] = specs.map((spec) => toleranceAt(spec.tolerance, precision) ?? null);
	if (base === undefined || head === undefined || base === head) return [];
	return [{ ...at, what: precision, base, head, looser: base === null || head === null || head > base }];
}

function severityChange(
	at: CommandComparator,
	[was, is]: readonly [CustomSpec, CustomSpec],
): ToleranceChange[] {
	const [base, head] = [was.severity ?? "fail", is.severity ?? "fail"];
	return base === head ? [] : [{ ...at, what: "severity", base, head, looser: head === "warn" }];
}
