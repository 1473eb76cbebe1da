// The issue that opens when a nightly run fails or could not decide, and closes when one passes again.
import type { Outcome, Result } from "../../../generated/result.ts";
import { cleanText, escapeMarkdown, markdownCode, shorten } from "../text/escape.ts";
import { counted, gateTitle } from "../text/labels.ts";
import { type Marker, renderMarker } from "./comment.ts";
import { armsText } from "./facts.ts";
import { headline } from "./highlights.ts";
import { renderMarkdown, type Shown } from "./markdown.ts";

export const alarmLabel = "trtgate";

const titleChars = 200;
const bodyLimit = 65_536;

/** A run that compared nothing needs attention like one that failed; `keep` leaves an open issue open. */
export function alarmOf(outcome: Outcome): "open" | "close" | "keep" {
	if (outcome === "fail" || outcome === "error") return "open";
	return outcome === "pass" || outcome === "warn" ? "close" : "keep";
}

/** Runs of one event, ref and workflow share an alarm. */
export interface AlarmSource {
	event: string;
	/** Full name, e.g. `refs/heads/main`. */
	ref: string;
	/** File name of the workflow, or its name if that is unknown. */
	workflow: string;
}

export function alarmId(id: string, { event, ref, workflow }: AlarmSource): string {
	return [id, event, ref, workflow].map((part) => shorten(part, 48)).join(" ");
}

export interface AlarmHistory {
	since: string;
	runs: number;
	firstRun: number;
}

const historyPattern =
	/^<!-- trtgate:[^\n]* -->\n<!-- since:(\d{4}-[\dT:.Z-]{6,24}) runs:(\d{1,6}) first:(\d{1,15}) -->\n/;

export function findHistory(body: string): AlarmHistory | null {
	const [, since, runs, firstRun] = historyPattern.exec(body) ?? [];
	return since === undefined ? null : { since, runs: Number(runs), firstRun: Number(firstRun) };
}

/** Titles are plain text, but `@` and `#` become active if they are quoted. */
export function alarmTitle(result: Result, id: string): string {
	const what = result.outcome === "fail" ? "fails" : "could not decide";
	const title = `${gateTitle(result.backend)} ${what} for ${id}: ${headline(result)}`;
	return shorten(cleanText(title).replace(/[@#](?=\w)/g, "$&\u200d"), titleChars);
}

export interface Alarm {
	marker: Marker;
	source: AlarmSource;
	history: AlarmHistory;
}

export function alarmBody(result: Result, { marker, source, history }: Alarm, shown: Shown): string {
	const { event, ref, workflow } = source;
	const { since, runs, firstRun } = history;
	const gate = event === "schedule" ? "scheduled gate" : "gate";
	const what =
		result.outcome === "fail"
			? `The ${gate} fails.`
			: `The ${gate} could not decide, so it is unknown whether the engines are still correct.`;
	const names = [event, ref, workflow].map((text) => markdownCode(cleanText(shorten(text, 100))));
	const first = [
		renderMarker(marker),
		`<!-- since:${since} runs:${runs} first:${firstRun} -->`,
		`${what} Runs: ${names.join(", ")}.`,
		"",
		historyLine(marker, history, shown),
		"",
		"This text is from the newest run; the issue closes automatically when such a run passes again.",
		"",
		"",
	].join("\n");
	return first + renderMarkdown(result, { limit: bodyLimit - first.length, ...shown });
}

function historyLine({ runId }: Marker, { since, runs, firstRun }: AlarmHistory, { links }: Shown): string {
	// The page of the repository, from that of the run.
	const page = links?.run?.replace(/\/actions\/runs\/\d+$/, "");
	const link = (text: string, path: string): string =>
		page === undefined ? text : `[${text}](${page}/${path})`;
	return `Since ${since.slice(0, 10)}, ${counted(runs, "run")}: ${link("first", `actions/runs/${firstRun}`)}, ${link("newest", `actions/runs/${runId}`)}.`;
}

export function isRecovered(result: Result, { links }: Shown): string {
	const run = links?.run === undefined ? "" : ` ${links.run}`;
	return `Recovered: ${escapeMarkdown(headline(result))} (${escapeMarkdown(armsText(result))}).${run}`;
}
