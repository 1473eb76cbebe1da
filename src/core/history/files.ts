// The files of a history: one for each run, and one for each month that was compacted. What cannot be used is kept and named.

import type { HistoryRecord } from "../../../generated/history.ts";
import { validate } from "../../../generated/history-validator.js";
import { isObject } from "../found.ts";
import { cleanText, shorten } from "../text/escape.ts";
import { type Table, tableOf } from "./columns.ts";

export interface HistoryFile {
	/** From the top of the store, with forward slashes. */
	path: string;
	text: string;
}

export interface History {
	/** In order of time, as far as their months tell. */
	tables: readonly Table[];
	/** One sentence for each file that is not used. */
	skipped: readonly string[];
}

const runPath = /^runs\/(\d{4})\/(\d{2})\/([A-Za-z0-9._-]+\.json)$/;
/** Made from the records, for people. */
const shownPath = /^(README\.md|pictures\/[\w-]+\.svg)$/;
/** A line for each run: its file's name and its record. */
const monthPath = /^months\/(\d{4}-\d{2})\.jsonl\.gz$/;

/** Named by its content, so that writing it twice is writing it once. */
export function fileOf(record: HistoryRecord, hash: (text: string) => string): HistoryFile {
	const text = `${JSON.stringify(record)}\n`;
	const time = record.at.slice(0, 19).replaceAll(/[-:]/g, "");
	const run = record.run.replaceAll(/[^A-Za-z0-9]+/g, "-").slice(0, 40);
	return {
		path: `runs/${record.at.slice(0, 4)}/${record.at.slice(5, 7)}/${time}Z-${run}-${hash(text).slice(0, 12)}.json`,
		text,
	};
}

interface NamedRecord {
	name: string;
	record: HistoryRecord;
}

type Read = { state: "ok"; record: HistoryRecord } | { state: "skipped"; why: string };

export function readRecord(text: string): Read {
	const value = parse(text);
	return value === undefined
		? { state: "skipped", why: "it is not JSON; the file may be truncated" }
		: checkRecord(value);
}

function checkRecord(value: unknown): Read {
	const version = isObject(value) ? value["schemaVersion"] : undefined;
	if (typeof version === "number" && version > 1)
		return { state: "skipped", why: `a newer trtgate wrote it (schemaVersion ${version})` };
	if (validate(value)) return { state: "ok", record: value as HistoryRecord };
	const [error] = validate.errors ?? [];
	const where = error === undefined || error.instancePath === "" ? "" : ` at ${error.instancePath}`;
	return {
		state: "skipped",
		why: `it is not a record of trtgate: ${cleanText(shorten(`${error?.message ?? "unknown"}${where}`, 200))}`,
	};
}

/** null: at least one line is no record of this version. */
function readMonth(text: string): NamedRecord[] | null {
	const runs = text
		.trimEnd()
		.split("\n")
		.map((line): NamedRecord | null => {
			const value = parse(line);
			if (!isObject(value) || typeof value["name"] !== "string") return null;
			const read = checkRecord(value["record"]);
			return read.state === "ok" ? { name: value["name"], record: read.record } : null;
		});
	return runs.every((run) => run !== null) ? runs : null;
}

export function readHistory(files: readonly HistoryFile[]): History {
	const skipped: string[] = [];
	const skip = (path: string, why: string): void =>
		void skipped.push(`Skipped ${cleanText(shorten(path, 200))}: ${why}.`);
	const sorted = [...files].sort((left, right) => (left.path < right.path ? -1 : 1));
	const months = sorted.flatMap(({ path, text }) => {
		if (!monthPath.test(path)) return [];
		const runs = readMonth(text);
		if (runs === null)
			skip(path, "it is not a month of this version; the file may be damaged, or a newer trtgate wrote it");
		return runs === null ? [] : tableOf(runs);
	});
	const known = new Set(months.flatMap(({ columns }) => columns.get("source") ?? []));
	const compacted = new Set(months.flatMap(({ names }) => names));
	const runs: NamedRecord[] = [];
	for (const { path, text } of sorted.filter(({ path }) => !monthPath.test(path) && !shownPath.test(path))) {
		const name = runPath.exec(path)?.[3];
		// A compaction that was interrupted leaves files that the month already has.
		if (name !== undefined && compacted.has(name)) continue;
		const read: Read =
			name === undefined ? { state: "skipped", why: "it is not a file of a history" } : readRecord(text);
		if (read.state === "skipped") skip(path, read.why);
		else if (known.has(read.record.source))
			skip(path, `it is a duplicate: another file has the run of ${read.record.at}`);
		else {
			runs.push({ name: name ?? "", record: read.record });
			known.add(read.record.source);
		}
	}
	return { tables: [...months, ...(runs.length === 0 ? [] : [tableOf(runs)])], skipped };
}

function parse(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

export interface Compaction {
	write: readonly HistoryFile[];
	/** Paths of the files that are now in a month. */
	remove: readonly string[];
}

/**
 * Puts the runs of all months before `month` (2026-11) into one file each. Files that cannot be read stay where they are.
 * null: nothing to do.
 */
export function compact(files: readonly HistoryFile[], month: string): Compaction | null {
	const byMonth = new Map<string, (NamedRecord & { path: string })[]>();
	for (const { path, text } of files) {
		const [, year, number, name] = runPath.exec(path) ?? [];
		const own = `${year}-${number}`;
		if (name === undefined || own >= month) continue;
		const read = readRecord(text);
		if (read.state === "ok")
			byMonth.set(own, [...(byMonth.get(own) ?? []), { path, name, record: read.record }]);
	}
	const done = [...byMonth].flatMap(
		([own, runs]) => compactMonth(files.find(({ path }) => path === monthFile(own))?.text, own, runs) ?? [],
	);
	if (done.length === 0) return null;
	return { write: done.map(({ file }) => file), remove: done.flatMap(({ remove }) => remove) };
}

const monthFile = (month: string): string => `months/${month}.jsonl.gz`;

function compactMonth(
	text: string | undefined,
	month: string,
	runs: readonly (NamedRecord & { path: string })[],
): { file: HistoryFile; remove: string[] } | null {
	const kept = text === undefined ? [] : readMonth(text);
	// A month that cannot be read may hold records of others: it is never overwritten.
	if (kept === null) return null;
	const names = new Set(kept.map(({ name }) => name));
	const all = [...kept, ...runs.filter(({ name }) => !names.has(name))].sort((left, right) =>
		left.name < right.name ? -1 : 1,
	);
	const lines = all.map(({ name, record }) => `${JSON.stringify({ name, record })}\n`);
	return { file: { path: monthFile(month), text: lines.join("") }, remove: runs.map(({ path }) => path) };
}
