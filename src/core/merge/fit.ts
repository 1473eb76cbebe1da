import type { Result } from "../../../generated/result.ts";
import { inputKinds } from "../input-kind.ts";
import { formatBytes } from "../text/units.ts";
import type { JudgedPart } from "./parts.ts";

const { maxBytes } = inputKinds.result;

export function fits(result: Result): boolean {
	return writtenBytes(result, maxBytes) <= maxBytes;
}

/** Keeps the smallest results, up to `share` of the limit together. */
export function refuseLargest(parts: readonly JudgedPart[], share: number): JudgedPart[] {
	const sized = parts.map((part) => ({
		part,
		bytes: part.content.state === "read" ? writtenBytes(part.content.result, maxBytes) : 0,
	}));
	let left = maxBytes * share;
	const kept = new Set<JudgedPart>();
	for (const { part, bytes } of sized.toSorted((a, b) => a.bytes - b.bytes)) {
		left -= bytes;
		if (left >= 0) kept.add(part);
	}
	return sized.map(({ part }) => (kept.has(part) ? part : { ...part, content: tooLarge(parts.length) }));
}

export const tooLargeFix =
	"Its own result holds everything. Merge fewer parts at a time: name fewer folders, or give the parts of each report an `artifact` prefix of their own.";

function tooLarge(count: number): JudgedPart["content"] {
	const reason = `The merged result of all ${count} parts would be larger than ${formatBytes(maxBytes)}, so this one is left out.`;
	return { state: "refused", reason, kind: "configuration", fix: tooLargeFix };
}

/** An upper bound of the bytes as indented JSON; stops counting beyond `most`. */
function writtenBytes(value: unknown, most: number, depth = 1): number {
	if (typeof value !== "object" || value === null) return textBytes(JSON.stringify(value) ?? "");
	let bytes = depth + 2;
	for (const [key, item] of Object.entries(value)) {
		// A line break, the indentation and a comma; in an object also the key in quotes, a colon and a blank.
		bytes += depth + 2 + (Array.isArray(value) ? 0 : textBytes(JSON.stringify(key)) + 2);
		bytes += writtenBytes(item, most - bytes, depth + 1);
		if (bytes > most) break;
	}
	return bytes;
}

function textBytes(text: string): number {
	return /[^\0-\x7f]/.test(text) ? text.length * 3 : text.length;
}
