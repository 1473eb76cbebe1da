// Describes what was found instead of something else, quoting only the value at fault.
import { cleanText, shorten } from "./text/escape.ts";

const maxChars = 60;

export function describeFound(value: unknown, pointer: string): string {
	if (value === undefined) return "nothing";
	if (value === null) return "null";
	if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
	if (typeof value === "object") return Object.keys(value).length === 0 ? "an empty object" : "an object";
	if (pointer === "") return typeof value === "string" ? "a text" : `a ${typeof value}`;
	return typeof value === "string" ? JSON.stringify(cleanText(shorten(value, maxChars))) : String(value);
}

/** @param refuse makes the error of what is there instead. */
export function readJson(text: string, refuse: (got: string, cause?: unknown) => Error): unknown {
	if (text.trim() === "") throw refuse("an empty file");
	try {
		return JSON.parse(text.replace(/^\uFEFF/, ""));
	} catch (cause) {
		throw refuse(`text that is not JSON (${describeJsonFault(cause)})`, cause);
	}
}

/** Without the quoted text: `Unexpected token 'r'`. */
function describeJsonFault(cause: unknown) {
	const message = cause instanceof SyntaxError ? cause.message : "unreadable";
	return cleanText(shorten(message.replace(/,? *(\.\.\.)?".*$/s, ""), maxChars));
}

/** undefined: not JSON in UTF-8. */
export function parseJson(source: string | Uint8Array): unknown {
	try {
		return JSON.parse(
			typeof source === "string" ? source : new TextDecoder("utf-8", { fatal: true }).decode(source),
		);
	} catch {
		return undefined;
	}
}

export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
	return isObject(value) ? value : {};
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
