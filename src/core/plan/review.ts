// What a plan finds about the whole change, handed to the report as text: no single job of a matrix sees all of it.

import type { GateName, GateResult, GateStatus } from "../../../generated/result.ts";
import { usageError } from "../errors.ts";

/** GitHub passes on an output of 1 MB at most, and all outputs of a job share it. */
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

/** @throws ConfigError usage where the text is no review. */
export function parseReview(text: string): GateResult[] {
	if (text.trim() === "") return [];
	const list = parseJson(text);
	if (!Array.isArray(list) || list.length > maxReviewed) throw notAReview();
	return list.map((entry: unknown) => {
		if (typeof entry !== "object" || entry === null) throw notAReview();
		const values = new Map(Object.entries(entry));
		const textOf = (key: string): string | undefined => {
			const value: unknown = values.get(key);
			if (value === undefined) return undefined;
			if (typeof value !== "string" || value.length > maxTextChars) throw notAReview();
			return value;
		};
		const [gate, status] = [
			gates.find((name) => name === values.get("gate")),
			statuses.find((one) => one === values.get("status")),
		];
		const [model, message, engine, workload] = [
			textOf("model"),
			textOf("message"),
			textOf("engine"),
			textOf("workload"),
		];
		if (gate === undefined || status === undefined || model === undefined || message === undefined)
			throw notAReview();
		const subject = { engine, workload };
		return { gate, status, model, message, ...subject, ...placeIn(values.get("location")) };
	});
}

/** A line of the head's config. @throws ConfigError usage. */
function placeIn(value: unknown): Pick<GateResult, "location"> {
	if (value === undefined) return {};
	const { path, line, column }: { path?: unknown; line?: unknown; column?: unknown } =
		typeof value === "object" && value !== null ? value : {};
	const isPlace = (at: unknown): boolean => at === undefined || (Number.isSafeInteger(at) && Number(at) > 0);
	if (typeof path !== "string" || path.length > maxTextChars || !isPlace(line) || !isPlace(column))
		throw notAReview();
	// An annotation goes to a file of the repository.
	if (/^[/\\]|(^|[/\\])\.\.([/\\]|$)/.test(path)) return {};
	return {
		location: {
			path,
			line: line === undefined ? undefined : Number(line),
			column: column === undefined ? undefined : Number(column),
		},
	};
}

function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return null;
	}
}

function notAReview() {
	return usageError(
		"The input review is not what a plan wrote.",
		"Pass on the output `review` of the plan as it is.",
	);
}
