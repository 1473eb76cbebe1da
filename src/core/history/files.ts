// The files of a history: one for each run, and one for each month that was compacted. What cannot be used is kept and named.
import type { HistoryRecord } from "../schema/history.ts";
import { validate } from "../schema/history-validator.js";
import { cleanText, shorten } from "../text/escape.ts";
import { type PackedTable, packTable, readPackedTable, recordAt, type Table, tableOf } from "./columns.ts";

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
const monthPath = /^months\/(\d{4}-\d{2})\.json$/;

/** Named by its content, so that writing it twice is writing it once. */
export function fileOf(record: HistoryRecord, hash: (text: string) => string): HistoryFile {
	const text = `${JSON.stringify(record)}\n`;
	const time = record.at.slice(0, 19).replaceAll(/[-:]/g, "");
	const run = record.run.replaceAll(/[^A-Za-z0-9]+/g, "-").slice(0, 40);
	return { path: `runs/${record.at.slice(0, 4)}/${record.at.slice(5, 7)}/${time}Z-${run}-${hash(text).slice(0, 12)}.json`, text };
}

interface NamedRecord {
	name: string;
	record: HistoryRecord;
}

type Read = { state: "ok"; record: HistoryRecord } | { state: "skipped"; why: string };

export function readRecord(text: string): Read {
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		return { state: "skipped", why: "it is not JSON; the file may be truncated" };
	}
	const version = typeof value === "object" && value !== null && "schemaVersion" in value ? value.schemaVersion : undefined;
	if (typeof version === "number" && version > 1) return { state: "skipped", why: `a newer trtgate wrote it (schemaVersion ${version})` };
	if (validate(value)) return { state: "ok", record: value as HistoryRecord };
	const [error] = validate.errors ?? [];
	const where = error === undefined || error.instancePath === "" ? "" : ` at ${error.instancePath}`;
	return { state: "skipped", why: `it is not a record of trtgate: ${cleanText(shorten(`${error?.message ?? "unknown"}${where}`, 200))}` };
}

export function readHistory(files: readonly HistoryFile[]): History {
	const skipped: string[] = [];
	const skip = (path: string, why: string): void => void skipped.push(`Skipped ${cleanText(shorten(path, 200))}: ${why}.`);
	const sorted = [...files].sort((left, right) => (left.path < right.path ? -1 : 1));
	const months = sorted.flatMap(({ path, text }) => {
		if (!monthPath.test(path)) return [];
		const table = readPackedTable(parse(text));
		if (table === null) skip(path, "it is not a month of this version; the file may be damaged, or a newer trtgate wrote it");
		return table ?? [];
	});
	const known = new Set(months.flatMap(({ columns }) => columns.get("source") ?? []));
	const compacted = new Set(months.flatMap(({ names }) => names));
	const runs: NamedRecord[] = [];
	for (const { path, text } of sorted.filter(({ path }) => !monthPath.test(path) && !shownPath.test(path))) {
		const name = runPath.exec(path)?.[3];
		// A compaction that was interrupted leaves files that the month already has.
		if (name !== undefined && compacted.has(name)) continue;
		const read: Read = name === undefined ? { state: "skipped", why: "it is not a file of a history" } : readRecord(text);
		if (read.state === "skipped") skip(path, read.why);
		else if (known.has(read.record.source)) skip(path, `it is a duplicate: another file has the run of ${read.record.at}`);
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
		return null;
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
		if (read.state === "ok") byMonth.set(own, [...(byMonth.get(own) ?? []), { path, name, record: read.record }]);
	}
	const done = [...byMonth].flatMap(
		([own, runs]) => compactMonth(files.find(({ path }) => path === `months/${own}.json`)?.text, own, runs) ?? [],
	);
	if (done.length === 0) return null;
	return { write: done.map(({ file }) => file), remove: done.flatMap(({ remove }) => remove) };
}

function compactMonth(
	text: string | undefined,
	month: string,
	runs: readonly (NamedRecord & { path: string })[],
): { file: HistoryFile; remove: string[] } | null {
	const earlier = text === undefined ? null : readPackedTable(parse(text));
	// A month that cannot be read may hold records of others: it is never overwritten.
	if (text !== undefined && earlier === null) return null;
	const kept = (earlier?.names ?? []).map((name, at) => ({ name, record: recordAt(earlier as Table, at) }));
	const names = new Set(kept.map(({ name }) => name));
	const all = [...kept, ...runs.filter(({ name }) => !names.has(name))].sort((left, right) => (left.name < right.name ? -1 : 1));
	const packed = packTable(tableOf(all));
	if (!isSame(packed, all)) return null;
	return { file: { path: `months/${month}.json`, text: `${JSON.stringify(packed)}\n` }, remove: runs.map(({ path }) => path) };
}

/** Reads back what was packed: a record is removed only where its copy is the same. */
function isSame(packed: PackedTable, all: readonly NamedRecord[]): boolean {
	const table = readPackedTable(JSON.parse(JSON.stringify(packed)));
	return table !== null && all.every(({ record }, at) => canonical(recordAt(table, at)) === canonical(record));
}

/** The same text for the same content, whatever the order of keys and rows. */
function canonical(value: unknown): string {
	if (Array.isArray(value)) return `[${value.map(canonical).sort().join()}]`;
	if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
	const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
	return `{${entries.map(([key, child]) => `${JSON.stringify(key)}:${canonical(child)}`).join()}}`;
}
