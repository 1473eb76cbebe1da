// The files of a history: one per run, and one per compacted month.
import type { HistoryRecord } from "../../../generated/history.ts";
import { validate } from "../../../generated/history-validator.js";
import { isObject, parseJson } from "../../core/found.ts";
import { groupBy } from "../../core/group.ts";
import { cleanText, shorten } from "../../core/text/escape.ts";

export interface HistoryFile {
	path: string;
	text: string;
}

const runPath = /^runs\/(\d{4})\/(\d{2})\/([A-Za-z0-9._-]+\.json)$/;
const badgePath = /^badge(-[A-Za-z0-9-]*)?\.svg$/;
const monthPath = /^months\/(\d{4}-\d{2})\.jsonl\.gz$/;

/** Named by content, so that writing it twice has no effect. */
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

const skippedFor = (why: string): Read => ({ state: "skipped", why });

export function readRecord(text: string): Read {
	const value = parseJson(text);
	return value === undefined ? skippedFor("it is not JSON; the file may be truncated") : checkRecord(value);
}

function checkRecord(value: unknown): Read {
	const version = isObject(value) ? value["schemaVersion"] : undefined;
	if (typeof version === "number" && version > 1)
		return skippedFor(`a newer trtgate wrote it (schemaVersion ${version})`);
	if (validate(value)) return { state: "ok", record: value as HistoryRecord };
	const [error] = validate.errors ?? [];
	const where = error === undefined || error.instancePath === "" ? "" : ` at ${error.instancePath}`;
	const why = cleanText(shorten(`${error?.message ?? "unknown"}${where}`, 200));
	return skippedFor(`it is not a record of trtgate: ${why}`);
}

function readMonth(text: string) {
	const lines = text.trimEnd().split("\n");
	const runs = lines.map((line): NamedRecord | null => {
		const value = parseJson(line);
		if (!isObject(value) || typeof value["name"] !== "string") return null;
		const read = checkRecord(value["record"]);
		return read.state === "ok" ? { name: value["name"], record: read.record } : null;
	});
	return runs.every((run) => run !== null) ? runs : null;
}

export function readHistory(files: readonly HistoryFile[]) {
	const skipped: string[] = [];
	const records: NamedRecord[] = [];
	const skip = (path: string, why: string) => {
		skipped.push(`Skipped ${cleanText(shorten(path, 200))}: ${why}.`);
		return [];
	};
	const sorted = files
		.filter(({ path }) => !badgePath.test(path))
		.toSorted((left, right) => (left.path < right.path ? -1 : 1));
	const damaged = "it is not a month of this version; the file may be damaged, or a newer trtgate wrote it";
	for (const { path, text } of sorted.filter((file) => monthPath.test(file.path)))
		records.push(...(readMonth(text) ?? skip(path, damaged)));
	const known = new Set(records.map(({ record }) => record.source));
	const compacted = new Set(records.map(({ name }) => name));
	for (const { path, text } of sorted.filter((file) => !monthPath.test(file.path))) {
		const name = runPath.exec(path)?.[3];
		// An interrupted compaction leaves files of runs that the month already has.
		if (name !== undefined && compacted.has(name)) continue;
		const read = name === undefined ? skippedFor("it is not a file of a history") : readRecord(text);
		if (read.state === "skipped") {
			skip(path, read.why);
			continue;
		}
		const { source, at } = read.record;
		if (known.has(source)) skip(path, `it is a duplicate: another file has the run of ${at}`);
		else records.push({ name: name ?? "", record: read.record });
		known.add(source);
	}
	return { records, skipped };
}

export interface Compaction {
	write: readonly HistoryFile[];
	remove: readonly string[];
}

/**
 * Puts the runs of each month before `month` (2026-11) into one file.
 * @returns null if there is nothing to do.
 */
export function compact(files: readonly HistoryFile[], month: string): Compaction | null {
	const runs = files.flatMap(({ path, text }) => {
		const [, year, number, name] = runPath.exec(path) ?? [];
		if (name === undefined || `${year}-${number}` >= month) return [];
		const read = readRecord(text);
		return read.state === "ok" ? [{ month: `${year}-${number}`, path, name, record: read.record }] : [];
	});
	const write: HistoryFile[] = [];
	const remove: string[] = [];
	for (const [own, added] of groupBy(runs, (run) => run.month)) {
		const path = `months/${own}.jsonl.gz`;
		const text = files.find((file) => file.path === path)?.text;
		const kept = text === undefined ? [] : readMonth(text);
		// An unreadable month may hold records, so it is never overwritten.
		if (kept === null) continue;
		const byName = new Map([...added, ...kept].map(({ name, record }) => [name, record]));
		const lines = [...byName]
			.sort(([left], [right]) => (left < right ? -1 : 1))
			.map(([name, record]) => `${JSON.stringify({ name, record })}\n`);
		write.push({ path, text: lines.join("") });
		remove.push(...added.map((run) => run.path));
	}
	return write.length === 0 ? null : { write, remove };
}
