import { existsSync, readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { flagsOf } from "../../../src/formats/trtexec/diagnose.ts";
import { createLineReader, type LogLine } from "../../../src/formats/trtexec/transcript.ts";

const root = new URL("../../fixtures/trtexec/", import.meta.url);

export const recordedVersions = ["10.6", "10.15", "11.2"] as const;

export function recordedCases(version: string) {
	return readdirSync(new URL(`${version}/`, root)).sort();
}

export const recordedRuns = recordedVersions.flatMap((version) =>
	recordedCases(version).map((name) => `${version}/${name}`),
);

type RecordedLine = [atMs: number, stream: "out" | "err", text: string];

function transcriptOf(name: string): RecordedLine[] {
	const file = new URL(`${name}/transcript.jsonl.gz`, root);
	if (!existsSync(file)) return [];
	const rows = gunzipSync(readFileSync(file)).toString("utf8").split("\n");
	return rows.filter((row) => row !== "").map((row) => JSON.parse(row));
}

/** What the run printed, as a terminal shows it. */
export function recordedText(name: string, streams: readonly ("out" | "err")[] = ["out", "err"]) {
	const kept = transcriptOf(name).filter(([, stream]) => streams.includes(stream));
	return kept.map(([, , text]) => `${text}\n`).join("");
}

export function parseLog(text: string) {
	const lines: LogLine[] = [];
	const reader = createLineReader((line) => lines.push(line));
	reader.push(new TextEncoder().encode(text));
	reader.end();
	return lines;
}

export function recordedLines(name: string) {
	return parseLog(recordedText(name));
}

interface RecordedMeta {
	argv: string[];
	exitCode?: number | null;
	signal?: string | null;
	spawnError?: string | null;
	wrote?: Record<string, { bytes: number } | null>;
}

export function recordedMeta(name: string) {
	const meta: RecordedMeta = JSON.parse(readFileSync(new URL(`${name}/meta.json`, root), "utf8"));
	const wrote = Object.entries(meta.wrote ?? {}).flatMap(([path, file]) =>
		file === null ? [] : [{ path, bytes: file.bytes }],
	);
	const { argv, exitCode = null, signal = null, spawnError = null } = meta;
	return { argv, exitCode, signal, spawnError, wrote };
}

/** A recording lists every file that the run wrote below its folder. */
export function recordedEvidence(name: string) {
	const { exitCode, signal, spawnError, argv, wrote } = recordedMeta(name);
	const flags = flagsOf(argv);
	const written = new Set(wrote.map((file) => file.path));
	const absent = ["--exportTimes", "--exportProfile", "--exportLayerInfo", "--exportOutput"]
		.map((flag) => flags.get(flag) ?? "")
		.filter((path) => path !== "" && !path.startsWith("/") && !written.has(path));
	return { exitCode, signal, spawnError, argv, wrote, absent, lines: recordedLines(name) };
}
