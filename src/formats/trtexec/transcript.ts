// Reads trtexec's output into lines.

export type LogLevel = "verbose" | "info" | "warning" | "error" | "none";

export interface LogLine {
	number: number;
	level: LogLevel;
	text: string;
}

export const longestLineChars = 16_384;

// F (fatal) is treated like E.
const levels: Readonly<Record<string, LogLevel>> = {
	V: "verbose",
	I: "info",
	W: "warning",
	E: "error",
	F: "error",
};

// Coloured output; other control characters would garble a report.
const ansi = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]{0,512}(?:\u0007|\u001b\\)?)/g;
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const needsCleaning = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;
// CI services and `docker logs -t` put a time before each line, `gh run view --log` also job and step.
const stamp =
	/^\ufeff?(?:[^\t]{1,200}\t[^\t]{1,200}\t\ufeff?)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z(?: \d\d[OE][+ ]| |$)/;
const prefix = /^\s*\[\d\d\/\d\d\/\d{4}-\d\d:\d\d:\d\d\] \[([VIWEF])\]/;

function cleanText(raw: string) {
	const cut = raw.length > longestLineChars ? raw.slice(0, longestLineChars) : raw;
	const plain = needsCleaning.test(cut) ? cut.replace(ansi, "").replace(control, "") : cut;
	return plain.replace(stamp, "");
}

function levelOf(text: string) {
	const letter = prefix.exec(text)?.[1];
	return (letter === undefined ? undefined : levels[letter]) ?? "none";
}

export function parseLogLine(raw: string, number: number): LogLine {
	const text = cleanText(raw);
	return { number, level: levelOf(text), text };
}

/** Tells lines of verbose messages, which may span several. TensorRT also warns on stderr, as crashes do. */
export function createVerboseTest(): (text: string, stream: "out" | "err") => boolean {
	let isVerbose = false;
	return (text, stream) => {
		if (stream === "err") return false;
		const level = levelOf(text);
		if (level !== "none" || text.startsWith("&&&&")) isVerbose = level === "verbose";
		return isVerbose;
	};
}

export function createLineReader(onLine: (line: LogLine) => void) {
	let decoder: InstanceType<typeof TextDecoder> | undefined;
	let pending = "";
	let number = 0;
	const emit = (raw: string) => {
		number++;
		onLine(parseLogLine(raw.endsWith("\r") ? raw.slice(0, -1) : raw, number));
	};
	const append = (part: string) => {
		if (pending.length < longestLineChars) pending += part.slice(0, longestLineChars);
	};
	const take = (text: string) => {
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
		push: (bytes: Uint8Array) => {
			// Windows PowerShell redirects in UTF-16.
			decoder ??= new TextDecoder(bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : "utf-8");
			take(decoder.decode(bytes, { stream: true }));
		},
		end: () => {
			take(decoder?.decode() ?? "");
			if (pending !== "") emit(pending);
			pending = "";
		},
	};
}

export interface WrittenFile {
	path: string;
	bytes: number;
}
