// Compares the limits of two golden revisions, including defaults, and marks looser ones.
import type { GoldenManifest, GoldenOutput, Precision } from "../../../../generated/golden.ts";
import type { ToleranceChange } from "../../../../generated/result.ts";
import { type Comparator, type ResolveContext, resolveComparators } from "../compare/comparators.ts";
import { customSpecs } from "../compare/custom.ts";
import { metrics } from "../compare/registry.ts";
import { defaultTolerances, toleranceAt } from "../compare/tolerances.ts";
import { ofSlice } from "../tensor/slice.ts";
import type { Tensor } from "../tensor/tensor.ts";

export interface LimitContext {
	expected: ReadonlyMap<string, Tensor>;
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
}

const { fp64: _, ...reviewed } = defaultTolerances;
const precisions = Object.keys(reviewed) as Precision[];

export function compareLimits(
	base: GoldenManifest,
	head: GoldenManifest,
	{ expected, relativeL2 }: LimitContext,
): ToleranceChange[] {
	return [...expected].flatMap(([output, tensor]) => {
		const specOf = ({ outputs }: GoldenManifest): GoldenOutput =>
			Object.hasOwn(outputs, output) ? (outputs[output] ?? {}) : {};
		const [before, after] = [specOf(base), specOf(head)];
		const changes = precisions.flatMap((precision) => {
			const context = { expected: tensor, precision, relativeL2 };
			return compareAt(limitsOf(before, context), limitsOf(after, context), { output, precision });
		});
		const [was = "reject", is = "reject"] = [before.nonFinite, after.nonFinite];
		const looser = is === "must-match";
		const nonFinite = { output, kind: "non-finite", what: "nonFinite", base: was, head: is, looser };
		return [...joinPrecisions(changes), ...(was === is ? [] : [nonFinite])];
	});
}

/** The limit of a comparator on its part of the output, or of a command, which has only a limit and a severity. */
interface Limit extends Omit<Partial<Comparator>, "kind" | "slice" | "labels" | "allowed"> {
	allowed: number | null;
}

interface LimitOf {
	kind: string;
	atLeast: boolean;
	limit: Limit;
}

/** Keys hold the kind, the slice and the position among comparators of the same kind and slice. */
function limitsOf(output: GoldenOutput, context: ResolveContext): Map<string, LimitOf> {
	const measured = resolveComparators(output, context).map(({ kind, slice, labels: __, ...limit }) => {
		return { kind: `${kind}${ofSlice(slice)}`, atLeast: metrics[kind].bound === "at-least", limit };
	});
	const custom = customSpecs(output).map(({ name, tolerance, severity = "fail" }) => {
		const allowed = toleranceAt(tolerance, context.precision) ?? null;
		return { kind: `custom ${name}`, atLeast: false, limit: { allowed, severity } };
	});
	const limits = new Map<string, LimitOf>();
	for (const one of [...measured, ...custom]) {
		let place = 0;
		while (limits.has(`${one.kind}#${place}`)) place += 1;
		limits.set(`${one.kind}#${place}`, one);
	}
	return limits;
}

function compareAt(
	before: ReadonlyMap<string, LimitOf>,
	after: ReadonlyMap<string, LimitOf>,
	{ output, precision }: { output: string; precision: Precision },
): ToleranceChange[] {
	return [...new Set([...before.keys(), ...after.keys()])].flatMap((key): ToleranceChange[] => {
		const [was, is] = [before.get(key), after.get(key)];
		const { kind = "", atLeast = false } = is ?? was ?? {};
		if (was === undefined || is === undefined) {
			const [base, head] = is === undefined ? ["present", "absent"] : ["absent", "present"];
			return [{ output, kind, what: "comparator", base, head, looser: is === undefined }];
		}
		return (Object.keys(is.limit) as (keyof Limit)[]).flatMap((name) => {
			const [base, head] = [shown(was.limit[name]), shown(is.limit[name])];
			if (base === head) return [];
			const what = name === "allowed" ? precision : name;
			return [{ output, kind, what, base, head, looser: isLooser({ name, atLeast }, base, head) }];
		});
	});
}

type Shown = ToleranceChange["base"];

function shown(value: unknown): Shown {
	if (typeof value === "number" && Number.isFinite(value)) return value;
	return value === undefined || value === null ? null : String(value);
}

/** Strictest first: a bad sample must not hide in the whole, nor a bad case in the set. */
const scopes: readonly Shown[] = ["per-sample", "whole", "set"];
const looserWhenLarger: ReadonlySet<string> = new Set([
	"allowed",
	"rtol",
	"atol",
	"zeroProbability",
	"floor",
]);

/** A change of unknown direction counts as looser, so that a person reviews it. */
function isLooser(
	{ name, atLeast }: { name: keyof Limit; atLeast: boolean },
	from: Shown,
	to: Shown,
): boolean {
	if (name === "severity") return to === "warn";
	if (name === "scope") return scopes.indexOf(to) > scopes.indexOf(from);
	if (typeof from !== "number" || typeof to !== "number" || !looserWhenLarger.has(name)) return true;
	return name === "allowed" && atLeast ? to < from : to > from;
}

function joinPrecisions(changes: readonly ToleranceChange[]): ToleranceChange[] {
	const joined = new Map<string, ToleranceChange[]>();
	for (const change of changes) {
		const what = (precisions as string[]).includes(change.what) ? "tolerance" : change.what;
		const key = JSON.stringify([change.kind, what, change.base, change.head]);
		joined.set(key, [...(joined.get(key) ?? []), change]);
	}
	return [...joined.values()].flatMap((same) => {
		const whats = [...new Set(same.map(({ what }) => what))];
		const what = whats.length === precisions.length ? "every precision" : whats.join(", ");
		return same.slice(0, 1).map((change) => ({ ...change, what }));
	});
}
