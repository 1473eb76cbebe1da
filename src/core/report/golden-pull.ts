// The pull request that proposes goldens that were recorded again, and its commit.
import type { GoldenManifest } from "../../../generated/golden.ts";
import type { GoldenChange } from "../../../generated/result.ts";
import { describeSensitivity } from "../../golden/core/record/defects/record.ts";
import { cleanMessage, cleanName, cleanText, quoted, shorten } from "../text/escape.ts";
import { counted } from "../text/labels.ts";
import { formatValue } from "../text/units.ts";
import { drawMarkdown } from "./markdown.ts";
import { type Block, type Column, fullDetail, numeric, plain, sentence, table } from "./section.ts";
import { changeBlocks, revisionText } from "./sections/golden-changes.ts";

export interface RecordedGolden {
	model: string;
	path: string;
	manifest: GoldenManifest;
	before: string | null;
	/** null for the first, or if the previous tensors cannot be read. */
	change: GoldenChange | null;
}

export interface GoldenPull {
	goldens: readonly RecordedGolden[];
	reason: string;
	author: string;
	commit: string;
	branch: string;
	notes: readonly string[];
	calibrated?: boolean;
}

/** A body that starts with this is ours to rewrite. */
export const goldenPullMarker = "<!-- trtgate: goldens -->";

export function goldenTrailer(branch: string): string {
	return `Trtgate-Goldens: ${cleanText(branch)}`;
}

const maxTitleChars = 200;
const maxBodyChars = 65_000;
const maxReasonChars = 1000;

export function goldenPullTitle({ goldens, calibrated }: Pick<GoldenPull, "goldens" | "calibrated">): string {
	const [only] = goldens;
	const what =
		only !== undefined && goldens.length === 1
			? `the golden of ${cleanName(only.model, 80)}`
			: counted(goldens.length, "golden");
	const isFirst = goldens.every(({ before }) => before === null);
	const title = calibrated ? `Calibrate ${what}` : `Record ${what}${isFirst ? "" : " again"}`;
	return shorten(inertText(title), maxTitleChars);
}

export function goldenCommitMessage(pull: GoldenPull): string {
	const { reason, author, commit, branch, goldens } = pull;
	const revisions = goldens
		.slice(0, 50)
		.map(({ model, manifest }) => `${cleanName(model, 80)}: ${cleanName(manifest.goldenId, 80)}`);
	return [
		goldenPullTitle(pull),
		inertText(cleanMessage(reason, maxReasonChars)),
		inertText(revisions.join("\n")),
		inertText(`Reason given by ${cleanName(author, 80)}. Models of ${commit}.`),
		goldenTrailer(branch),
	].join("\n\n");
}

/** GitHub notifies `@NAME` and closes `fixes #12` even in a commit message. */
function inertText(text: string) {
	return text
		.replace(/(?<!\w)@(?=\w)/g, "@\u200d")
		.replace(/(#|\bGH-)(?=\d)/gi, "$1\u200d")
		.replace(/:\/\//g, ":\u200d//");
}

const rowLimits = [100, 30, 10, 3, 0];

export function goldenPullBody(pull: GoldenPull): string {
	const fitting = rowLimits.map((rows) => bodyWith(pull, rows)).find((body) => body.length <= maxBodyChars);
	if (fitting !== undefined) return fitting;
	const cut =
		"\n\nThis was too long for a pull request: the rest is in golden.json and in the report of the gate.";
	const body = bodyWith({ ...pull, goldens: pull.goldens.slice(0, 20) }, 0);
	return `${body.slice(0, maxBodyChars - cut.length).replace(/\p{Surrogate}$/u, "")}${cut}`;
}

const recordedText =
	"Recorded by ONNX Runtime in fp32. Every later engine is compared with these files: merge only if the old golden was wrong or the new one is intended.";
const calibratedText =
	"Limits calibrated on engines: each engine's own error to the golden, and the limit that follows from it. Inputs and outputs are as they were. Merge only if these engines are known to be right.";

function bodyWith({ goldens, reason, author, commit, notes, calibrated }: GoldenPull, rows: number) {
	const blocks: Block[] = [
		sentence(`Why: ${said(reason, maxReasonChars)} — ${said(author, 80)}`),
		sentence(`${calibrated ? calibratedText : recordedText} Models of ${commit}.`),
		...goldens.flatMap((golden) => [
			...goldenBlocks(golden),
			...(calibrated ? evidenceBlocks(golden.manifest) : []),
		]),
		{ kind: "list", items: notes.map((note) => said(note, 400)) },
	];
	const detail = { ...fullDetail, foldedRows: rows };
	return [goldenPullMarker, ...drawMarkdown(blocks, detail)].join("\n\n");
}

/** Backticks in text written by people must not pair up with those of the next text. */
function said(text: string, maxChars: number) {
	return cleanMessage(text, maxChars).replaceAll("`", "'");
}

function goldenBlocks({ model, path, manifest, before, change }: RecordedGolden): Block[] {
	const { goldenId, producer, cases, sensitivity } = manifest;
	const revision = before === null ? `${goldenId}, new` : revisionText({ base: before, head: goldenId });
	const made = `${counted(cases.length, "case")} by ${said(`${producer.backend} ${producer.version}`, 80)}`;
	const noticed = (sensitivity ? describeSensitivity(sensitivity) : []).map((text) => said(text, 400));
	const moved =
		change === null ? "It is unknown what moved." : "No output of a case that both revisions have moved.";
	return [
		{ kind: "heading", text: cleanName(model) },
		sentence([`${quoted(path, 200)}: ${said(revision, 160)}; ${made}.`, ...noticed].join(" ")),
		...(before !== null && (change?.movedTotal ?? 0) === 0 ? [sentence(moved)] : []),
		...(change === null ? [] : changeBlocks(change)),
	];
}

type Evidence = NonNullable<GoldenManifest["calibration"]>[number];

const evidenceColumns: readonly Column<Evidence["limits"][number]>[] = [
	plain("output", ({ output }) => said(output, 60)),
	plain("check", ({ kind }) => said(kind, 60)),
	plain("worst case", (limit) => said(limit.case, 60)),
	numeric("error", ({ error }) => formatValue(error)),
	numeric("limit before", ({ before }) => formatValue(before)),
	numeric("limit now", ({ limit }) => formatValue(limit)),
	plain("why", ({ why }) => said(why, 200)),
];

function evidenceBlocks({ calibration = [] }: GoldenManifest) {
	return calibration
		.filter(({ at }) => at === calibration[0]?.at)
		.flatMap(({ engine, precision, backend, version, device, limits }) => {
			const runtime = backend === "tensorrt" ? "TensorRT" : "ONNX Runtime";
			const name = `${said(engine, 120)} at ${precision}, ${runtime} ${said(version, 40)} on ${said(device, 80)}:`;
			return [sentence(name), table(name, evidenceColumns, limits, { noun: "limit" })];
		});
}
