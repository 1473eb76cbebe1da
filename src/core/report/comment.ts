import type { Result } from "../../../generated/result.ts";
import { cleanText, shorten } from "../text/escape.ts";
import { renderMarkdown, type Shown } from "./markdown.ts";

export interface Marker {
	id: string;
	runId: number;
	attempt: number;
	sha: string;
}

const maxIdChars = 200;

export function markerId(configPath: string, name: string): string {
	return name === "" ? configPath : `${configPath}#${name}`;
}

/** Removes what ends an HTML comment, a line or the id. */
function encodeId(id: string): string {
	return encodeURIComponent(cleanText(shorten(id, maxIdChars))).replace(/--/g, "%2D%2D");
}

export function renderMarker({ id, runId, attempt, sha }: Marker): string {
	const hex = /^[0-9a-f]{1,64}$/i.test(sha) ? sha.toLowerCase() : "unknown";
	return `<!-- trtgate:${encodeId(id)} run:${whole(runId)} attempt:${whole(attempt)} sha:${hex} -->`;
}

function whole(value: number): number {
	return Number.isSafeInteger(value) && value > 0 ? value : 0;
}

// It must come first, so that a quotation of our comment does not count as ours.
const pattern =
	/^<!-- trtgate:([\w.!~*'()%-]{0,1000}) run:(\d{1,15}) attempt:(\d{1,6}) sha:([0-9a-f]{1,64}|unknown) -->/;

export function findMarker(body: string, id: string): Marker | null {
	const match = pattern.exec(body);
	if (match === null || match[1] !== encodeId(id)) return null;
	return { id, runId: Number(match[2]), attempt: Number(match[3]), sha: match[4] ?? "" };
}

export function isNewer(theirs: Marker, ours: Pick<Marker, "runId" | "attempt">): boolean {
	return theirs.runId > ours.runId || (theirs.runId === ours.runId && theirs.attempt > ours.attempt);
}

/** Whether the author may be ourselves: the known login, else any bot. */
export function isOwnAuthor(author: { login: string; type: string } | null, login: string | null): boolean {
	if (author === null) return false;
	// An app is `github-actions[bot]` to the REST interface and `github-actions` to GraphQL.
	const bare = (name: string): string => name.toLowerCase().replace(/\[bot\]$/, "");
	return login === null ? author.type === "Bot" : bare(author.login) === bare(login);
}

const commentLimit = 65_536;
/** Room for the note that a comment is outdated. */
const noteChars = 400;

export function renderComment(result: Result, marker: Marker, shown: Shown): string {
	const first = `${renderMarker(marker)}\n`;
	return first + renderMarkdown(result, { limit: commentLimit - noteChars - first.length, ...shown });
}

/** A run that measures another commit than the one that a comment is about. */
export interface Newcomer extends Pick<Marker, "runId" | "attempt" | "sha"> {
	url: string;
}

export interface Outdating {
	own: Marker;
	newcomer: Newcomer;
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
