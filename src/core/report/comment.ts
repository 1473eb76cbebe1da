// The comment of a pull request, the issue of a nightly run that fails, and the hidden line that identifies both.
import type { ErrorRecord, Finding, Location, Outcome, Result } from "../../../generated/result.ts";
import { groupBy } from "../group.ts";
import { cleanMessage, cleanText, escapeMarkdown, markdownCode, shorten } from "../text/escape.ts";
import {
	capitalize,
	counted,
	gateTitle,
	outcomeLabels,
	present,
	subjectName,
	unverifiedText,
} from "../text/labels.ts";
import { armsText, backendOf, gateLabel } from "./facts.ts";
import { type FailingGate, failingGates } from "./highlight.ts";
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

const levels = { error: "failure", warning: "warning", notice: "notice" } as const;

type Level = keyof typeof levels;

interface Annotation {
	level: Level;
	title: string;
	message: string;
	path?: string;
	line?: number;
	column?: number;
}

function place(location: Location | undefined) {
	return location === undefined ? {} : { ...location, path: cleanText(location.path) };
}

function ofGate(gate: FailingGate, result: Result): Annotation {
	const { status, message, location } = gate;
	return {
		level: status === "fail" || status === "error" ? "error" : "warning",
		title: `${subjectName(gate)}: ${gateLabel(gate.gate, backendOf(result, gate))} ${status}`,
		message: cleanMessage(message, 2000),
		...place(location),
	};
}

function ofProblem(problem: ErrorRecord | Finding, level: Level, node?: string): Annotation {
	const { code, message, fix, location } = problem;
	const where = node === undefined ? "" : ` (node ${cleanMessage(node, 120)})`;
	const next = fix === undefined ? "" : ` ${cleanMessage(fix, 1000)}`;
	return {
		level,
		title: present([subjectName(problem), cleanMessage(code, 80)]).join(": "),
		message: `${cleanMessage(`${message}${where}`, 2000)}${next}`,
		...place(location),
	};
}

/** GitHub shows ten errors of a step, and the step itself ends with one. */
const mostOfStep = 9;

export function annotations(result: Result, most = mostOfStep): Annotation[] {
	const found = [
		...result.errors.map((error) => ofProblem(error, error.kind === "github" ? "warning" : "error")),
		...failingGates(result).map((gate) => ofGate(gate, result)),
		...result.findings.map((finding) =>
			ofProblem(finding, finding.severity === "note" ? "notice" : finding.severity, finding.node),
		),
	];
	// Gates, errors and both sides may give the same message about the same place.
	const distinct = groupBy(found, ({ message, path, line, column }) =>
		JSON.stringify([message, path, line, column]),
	);
	const order = Object.keys(levels);
	const all = [...distinct.values()]
		.map(([first]) => first)
		.sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
	if (all.length <= most) return all;
	const more = all.length - most + 1;
	const message = `${more} more annotations are in report.html and result.json.`;
	return [...all.slice(0, most - 1), { level: "notice", title: `${more} more`, message }];
}

/** An inconclusive outcome is neither: if the config wants it to fail, its gates have failed. */
const conclusions: Readonly<Record<Outcome, "success" | "failure" | "neutral">> = {
	...{ pass: "success", warn: "success", inconclusive: "neutral", fail: "failure", error: "failure" },
};

const maxAnnotations = 200;
const checkTitleChars = 250;
const summaryLimit = 65_000;

const blame = {
	runner: "the runner is at fault, not the change; run it again",
	configuration: "the configuration is at fault",
	internal: "trtgate itself is at fault",
};

function checkTitle(result: Result) {
	const label = outcomeLabels[result.outcome];
	const why = result.failureKind === undefined ? "" : ` (${blame[result.failureKind]})`;
	const state = result.unverified === true ? `${unverifiedText}: ${label}` : capitalize(label);
	return shorten(`${state}${why}: ${headline(result)}`, checkTitleChars);
}

export function describeCheckRun(result: Result, shown: Shown) {
	const conclusion = conclusions[result.outcome];
	return {
		conclusion: result.unverified === true && conclusion === "success" ? "neutral" : conclusion,
		title: checkTitle(result),
		summary: renderMarkdown(result, { limit: summaryLimit, ...shown }),
		annotations: annotations(result, maxAnnotations).map(({ path, line = 1, message, ...one }) => ({
			path: path ?? result.config.path,
			line: path === undefined ? 1 : Math.max(1, line),
			level: levels[one.level],
			title: shorten(one.title, checkTitleChars),
			message,
		})),
	};
}
