// Makes users' text safe for one line of a terminal or a workflow log.
import { stripVTControlCharacters } from "node:util";

/** One line without control characters or escapes, so that a model's name cannot move the cursor. */
export function cleanLine(text: string): string {
	return stripVTControlCharacters(text)
		.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f]+/g, " ")
		.trim();
}

/** Cuts to a number of columns, counting a code point as one. */
export function fitColumns(text: string, columns: number): string {
	const points = [...text];
	return points.length <= columns ? text : `${points.slice(0, Math.max(0, columns - 1)).join("")}…`;
}

/** `2 min 5 s`; in whole seconds. */
export function formatWait(ms: number): string {
	const total = Math.max(0, Math.round(ms / 1_000));
	if (total < 60) return `${total} s`;
	const minutes = Math.floor(total / 60);
	if (minutes < 60) return total % 60 === 0 ? `${minutes} min` : `${minutes} min ${total % 60} s`;
	return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
