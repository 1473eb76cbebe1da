// Reads trtexec's output, a recorded transcript or a plain log, into lines with a number, a stream and a level.

export type LogLevel = "verbose" | "info" | "warning" | "error" | "none";

export interface LogLine {
	/** From 1. */
	number: number;
	stream?: "out" | "err";
	/** Time since the program started. */
	atMs?: number;
	level: LogLevel;
	text: string;
}

/** Longer lines are cut. TensorRT messages that rules match are much shorter. */
export const longestLineChars = 16_384;

// F (fatal) is treated like E.
const levels: Readonly<Record<string, LogLevel>> = { V: "verbose", I: "info", W: "warning", E: "error", F: "error" };

// CSI and OSC sequences of coloured output; other control characters would garble a report.
const ansi = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]{0,512}(?:\u0007|\u001b\\)?)/g;
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const needsCleaning = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;
const prefix = /^\s*\[\d\d\/\d\d\/\d{4}-\d\d:\d\d:\d\d\] \[([VIWEF])\]/;
const transcriptLine = /^\s*\[\s*\d+(?:\.\d+)?\s*,\s*"(?:out|err)"\s*,/;

function cleanText(raw: string): string {
	const cut = raw.length > longestLineChars ? raw.slice(0, longestLineChars) : raw;
	return needsCleaning.test(cut) ? cut.replace(ansi, "").replace(control, "") : cut;
}

function levelOf(text: string): LogLevel {
	const letter = prefix.exec(text)?.[1];
	return (letter === undefined ? undefined : levels[letter]) ?? "none";
}

/** One line of a plain log. */
export function parseLogLine(raw: string, number: number): LogLine {
	const text = cleanText(raw);
	return { number, level: levelOf(text), text };
}

/** One line of a transcript, `[ms, "out" or "err", text]`; anything else is parsed as plain text. */
export function parseTranscriptLine(raw: string, number: number): LogLine {
	if (!transcriptLine.test(raw)) return parseLogLine(raw, number);
	let entry: unknown;
	try {
		entry = JSON.parse(raw);
	} catch {
		return parseLogLine(raw, number);
	}
	if (!Array.isArray(entry) || typeof entry[2] !== "string") return parseLogLine(raw, number);
	const line = parseLogLine(entry[2], number);
	const stream = entry[1] === "err" ? "err" : "out";
	return { ...line, stream, atMs: Number(entry[0]) };
}

export interface LineReader {
	push(bytes: Uint8Array): void;
	end(): void;
}

/** Splits chunks of bytes into lines; buffers at most one line. */
export function createLineReader(onLine: (line: LogLine) => void): LineReader {
	const decoder = new TextDecoder("utf-8", { fatal: false });
	let pending = "";
	let number = 0;
	const emit = (raw: string): void => {
		number++;
		onLine(parseTranscriptLine(raw.endsWith("\r") ? raw.slice(0, -1) : raw, number));
	};
	// A transcript line contains its text escaped, so it can be longer than the text.
	const append = (part: string): void => {
		if (pending.length < 4 * longestLineChars) pending += part.slice(0, 4 * longestLineChars);
	};
	const take = (text: string): void => {
		let from = 0;
		for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", from)) {
			append(text.slice(from, at));
			emit(pending);
			pending = "";
			from = at + 1;
		}
		append(text.slice(from));
	};
	return {
		push: (bytes) => take(decoder.decode(bytes, { stream: true })),
		end: () => {
			take(decoder.decode());
			if (pending !== "") emit(pending);
			pending = "";
		},
	};
}

/** A whole log or transcript, for tests and small logs. */
export function parseLog(text: string): LogLine[] {
	const lines: LogLine[] = [];
	const reader = createLineReader((line) => lines.push(line));
	reader.push(new TextEncoder().encode(text));
	reader.end();
	return lines;
}
