// Describes the changes between two golden revisions: what became weaker, what moved, author and reason.

import type { GoldenCase, GoldenManifest } from "../../../../generated/golden.ts";
import type { GoldenChange, MovedOutput, ToleranceChange } from "../../../../generated/result.ts";
import { quoteName } from "../../onnx/quote.ts";
import { counted, listNames } from "../../text/labels.ts";
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

/** null: both judge an engine in the same way. */
export function reviewGolden(input: ReviewInput): GoldenChange | null {
	const { base, head } = input;
	if (isEquivalentGolden(base, head)) return null;
	const tolerances = compareLimits(base, head, input);
	const moved = [...input.moved].sort((left, right) => size(right) - size(left));
	return {
		model: input.model,
		path: input.path,
		base: base.goldenId,
		head: head.goldenId,
		reason: isNewReason(base, head) ? head.reason : undefined,
		author: head.author,
		weakened: [...weakenedBy(base, head), ...tolerances.filter(({ looser }) => looser).map(describeLooser)],
		moved: moved.slice(0, maxMoved),
		movedTotal: moved.length,
		tolerances,
		notes: notesOf(base, head),
	};
}

export function reviewGone(model: string, path: string, base: GoldenManifest): GoldenChange {
	const weakened = [
		`The golden ${base.goldenId} with its ${counted(base.cases.length, "case")} was removed: this model's outputs are no longer checked.`,
	];
	return { ...unmoved, model, path, base: base.goldenId, head: null, weakened };
}

const unmoved = { weakened: [], moved: [], movedTotal: 0, tolerances: [], notes: [] };

export function reviewUnread(
	model: string,
	path: string,
	{ head, why }: { head: GoldenManifest | null; why: string },
): GoldenChange {
	const notes = [`The base's golden ${path} cannot be read, so changes to it are unknown: ${why}`];
	return { ...unmoved, model, path, base: null, head: head?.goldenId ?? null, notes };
}

function size({ relativeL2 }: MovedOutput): number {
	return typeof relativeL2 === "number" ? relativeL2 : Number.MAX_VALUE;
}

function isNewReason(
	base: GoldenManifest,
	head: GoldenManifest,
): head is GoldenManifest & { reason: string } {
	return head.reason !== undefined && (head.reason !== base.reason || head.goldenId !== base.goldenId);
}

function weakenedBy(base: GoldenManifest, head: GoldenManifest): string[] {
	const inHead = new Map(head.cases.map((golden) => [golden.id, golden]));
	const dropped = base.cases.filter(({ id }) => !inHead.has(id)).map(({ id }) => id);
	const weakened: string[] = [];
	if (dropped.length > 0) weakened.push(`${counted(dropped.length, "case")} dropped: ${listed(dropped)}.`);
	for (const golden of base.cases) {
		const gone = Object.keys(golden.outputs).filter(
			(name) => !Object.hasOwn(inHead.get(golden.id)?.outputs ?? golden.outputs, name),
		);
		if (gone.length > 0) weakened.push(`Case ${quoteName(golden.id)} no longer contains ${listed(gone)}.`);
	}
	const count = (manifest: GoldenManifest): number => manifest.detections?.length ?? 0;
	if (count(head) < count(base))
		weakened.push(`${counted(count(base) - count(head), "comparison")} of boxes dropped.`);
	else if (count(base) > 0 && JSON.stringify(base.detections) !== JSON.stringify(head.detections))
		weakened.push("How boxes are compared was changed.");
	const policyOf = ({ policy }: GoldenManifest) => policy?.onModelChange ?? "compare";
	if (strictness.indexOf(policyOf(head)) < strictness.indexOf(policyOf(base)))
		weakened.push(`A changed model now means ${policyOf(head)}, before ${policyOf(base)}.`);
	return weakened;
}

const strictness: readonly string[] = ["compare", "warn", "fail"];

function describeLooser({ output, kind, what, base, head }: ToleranceChange): string {
	if (what === "comparator") return `Output ${quoteName(output)} is no longer compared by ${kind}.`;
	return `${kind} of output ${quoteName(output)} is looser: ${what} ${base ?? "default"} → ${head ?? "default"}.`;
}

function notesOf(base: GoldenManifest, head: GoldenManifest): string[] {
	const notes: string[] = [];
	const before = new Map(base.cases.map((golden) => [golden.id, golden]));
	const added = head.cases.filter(({ id }) => !before.has(id)).map(({ id }) => id);
	if (added.length > 0) notes.push(`${counted(added.length, "case")} added: ${listed(added)}.`);
	const inputs = head.cases
		.filter((golden) => inputsDiffer(golden, before.get(golden.id)))
		.map(({ id }) => id);
	if (inputs.length > 0)
		notes.push(
			`${inputs.length === 1 ? "1 case has" : `${inputs.length} cases have`} other inputs: ${listed(inputs)}.`,
		);
	if (base.model.sha256 !== head.model.sha256) notes.push("It was recorded from another model.");
	if (head.goldenId === base.goldenId)
		notes.push(`Its id is still ${head.goldenId}: it was changed by hand.`);
	if (!isNewReason(base, head)) notes.push("No reason is given.");
	if (head.author === undefined) notes.push("No author is named.");
	return notes;
}

function inputsDiffer(golden: GoldenCase, before: GoldenCase | undefined): boolean {
	if (before === undefined) return false;
	const hashes = ({ inputs }: GoldenCase) =>
		new Map(Object.entries(inputs).map(([name, { sha256 }]) => [name, sha256]));
	const is = hashes(golden);
	const was = hashes(before);
	return [...is.keys(), ...was.keys()].some((name) => is.get(name) !== was.get(name));
}

function listed(names: readonly string[]): string {
	return listNames(names.map((name) => quoteName(name)));
}
