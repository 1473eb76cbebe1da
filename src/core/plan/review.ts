// The findings of a plan about the whole change, passed to the report as text.

import type { GateName, GateResult, GateStatus } from "../../../generated/result.ts";
import { usageError } from "../errors.ts";
import { fieldsOf } from "../found.ts";
import { parseJsonOrNull } from "./matrix.ts";

/** Outputs of a job share 1 MB. */
const maxReviewed = 500;
const maxTextChars = 2000;

const gates: readonly GateName[] = ["coverage", "limit-change"];
const statuses: readonly GateStatus[] = ["pass", "warn", "fail"];

export function formatReview(review: readonly GateResult[]): string {
	const shown = [...review]
		.sort((one, other) => statuses.indexOf(other.status) - statuses.indexOf(one.status))
		.slice(0, maxReviewed);
	return JSON.stringify(shown.map((gate) => ({ ...gate, message: gate.message.slice(0, maxTextChars) })));
}

export function parseReview(text: string): GateResult[] {
	if (text.trim() === "") return [];
	const list = parseJsonOrNull(text);
	if (!Array.isArray(list) || list.length > maxReviewed || !list.every(isReviewed)) throw notAReview();
	return list.map(({ gate, status, model, message, engine, workload, location }) => {
		return { gate, status, model, message, engine, workload, ...placeIn(location) };
	});
}

function isText(value: unknown): value is string {
	return typeof value === "string" && value.length <= maxTextChars;
}

function isReviewed(entry: unknown): entry is GateResult {
	const { gate, status, model, message, engine = "", workload = "" } = fieldsOf(entry);
	const isKnown = gates.some((name) => name === gate) && statuses.some((one) => one === status);
	return isKnown && [model, message, engine, workload].every(isText);
}

function placeIn(value: unknown) {
	if (value === undefined) return {};
	const { path, line, column } = fieldsOf(value);
	const isPlace = (at: unknown): at is number | undefined =>
		at === undefined || (Number.isSafeInteger(at) && Number(at) > 0);
	if (!isText(path) || !isPlace(line) || !isPlace(column)) throw notAReview();
	// Annotations go to files of the repository.
	return /^[/\\]|(^|[/\\])\.\.([/\\]|$)/.test(path) ? {} : { location: { path, line, column } };
}

function notAReview() {
	return usageError(
		"The input review is not what a plan wrote.",
		"Pass on the output `review` of the plan as it is.",
	);
}
