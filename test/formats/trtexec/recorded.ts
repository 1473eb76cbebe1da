import { existsSync, readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { evidenceOfRecording } from "../../../src/formats/trtexec/diagnose.ts";
import {
	createLineReader,
	type LogLine,
	parseRecordingMeta,
} from "../../../src/formats/trtexec/transcript.ts";

const root = new URL("../../fixtures/trtexec/", import.meta.url);

export const recordedVersions = ["10.6", "10.15", "11.2"] as const;

export function recordedCases(version: string) {
	return readdirSync(new URL(`${version}/`, root)).sort();
}

export const recordedRuns = recordedVersions.flatMap((version) =>
	recordedCases(version).map((name) => `${version}/${name}`),
);

export function recordedText(name: string) {
	const file = new URL(`${name}/transcript.jsonl.gz`, root);
	return existsSync(file) ? gunzipSync(readFileSync(file)).toString("utf8") : "";
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

export function recordedMeta(name: string) {
	return parseRecordingMeta(readFileSync(new URL(`${name}/meta.json`, root), "utf8"));
}

export function recordedEvidence(name: string) {
	return { ...evidenceOfRecording(recordedMeta(name)), lines: recordedLines(name) };
}
