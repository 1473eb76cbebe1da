// The comment of a pull request, the issue of a nightly run that fails, and the hidden line that identifies both.
import type { Outcome, Result } from "../../../generated/result.ts";
import { cleanText, escapeMarkdown, markdownCode, shorten } from "../text/escape.ts";
import { counted, gateTitle } from "../text/labels.ts";
import { armsText } from "./facts.ts";
import { headline } from "./highlights.ts";
import { renderMarkdown, type Shown } from "./markdown.ts";

export interface Marker {
	id: string;
	runId: number;
	attempt: number;
	sha: string;
}

/** Names of ids that are cut alike would share one comment or alarm. */
const maxIdChars = 1000;

export function markerId(configPath: string, name: string): string {
	return name === "" ? configPath : `${configPath}#${name}`;
}

function encodeId(id: string) {
	return encodeURIComponent(cleanText(shorten(id, maxIdChars))).replace(/--/g, "%2D%2D");
}

export function renderMarker({ id, runId, attempt, sha }: Marker): string {
	const hex = /^[0-9a-f]{1,64}$/i.test(sha) ? sha.toLowerCase() : "unknown";
	return `<!-- trtgate:${encodeId(id)} run:${whole(runId)} attempt:${whole(attempt)} sha:${hex} -->`;
}

function whole(value: number) {
	return Number.isSafeInteger(value) && value > 0 ? value : 0;
}

// It must come first, so that a quotation of our comment does not count as ours.
const pattern =
	/^<!-- trtgate:([\w.!~*'()%-]{0,9000}) run:(\d{1,15}) attempt:(\d{1,6}) sha:([0-9a-f]{1,64}|unknown) -->/;

/** @param wanted null: any id, as it is encoded. */
export function findMarker(body: string, wanted: string | null): Marker | null {
	const match = pattern.exec(body);
	if (match === null || (wanted !== null && match[1] !== encodeId(wanted))) return null;
	return {
		id: wanted ?? match[1] ?? "",
		runId: Number(match[2]),
		attempt: Number(match[3]),
		sha: match[4] ?? "",
	};
}

export function isNewer(theirs: Marker, ours: Pick<Marker, "runId" | "attempt">): boolean {
	return theirs.runId > ours.runId || (theirs.runId === ours.runId && theirs.attempt > ours.attempt);
}

/** Whether the author may be ourselves: the known login, else any bot. */
export function isOwnAuthor(author: { login: string; type: string } | null, login: string | null): boolean {
	if (author === null) return false;
	// An app is `github-actions[bot]` to the REST interface and `github-actions` to GraphQL.
	const bare = (name: string) => name.toLowerCase().replace(/\[bot\]$/, "");
	return login === null ? author.type === "Bot" : bare(author.login) === bare(login);
}

const commentLimit = 65_536;
const noteChars = 400;

export function renderComment(result: Result, marker: Marker, shown: Shown): string {
	const first = `${renderMarker(marker)}\n`;
	return first + renderMarkdown(result, { limit: commentLimit - noteChars - first.length, ...shown });
}

export interface Outdating {
	own: Marker;
	newcomer: Omit<Marker, "id"> & { url: string };
	state: "measuring" | "ended";
}

const notePattern =
	/^(<!-- trtgate:[^\n]* -->\n)(?:> \[!NOTE\]\n> [^\n]* <!-- by run:(\d{1,15}) attempt:(\d{1,6}) -->\n\n)?/;

/** null if the comment must stay as it is. */
export function noteOutdated(body: string, { own, newcomer, state }: Outdating): string | null {
	const match = notePattern.exec(body);
	if (match === null || own.sha === newcomer.sha || isNewer(own, newcomer)) return null;
	const { runId, attempt, sha, url } = newcomer;
	const [before, marker = "", notedRun, notedAttempt] = match;
	const noted =
		notedRun === undefined ? null : { ...own, runId: Number(notedRun), attempt: Number(notedAttempt) };
	const isOurs = noted?.runId === runId && noted.attempt === attempt;
	if ((state === "ended" && !isOurs) || (noted !== null && isNewer(noted, newcomer))) return null;
	const commit = sha.slice(0, 7);
	const what =
		state === "measuring" ? `${commit} is being measured` : `the run for ${commit} ended without a result`;
	const note = `> [!NOTE]\n> Outdated, of ${own.sha.slice(0, 7)}: [${what}](${url}). <!-- by run:${runId} attempt:${attempt} -->`;
	const text = `${marker}${note}\n\n${body.slice(before.length)}`;
	return text.length > commentLimit ? null : text;
}

export const alarmLabel = "trtgate";

const titleChars = 200;

/** A run that compared nothing needs attention like one that failed; `keep` leaves an open issue open. */
export function alarmOf(outcome: Outcome): "open" | "close" | "keep" {
	if (outcome === "fail" || outcome === "error") return "open";
	return outcome === "pass" || outcome === "warn" ? "close" : "keep";
}

/** Runs of one event, ref and workflow share an alarm. */
export interface AlarmSource {
	event: string;
	ref: string;
	/** File name of the workflow, or its name if that is unknown. */
	workflow: string;
}

export function alarmId(id: string, { event, ref, workflow }: AlarmSource): string {
	return [id, event, ref, workflow].join(" ");
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

export function alarmBody(
	result: Result,
	{ marker, source, history }: { marker: Marker; source: AlarmSource; history: AlarmHistory },
	shown: Shown,
): string {
	const { event, ref, workflow } = source;
	const { since, runs, firstRun } = history;
	const gate = event === "schedule" ? "scheduled gate" : "gate";
	const what =
		result.outcome === "fail"
			? `The ${gate} fails.`
			: `The ${gate} could not decide, so it is unknown whether the engines are still correct.`;
	const names = [event, ref, workflow].map((text) => markdownCode(cleanText(shorten(text, 100))));
	const hidden = `${renderMarker(marker)}\n<!-- since:${since} runs:${runs} first:${firstRun} -->\n`;
	const closes =
		"This text is from the newest run; the issue closes automatically when such a run passes again.";
	const texts = [`${what} Runs: ${names.join(", ")}.`, historyLine(marker, history, shown), closes, ""];
	const first = hidden + texts.join("\n\n");
	return first + renderMarkdown(result, { limit: commentLimit - first.length, ...shown });
}

function historyLine({ runId }: Marker, { since, runs, firstRun }: AlarmHistory, { links }: Shown) {
	const page = links?.run?.replace(/\/actions\/runs\/\d+$/, "");
	const link = (text: string, path: string) => (page === undefined ? text : `[${text}](${page}/${path})`);
	return `Since ${since.slice(0, 10)}, ${counted(runs, "run")}: ${link("first", `actions/runs/${firstRun}`)}, ${link("newest", `actions/runs/${runId}`)}.`;
}

export function isRecovered(result: Result, { links }: Shown): string {
	const run = links?.run === undefined ? "" : ` ${links.run}`;
	return `Recovered: ${escapeMarkdown(headline(result))} (${escapeMarkdown(armsText(result))}).${run}`;
}
