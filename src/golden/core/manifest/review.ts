// Describes the changes between two golden revisions: what became weaker, what moved, author and reason.
import type { GoldenManifest, GoldenOutput, Precision } from "../../../../generated/golden.ts";
import type { GoldenChange, MovedOutput, ToleranceChange } from "../../../../generated/result.ts";
import { defaultGates } from "../../../core/config/config.ts";
import { quoteName } from "../../../core/text/escape.ts";
import { counted, listNames } from "../../../core/text/labels.ts";
import { customSpecs } from "../compare/check-output.ts";
import {
	type Comparator,
	type ResolveContext,
	resolveComparators,
	sampleLabels,
} from "../compare/comparators.ts";
import { outputsOf } from "../compare/judge.ts";
import { metrics } from "../compare/registry.ts";
import { defaultTolerances, toleranceAt } from "../compare/tolerances.ts";
import { ofSlice, own, type Tensor } from "../tensor/tensor.ts";
import { filesContent, isEquivalentGolden, labelsContent } from "./draft.ts";

export interface ReviewInput extends LimitContext {
	model: string;
	path: string;
	base: GoldenManifest;
	head: GoldenManifest;
	moved: readonly MovedOutput[];
}

const maxMoved = 100;

export function reviewGolden(input: ReviewInput): GoldenChange | null {
	const { model, path, base, head } = input;
	if (isEquivalentGolden(base, head)) return null;
	const tolerances = compareLimits(base, head, input);
	const size = ({ relativeL2 }: MovedOutput) =>
		typeof relativeL2 === "number" ? relativeL2 : Number.MAX_VALUE;
	const moved = [...input.moved].sort((left, right) => size(right) - size(left));
	const reason = head.goldenId === base.goldenId && head.reason === base.reason ? undefined : head.reason;
	return {
		model,
		path,
		base: base.goldenId,
		head: head.goldenId,
		reason,
		author: head.author,
		weakened: [...weakenedBy(base, head), ...tolerances.filter(({ looser }) => looser).map(describeLooser)],
		moved: moved.slice(0, maxMoved),
		movedTotal: moved.length,
		tolerances,
		notes: notesOf(base, head, reason),
	};
}

const unmoved = { weakened: [], moved: [], movedTotal: 0, tolerances: [], notes: [] };

export function reviewGone(model: string, path: string, base: GoldenManifest): GoldenChange {
	const cases = counted(base.cases.length, "case");
	const weakened = [
		`The golden ${base.goldenId} with its ${cases} was removed: this model's outputs are no longer checked.`,
	];
	return { ...unmoved, model, path, base: base.goldenId, head: null, weakened };
}

export function reviewUnread(
	model: string,
	path: string,
	{ head, why }: { head: GoldenManifest | null; why: string },
): GoldenChange {
	const notes = [`The base's golden ${path} cannot be read, so changes to it are unknown: ${why}`];
	return { ...unmoved, model, path, base: null, head: head?.goldenId ?? null, notes };
}

/** By how a changed model with wrong outputs ends: `warn` compares nothing. */
const strictness: readonly string[] = ["warn", "compare", "fail"];

function weakenedBy(base: GoldenManifest, head: GoldenManifest) {
	const inHead = new Map(head.cases.map((golden) => [golden.id, golden]));
	const dropped = base.cases.filter(({ id }) => !inHead.has(id)).map(({ id }) => id);
	const weakened: string[] = [];
	if (dropped.length > 0) weakened.push(`${counted(dropped.length, "case")} dropped: ${listed(dropped)}.`);
	for (const { id, outputs } of base.cases) {
		const kept = inHead.get(id)?.outputs ?? outputs;
		const gone = Object.keys(outputs).filter((name) => !Object.hasOwn(kept, name));
		if (gone.length > 0) weakened.push(`Case ${quoteName(id)} no longer contains ${listed(gone)}.`);
	}
	const labelled = base.cases
		.filter((golden) => labelsContent(inHead.get(golden.id) ?? golden) !== labelsContent(golden))
		.map(({ id }) => id);
	if (labelled.length > 0)
		weakened.push(`${counted(labelled.length, "case has", "cases have")} other labels: ${listed(labelled)}.`);
	const groups = base.detections ?? [];
	const lost = groups.length - (head.detections?.length ?? 0);
	if (lost > 0) weakened.push(`${counted(lost, "comparison")} of boxes dropped.`);
	else if (groups.length > 0 && JSON.stringify(groups) !== JSON.stringify(head.detections))
		weakened.push("How boxes are compared was changed.");
	const [was = "compare", is = "compare"] = [base.policy?.onModelChange, head.policy?.onModelChange];
	if (strictness.indexOf(is) < strictness.indexOf(was))
		weakened.push(`A changed model now means ${is}, before ${was}.`);
	const growthOf = ({ policy }: GoldenManifest) => policy?.mostErrorGrowth ?? defaultGates.errorGrowth.warn;
	const [before = Infinity, after = Infinity] = [growthOf(base), growthOf(head)];
	if (after > before)
		weakened.push(`An error warns at ${after} times the base's, before at ${before} times.`);
	return weakened;
}

function describeLooser({ output, kind, what, base, head }: ToleranceChange) {
	if (what === "comparator") return `Output ${quoteName(output)} is no longer compared by ${kind}.`;
	return `${kind} of output ${quoteName(output)} is looser: ${what} ${base ?? "default"} → ${head ?? "default"}.`;
}

function notesOf(base: GoldenManifest, head: GoldenManifest, reason: string | undefined) {
	const notes: string[] = [];
	const before = new Map(base.cases.map((golden) => [golden.id, golden]));
	const added = head.cases.filter(({ id }) => !before.has(id)).map(({ id }) => id);
	if (added.length > 0) notes.push(`${counted(added.length, "case")} added: ${listed(added)}.`);
	const inputs = head.cases
		.filter(({ id, inputs }) => filesContent(inputs) !== filesContent(before.get(id)?.inputs ?? inputs))
		.map(({ id }) => id);
	if (inputs.length > 0)
		notes.push(`${counted(inputs.length, "case has", "cases have")} other inputs: ${listed(inputs)}.`);
	if (base.model.sha256 !== head.model.sha256) notes.push("It was recorded from another model.");
	if (head.goldenId === base.goldenId)
		notes.push(`Its id is still ${head.goldenId}: it was changed by hand.`);
	if (reason === undefined) notes.push("No reason is given.");
	if (head.author === undefined) notes.push("No author is named.");
	return notes;
}

function listed(names: readonly string[]) {
	return listNames(names.map((name) => quoteName(name)));
}

interface LimitContext {
	expected: ReadonlyMap<string, Tensor>;
	relativeL2: ResolveContext["relativeL2"];
}

const { fp64: _, ...reviewed } = defaultTolerances;
const precisions = Object.keys(reviewed) as Precision[];

function compareLimits(
	base: GoldenManifest,
	head: GoldenManifest,
	{ expected, relativeL2 }: LimitContext,
): ToleranceChange[] {
	return [...expected].flatMap(([output, tensor]) => {
		const specOf = ({ outputs, detections }: GoldenManifest) => {
			const spec = own(outputs, output) ?? {};
			const isGrouped = detections?.some((group) => outputsOf(group).includes(output));
			return isGrouped === true && spec.comparators === undefined ? null : spec;
		};
		const [before, after] = [specOf(base), specOf(head)];
		const labels = sampleLabels(head.cases, output);
		const changes = precisions.flatMap((precision) => {
			const context = { expected: tensor, precision, relativeL2, labels };
			return compareAt(limitsOf(before, context), limitsOf(after, context), { output, precision });
		});
		const [was = "reject", is = "reject"] = [before?.nonFinite, after?.nonFinite];
		const looser = is === "must-match";
		const nonFinite = { output, kind: "non-finite", what: "nonFinite", base: was, head: is, looser };
		return was === is ? joinPrecisions(changes) : [...joinPrecisions(changes), nonFinite];
	});
}

interface Limit extends Omit<Partial<Comparator>, "kind" | "slice" | "labels" | "allowed"> {
	allowed: number | null;
}

interface LimitOf {
	kind: string;
	atLeast: boolean;
	limit: Limit;
}

/** @param output null: only the boxes that it belongs to are compared. */
function limitsOf(output: GoldenOutput | null, context: ResolveContext) {
	if (output === null) return new Map<string, LimitOf>();
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

function shown(value: unknown) {
	if (typeof value === "number" && Number.isFinite(value)) return value;
	return value === undefined || value === null ? null : String(value);
}

const scopes: readonly Shown[] = ["per-sample", "whole", "set"];
const looserWhenLarger: ReadonlySet<string> = new Set([
	"allowed",
	"rtol",
	"atol",
	"zeroProbability",
	"floor",
]);

/** A change of unknown direction counts as looser, so that a person reviews it. */
function isLooser({ name, atLeast }: { name: keyof Limit; atLeast: boolean }, from: Shown, to: Shown) {
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
