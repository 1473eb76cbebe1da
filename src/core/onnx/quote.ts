// Makes names from files harmless: shows control characters and bounds the length.
import type { OnnxDim } from "./model.ts";

const maxChars = 100;
const harmful = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

export function quoteName(name: string, mark = '"'): string {
	const shown = name.length > maxChars ? `${name.slice(0, maxChars - 1)}…` : name;
	return `${mark}${showText(shown)}${mark}`;
}

export function showText(text: string): string {
	return text.replace(harmful, (char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`);
}

export function formatDims(dims: readonly OnnxDim[]): string {
	return `[${dims.map((dim) => (typeof dim === "string" ? quoteName(dim, "") : (dim ?? "?"))).join(", ")}]`;
}
