// Cuts bytes into lines of bounded length.
import { StringDecoder } from "node:string_decoder";
import { stripVTControlCharacters } from "node:util";

/** A binary flood without a newline must not fill memory. */
const longestLine = 4_000;

/** Replaces invalid UTF-8 by U+FFFD, and removes colours and control characters. */
export function cutLines(onLine: (line: string) => void) {
	const decoder = new StringDecoder("utf8");
	let rest = "";
	const emit = (line: string) => onLine(cleanLine(line));
	const take = (text: string) => {
		const parts = (rest + text).split(/\r\n|\n|\r(?!$)/);
		rest = parts.pop() ?? "";
		for (const part of parts) emit(part.slice(0, longestLine));
		while (rest.length > longestLine) {
			emit(rest.slice(0, longestLine));
			rest = rest.slice(longestLine);
		}
	};
	return {
		push: (chunk: Uint8Array) => take(decoder.write(chunk)),
		end: () => {
			take(decoder.end());
			if (rest.trim() !== "") emit(rest.slice(0, longestLine));
			rest = "";
		},
	};
}

function cleanLine(line: string) {
	return stripVTControlCharacters(line).replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "");
}

export function lastLines(size: number) {
	let kept: string[] = [];
	return {
		add(line: string): void {
			if (line.trim() === "") return;
			kept.push(line);
			if (kept.length >= size * 2) kept = kept.slice(-size);
		},
		lines: () => kept.slice(-size),
	};
}
