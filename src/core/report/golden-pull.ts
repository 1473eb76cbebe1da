// Texts for goldens that were recorded again: the pull request that proposes them, and its commit.

import type { GoldenManifest } from "../../../generated/golden.ts";
import type { GoldenChange, MovedOutput, ToleranceChange } from "../../../generated/result.ts";
import { describeSensitivity } from "../golden/record/defects/record.ts";
import { cleanName, cleanText, escapeMarkdown, markdownCode, shorten } from "../text/escape.ts";
import { counted } from "../text/labels.ts";
import { formatValue } from "../text/units.ts";
import { cleanMessage } from "./comparison-format.ts";
import { movedText } from "./golden-format.ts";

export interface RecordedGolden {
	model: string;
	path: string;
	manifest: GoldenManifest;
	/** What the golden was before; null: this is the first. */
	before: string | null;
	/** null: the first, or one whose tensors of before cannot be read. */
	change: GoldenChange | null;
}

export interface GoldenPull {
	goldens: readonly RecordedGolden[];
	reason: string;
	author: string;
	/** That the models are of. */
	commit: string;
	branch: string;
	notes: readonly string[];
	/** Only limits changed, by what engines deviated. */
	calibrated?: boolean;
}

/** A body that starts so is ours to rewrite. */
export const goldenPullMarker = "<!-- trtgate: goldens -->";

/** Ends the message of each of our commits. */
export function goldenTrailer(branch: string): string {
	return `Trtgate-Goldens: ${cleanText(branch)}`;
}

const maxTitleChars = 200;
/** GitHub takes 65,536 characters; code points are fewer than UTF-16 units. */
const maxBodyChars = 65_000;
const maxReasonChars = 1000;

export function goldenPullTitle({ goldens, calibrated }: Pick<GoldenPull, "goldens" | "calibrated">): string {
	const [only, second] = goldens;
	const what =
		only === undefined || second !== undefined
			? counted(goldens.length, "golden")
			: `the golden of ${cleanName(only.model, 80)}`;
	if (calibrated) return shorten(inertText(`Calibrate ${what}`), maxTitleChars);
	const isFirst = goldens.every(({ before }) => before === null);
	return shorten(inertText(isFirst ? `Record ${what}` : `Record ${what} again`), maxTitleChars);
}

export function goldenCommitMessage(pull: GoldenPull): string {
	const { reason, author, commit, branch, goldens } = pull;
	const reasonText = inertText(cleanMessage(reason, maxReasonChars));
	const revisions = goldens
		.slice(0, 50)
		.map(({ model, manifest }) => `${cleanName(model, 80)}: ${cleanName(manifest.goldenId, 80)}`);
	const facts = inertText(`Reason given by ${cleanName(author, 80)}. Models of ${commit}.`);
	return [
		goldenPullTitle(pull),
		reasonText,
		inertText(revisions.join("\n")),
		facts,
		goldenTrailer(branch),
	].join("\n\n");
}

/** In a commit too, GitHub calls whom an `@` names, and closes what `fixes #12` names; an invisible joiner keeps it from that. */
function inertText(text: string): string {
	return text
		.replace(/(?<!\w)@(?=\w)/g, "@\u200d")
		.replace(/(#|\bGH-)(?=\d)/gi, "$1\u200d")
		.replace(/:\/\//g, ":\u200d//");
}

/** Rows of each table, fewer where the whole would be too long. */
const rowLimits = [100, 30, 10, 3, 0];

export function goldenPullBody(pull: GoldenPull): string {
	const fitting = rowLimits.map((rows) => bodyWith(pull, rows)).find((body) => body.length <= maxBodyChars);
	if (fitting !== undefined) return fitting;
	const cut =
		"\n\nThis was too long for a pull request: the rest is in golden.json and in the report of the gate.";
	const body = bodyWith({ ...pull, goldens: pull.goldens.slice(0, 20) }, 0);
	return `${body.slice(0, maxBodyChars - cut.length).replace(/\p{Surrogate}$/u, "")}${cut}`;
}

const calibratedText =
	"Limits calibrated on engines: each engine's own error to the golden, and the limit that follows from it. Inputs and outputs are as they were. Merge only if these engines are known to be right.";

function bodyWith({ goldens, reason, author, commit, notes, calibrated }: GoldenPull, rows: number): string {
	return [
		goldenPullMarker,
		`**Why:** ${escapeMarkdown(cleanMessage(reason, maxReasonChars))} — ${escapeMarkdown(cleanName(author, 80))}`,
		calibrated
			? `${calibratedText} Models of ${commit}.`
			: `Recorded by ONNX Runtime in fp32 from the models of ${commit}. Every later engine is compared with these files: look at what moved and why, and merge only if the old golden was wrong or the new one is intended.`,
		...goldens.map((golden) =>
			[goldenPart(golden, rows), ...(calibrated ? evidenceTables(golden, rows) : [])].join("\n\n"),
		),
		...(notes.length === 0
			? []
			: [notes.map((note) => `- ${escapeMarkdown(cleanMessage(note, 400))}`).join("\n")]),
	].join("\n\n");
}

function goldenPart({ model, path, manifest, before, change }: RecordedGolden, rows: number): string {
	const head = `### ${escapeMarkdown(cleanName(model))}`;
	const file = markdownCode(cleanName(path, 200));
	const { backend, version } = manifest.producer;
	const made = `${counted(manifest.cases.length, "case")} by ${escapeMarkdown(cleanName(`${backend} ${version}`, 80))}`;
	const now =
		before === null
			? `${revision(manifest.goldenId)}, new`
			: `${revision(before)} → ${revision(manifest.goldenId)}`;
	const facts = `${file}: ${now}; ${made}.${noticed(manifest)}`;
	if (change === null)
		return [head, ...(before === null ? [facts] : [facts, "It is unknown what moved."])].join("\n\n");
	return [
		head,
		facts,
		...listOf(
			change.weakened,
			(text) => `- **WEAKER:** ${escapeMarkdown(cleanMessage(text, 400))}`,
			Math.max(rows, 10),
		),
		...listOf(change.notes, (text) => `- ${escapeMarkdown(cleanMessage(text, 400))}`, Math.max(rows, 10)),
		...movedTable(change, rows),
		...limitTable(change.tolerances, rows),
	].join("\n\n");
}

function revision(goldenId: string): string {
	return markdownCode(cleanName(goldenId, 80));
}

function noticed({ sensitivity }: GoldenManifest): string {
	if (sensitivity === undefined) return "";
	return describeSensitivity(sensitivity)
		.map((sentence) => ` ${escapeMarkdown(cleanMessage(sentence, 400))}`)
		.join("");
}

function listOf(texts: readonly string[], line: (text: string) => string, most: number): string[] {
	if (texts.length === 0) return [];
	const more = texts.length > most ? [`- … and ${texts.length - most} more`] : [];
	return [[...texts.slice(0, most).map(line), ...more].join("\n")];
}

function movedTable({ moved, movedTotal }: GoldenChange, rows: number): string[] {
	if (movedTotal === 0) return ["No output of a case that both revisions have moved."];
	const shown = moved.slice(0, rows);
	if (shown.length === 0) return [`${counted(movedTotal, "output")} moved.`];
	const title = `${counted(movedTotal, "output")} moved${shown.length < movedTotal ? `, the ${shown.length} furthest of them` : ""}:`;
	const line = (one: MovedOutput): string => {
		const distance = one.relativeL2 === null ? escapeMarkdown(movedText(one)) : formatValue(one.relativeL2);
		return `| ${markdownCell(one.case)} | ${markdownCell(one.output)} | ${distance} | ${one.maxAbs === null ? "–" : formatValue(one.maxAbs)} |`;
	};
	return [
		[
			title,
			"",
			"| case | output | relative L2, old to new | largest difference |",
			"|---|---|---:|---:|",
			...shown.map(line),
		].join("\n"),
	];
}

function limitTable(changes: readonly ToleranceChange[], rows: number): string[] {
	if (changes.length === 0) return [];
	const shown = changes.slice(0, rows);
	if (shown.length === 0) return [`${counted(changes.length, "limit")} changed.`];
	const line = ({ output, kind, what, base, head, looser }: ToleranceChange): string =>
		`| ${markdownCell(output)} | ${markdownCell(`${kind}, ${what}`)} | ${limitText(base)} | ${limitText(head)} | ${looser ? "**looser**" : "tighter or new"} |`;
	const title = `${counted(changes.length, "limit")} changed${shown.length < changes.length ? `, ${shown.length} of them` : ""}:`;
	return [
		[title, "", "| output | limit | before | now | |", "|---|---|---:|---:|---|", ...shown.map(line)].join(
			"\n",
		),
	];
}

function evidenceTables({ manifest }: RecordedGolden, rows: number): string[] {
	const [latest] = manifest.calibration ?? [];
	return (manifest.calibration ?? [])
		.filter(({ at }) => at === latest?.at)
		.map(({ engine, precision, backend, version, device, limits }) => {
			const name = `${cleanName(engine, 120)} at ${precision}, ${backend === "tensorrt" ? "TensorRT" : "ONNX Runtime"} ${cleanName(version, 40)} on ${cleanName(device, 80)}`;
			const line = (one: (typeof limits)[number]): string =>
				`| ${markdownCell(one.output)} | ${markdownCell(one.kind)} | ${markdownCell(one.case)} | ${formatValue(one.error)} | ${formatValue(one.before)} | ${formatValue(one.limit)} | ${escapeMarkdown(cleanMessage(one.why, 200))} |`;
			const shown = limits.slice(0, rows).map(line);
			const head = [
				"| output | check | worst case | error | limit before | limit now | why |",
				"|---|---|---|---:|---:|---:|---|",
			];
			return [
				`${escapeMarkdown(name)}:`,
				"",
				...(shown.length === 0 ? [`${counted(limits.length, "limit")}.`] : [...head, ...shown]),
			].join("\n");
		});
}

function markdownCell(text: string): string {
	return markdownCode(cleanName(text, 60));
}

function limitText(value: ToleranceChange["base"]): string {
	return typeof value === "number" ? formatValue(value) : escapeMarkdown(cleanName(value ?? "default", 40));
}
