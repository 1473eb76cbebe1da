// Describes the changes between two golden revisions: what became weaker, what moved, author and reason.

import type { GoldenCase, GoldenManifest } from "../../../../generated/golden.ts";
import type { GoldenChange, MovedOutput, ToleranceChange } from "../../../../generated/result.ts";
import { quoteName } from "../../../core/onnx/quote.ts";
import { counted, listNames } from "../../../core/text/labels.ts";
import { isEquivalentGolden } from "./draft.ts";
import { compareLimits, type LimitContext } from "./review-limits.ts";

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
	const size = ({ relativeL2 }: MovedOutput): number =>
		typeof relativeL2 === "number" ? relativeL2 : Number.MAX_VALUE;
	const moved = [...input.moved].sort((left, right) => size(right) - size(left));
	// An old reason does not explain a change by hand.
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

const strictness: readonly string[] = ["compare", "warn", "fail"];

function weakenedBy(base: GoldenManifest, head: GoldenManifest): string[] {
	const inHead = new Map(head.cases.map((golden) => [golden.id, golden]));
	const dropped = base.cases.filter(({ id }) => !inHead.has(id)).map(({ id }) => id);
	const weakened: string[] = [];
	if (dropped.length > 0) weakened.push(`${counted(dropped.length, "case")} dropped: ${listed(dropped)}.`);
	for (const { id, outputs } of base.cases) {
		const kept = inHead.get(id)?.outputs ?? outputs;
		const gone = Object.keys(outputs).filter((name) => !Object.hasOwn(kept, name));
		if (gone.length > 0) weakened.push(`Case ${quoteName(id)} no longer contains ${listed(gone)}.`);
	}
	const groups = base.detections ?? [];
	const lost = groups.length - (head.detections?.length ?? 0);
	if (lost > 0) weakened.push(`${counted(lost, "comparison")} of boxes dropped.`);
	else if (groups.length > 0 && JSON.stringify(groups) !== JSON.stringify(head.detections))
		weakened.push("How boxes are compared was changed.");
	const [was = "compare", is = "compare"] = [base.policy?.onModelChange, head.policy?.onModelChange];
	if (strictness.indexOf(is) < strictness.indexOf(was))
		weakened.push(`A changed model now means ${is}, before ${was}.`);
	return weakened;
}

function describeLooser({ output, kind, what, base, head }: ToleranceChange): string {
	if (what === "comparator") return `Output ${quoteName(output)} is no longer compared by ${kind}.`;
	return `${kind} of output ${quoteName(output)} is looser: ${what} ${base ?? "default"} → ${head ?? "default"}.`;
}

function notesOf(base: GoldenManifest, head: GoldenManifest, reason: string | undefined): string[] {
	const notes: string[] = [];
	const before = new Map(base.cases.map((golden) => [golden.id, golden]));
	const added = head.cases.filter(({ id }) => !before.has(id)).map(({ id }) => id);
	if (added.length > 0) notes.push(`${counted(added.length, "case")} added: ${listed(added)}.`);
	const inputs = head.cases
		.filter((golden) => inputsOf(golden) !== inputsOf(before.get(golden.id) ?? golden))
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

function inputsOf({ inputs }: GoldenCase): string {
	return JSON.stringify(
		Object.entries(inputs)
			.map(([name, { sha256 }]) => [name, sha256])
			.sort(),
	);
}

function listed(names: readonly string[]): string {
	return listNames(names.map((name) => quoteName(name)));
}
