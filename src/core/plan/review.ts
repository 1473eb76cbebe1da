// The findings of a plan about the whole change, passed to the report as text.

import type { GateName, GateResult, GateStatus } from "../../../generated/result.ts";
import { usageError } from "../errors.ts";
import { fieldsOf, parseJson } from "../found.ts";

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
	const list = parseJson(text);
	if (!Array.isArray(list) || list.length > maxReviewed) throw notAReview();
	return list.map((entry: unknown) => {
		if (typeof entry !== "object" || entry === null) throw notAReview();
		const values = new Map(Object.entries(entry));
		const textOf = (key: string) => {
			const value: unknown = values.get(key);
			if (value === undefined) return undefined;
			if (typeof value !== "string" || value.length > maxTextChars) throw notAReview();
			return value;
		};
		const gate = gates.find((name) => name === values.get("gate"));
		const status = statuses.find((one) => one === values.get("status"));
		const model = textOf("model");
		const message = textOf("message");
		if (gate === undefined || status === undefined || model === undefined || message === undefined)
			throw notAReview();
		const place = placeIn(values.get("location"));
		return { gate, status, model, message, engine: textOf("engine"), workload: textOf("workload"), ...place };
	});
}

function placeIn(value: unknown) {
	if (value === undefined) return {};
	const { path, line, column } = fieldsOf(value);
	const isPlace = (at: unknown): at is number | undefined =>
		at === undefined || (Number.isSafeInteger(at) && Number(at) > 0);
	if (typeof path !== "string" || path.length > maxTextChars || !isPlace(line) || !isPlace(column))
		throw notAReview();
	// Annotations go to files of the repository.
	return /^[/\\]|(^|[/\\])\.\.([/\\]|$)/.test(path) ? {} : { location: { path, line, column } };
}

function notAReview() {
	return usageError(
		"The input review is not what a plan wrote.",
		"Pass on the output `review` of the plan as it is.",
	);
}
