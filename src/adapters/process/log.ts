// Streams a child's output, cut into clean lines, to a log file of bounded size.
import { createWriteStream } from "node:fs";
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { stripVTControlCharacters } from "node:util";
import { classifyWriteError, makeFolders } from "./write-error.ts";

export type LogFile = Awaited<ReturnType<typeof openLog>>;

export async function openLog(path: string, capBytes: number) {
	const stream = await openStream(path);
	let failed: unknown;
	let left = capBytes;
	const waiting = new Set<Readable>();
	const wake = () => {
		for (const source of waiting) source.resume();
		waiting.clear();
	};
	stream.on("drain", wake);
	stream.on("error", (error) => {
		failed = error;
		wake();
	});
	return {
		write(chunk: Uint8Array, source: Readable): void {
			if (left <= 0 || failed !== undefined) return;
			const part = chunk.length <= left ? chunk : chunk.subarray(0, left);
			left -= part.length;
			const ready = stream.write(part);
			if (left <= 0) stream.write(`\n[trtgate: the log was cut here, after ${capBytes} bytes]\n`);
			if (!ready && !source.isPaused()) {
				waiting.add(source);
				source.pause();
			}
		},
		async close(): Promise<void> {
			if (!stream.closed)
				await new Promise<void>((resolve) => {
					stream.once("close", () => resolve());
					stream.end();
				});
			if (failed !== undefined) throw classifyWriteError(failed, path);
		},
	};
}

async function openStream(path: string) {
	await makeFolders(dirname(path));
	try {
		const stream = createWriteStream(path);
		await new Promise<void>((resolve, reject) => {
			stream.once("open", () => resolve());
			stream.once("error", reject);
		});
		stream.removeAllListeners("error");
		return stream;
	} catch (error) {
		throw classifyWriteError(error, path);
	}
}

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
