// The one way to open a file whose path comes from outside.
import { createHash } from "node:crypto";
import {
	closeSync,
	constants,
	createReadStream,
	fstatSync,
	openSync,
	read,
	readSync,
	type Stats,
	statSync,
} from "node:fs";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { ConfigError } from "../../core/errors.ts";
import type { InputKind } from "../../core/input-kind.ts";
import { formatBytes } from "../../core/text/units.ts";
import type { ByteSource } from "../../formats/bytes/byte-source.ts";
import { errorCode } from "./write-error.ts";

const readBlock = promisify(read);
/** Reads beyond 2 GiB in one call fail. */
const blockBytes = 4 * 1024 * 1024;

export interface InputFile {
	file: number;
	facts: Stats;
}

/**
 * Looks before it opens, since some devices act on being opened, and again afterwards. Without O_NONBLOCK,
 * opening a named pipe waits for a writer.
 * @param shown the path as the user knows it.
 * @throws ConfigError with the codes of the kind.
 */
export function openInput(path: string, kind: InputKind, shown = path): InputFile {
	try {
		checkFacts(statSync(path), kind, shown);
		const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
		try {
			const facts = fstatSync(file);
			checkFacts(facts, kind, shown);
			return { file, facts };
		} catch (error) {
			closeSync(file);
			throw error;
		}
	} catch (error) {
		throw inputError(error, kind, shown);
	}
}

export async function withInput<T>(
	path: string,
	kind: InputKind,
	work: (input: InputFile) => T | Promise<T>,
	shown = path,
): Promise<T> {
	const input = openInput(path, kind, shown);
	try {
		return await work(input);
	} finally {
		closeSync(input.file);
	}
}

export function readInput(path: string, kind: InputKind, shown = path): Promise<Uint8Array> {
	return withInput(path, kind, ({ file, facts }) => readWhole(file, facts.size), shown);
}

export async function readInputText(path: string, kind: InputKind, shown = path): Promise<string> {
	return Buffer.from(await readInput(path, kind, shown)).toString("utf8");
}

/** @returns less than `size` bytes if the file ends before. */
export async function readWhole(file: number, size: number): Promise<Uint8Array> {
	const bytes = new Uint8Array(size);
	for (let at = 0; at < size; ) {
		const { bytesRead } = await readBlock(file, bytes, at, Math.min(blockBytes, size - at), at);
		if (bytesRead === 0) return bytes.subarray(0, at);
		at += bytesRead;
	}
	return bytes;
}

function checkFacts(facts: Stats, kind: InputKind, shown: string) {
	const fix = "Put the file itself there.";
	if (!facts.isFile())
		throw refused(kind, shown, { why: `it is ${kindOf(facts)}`, expected: ", a regular file", fix });
	if (facts.size > kind.maxBytes) {
		const expected = ` of at most ${formatBytes(kind.maxBytes)}`;
		throw refused(kind, shown, { why: `it has ${formatBytes(facts.size)}`, expected, fix });
	}
}

function kindOf(facts: Stats) {
	if (facts.isDirectory()) return "a folder";
	if (facts.isFIFO()) return "a named pipe";
	return facts.isSocket() ? "a socket" : "a device";
}

const reasons: Readonly<Record<string, string>> = {
	EACCES: "permission denied",
	EPERM: "the operation is not permitted",
	ELOOP: "its path is a loop of links",
	ENAMETOOLONG: "its name is too long",
	ENXIO: "it is a device or a socket",
};

export function inputError(error: unknown, kind: InputKind, shown: string): unknown {
	const code = errorCode(error);
	if (code === "ENOENT" || code === "ENOTDIR") {
		return new ConfigError({
			code: kind.missing,
			message: `There is no ${kind.what.replace(/^an? /, "")} at ${shown}.`,
			cause: error,
			location: { path: shown },
			fix: kind.fix,
		});
	}
	const why = Object.hasOwn(reasons, code) ? reasons[code] : undefined;
	if (why === undefined) return error;
	const fix = /^E(ACCES|PERM)$/.test(code)
		? "Give this process's user permission to read it."
		: "Correct the path or the link.";
	return refused(kind, shown, { why: `${why} (${code})`, expected: "", fix, cause: error });
}

function refused(
	{ unreadable, what }: InputKind,
	path: string,
	{ why, expected, fix, cause }: { why: string; expected: string; fix: string; cause?: unknown },
) {
	const message = `${path} cannot be read: ${why}; expected ${what}${expected}.`;
	return new ConfigError({ code: unreadable, message, cause, location: { path }, fix });
}

export function fileSource(file: number, size: number): ByteSource {
	return {
		size,
		read(offset, length) {
			const bytes = new Uint8Array(Math.max(0, Math.min(length, size - offset)));
			let filled = 0;
			while (filled < bytes.length) {
				const most = Math.min(blockBytes, bytes.length - filled);
				const count = readSync(file, bytes, filled, most, offset + filled);
				if (count === 0) return bytes.subarray(0, filled);
				filled += count;
			}
			return bytes;
		},
	};
}

export function digestOf(content: string | Uint8Array): string {
	return createHash("sha256").update(content).digest("hex");
}

export async function digestFile(path: string): Promise<string> {
	const hash = createHash("sha256");
	await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash);
	return hash.digest("hex");
}
