// Renders the trend of a history as one HTML file.
import { groupBy } from "../../core/group.ts";
import { at, html, linearScale, pill, type Scale, section } from "../../core/report/html/markup.ts";
import { drawHtml, renderPage } from "../../core/report/html/report.ts";
import { heading, long, plain, sentence, table } from "../../core/report/section.ts";
import { cleanName, cleanText, shellWord, shorten } from "../../core/text/escape.ts";
import { counted, listNames, type Tone } from "../../core/text/labels.ts";
import { formatMs, formatPercent } from "../../core/text/units.ts";
import { type AlarmBudget, budgetText } from "./alarm-budget.ts";
import {
	type Alarm,
	type Findings,
	isWatching,
	levelNow,
	type ShiftOf,
	type WatchedChain,
} from "./alarms.ts";
import { ageText, decisionText, stateOf } from "./decisions.ts";
import { answer, causeNames, describeAlarm, enginesOf, shiftText, stateText } from "./judge-trend.ts";
import type { Metric, Series } from "./series.ts";

const style = `#series{list-style:none;margin:12px 0;padding:0}#series li{display:grid;grid-template-columns:minmax(0,1fr) 420px 130px;gap:4px 16px;align-items:center;padding:5px 8px;border-bottom:1px solid var(--line);content-visibility:auto;contain-intrinsic-size:auto 62px}#series li:hover{background:var(--card)}#series small{color:var(--mut)}#series .now{text-align:right;font-variant-numeric:tabular-nums}
.course{width:420px;height:50px}.level{fill:none;stroke:var(--a1);stroke-width:1.4}.joint,.accept,.epoch{fill:none;stroke:var(--mut);stroke-width:1;stroke-dasharray:2 3}.epoch{stroke:var(--open);stroke-dasharray:none}.accept{stroke:var(--ok);stroke-dasharray:none}.worse{fill:var(--bad)}.better{fill:var(--ok)}
.legend i{width:14px;height:0;border:0;border-top:2px solid var(--mut);border-radius:0;vertical-align:middle}.legend .epoch{border-color:var(--open)}.legend .accept{border-color:var(--ok)}.legend .change{border-color:var(--bad)}.legend .joint{border-top-style:dashed}
@media(max-width:760px){#series li{grid-template-columns:minmax(0,1fr) auto}.course{grid-column:1/3;grid-row:2;width:100%}thead{display:none}tr{display:flex;flex-wrap:wrap;gap:0 12px;padding:7px 0;border-bottom:1px solid var(--line)}tr td,tr th[scope=row]{padding:0;border:0;white-space:normal;max-width:none;overflow-wrap:anywhere;position:static}}`;

const metricNames: Readonly<Record<Metric, string>> = {
	latency: "latency",
	memory: "memory",
	size: "engine size",
	error: "golden error",
};
const causeTones: Readonly<Record<Alarm["cause"], Tone>> = {
	change: "bad",
	method: "warn",
	host: "warn",
	noise: "open",
};

interface Line {
	chains: readonly WatchedChain[];
	newest: WatchedChain;
	title: string;
	shifts: readonly ShiftOf[];
	level: number | null;
	/** The level in units of the noise. */
	surprise: number;
}

const lastRun = ({ chain }: WatchedChain) => chain.points.at(-1)?.run ?? -1;

function linesOf({ chains, alarms, gains }: Findings) {
	const shifts = [...alarms, ...gains].flatMap((alarm) => alarm.shifts);
	const groups = groupBy(chains, ({ chain }) => JSON.stringify([chain.series, chain.metric, chain.name]));
	const lines = [...groups.values()].flatMap((own) => {
		const [newest] = own.toSorted((left, right) => lastRun(right) - lastRun(left));
		if (newest === undefined) return [];
		const { metric, name } = newest.chain;
		const level = levelNow(newest);
		return [
			{
				chains: own,
				newest,
				title: name === undefined ? metricNames[metric] : `${metricNames[metric]}: ${cleanName(name, 80)}`,
				shifts: shifts.filter(({ chain }) => own.some((one) => one.chain === chain)),
				level,
				surprise: level === null ? 0 : Math.abs(level) / noiseOf(newest),
			},
		];
	});
	return lines.sort((left, right) => right.surprise - left.surprise);
}

const noiseOf = ({ watched }: WatchedChain) => watched.references.at(-1)?.sd ?? 0;

const maxPoints = 360;

function drawnPoints({ chain: { points }, watched }: WatchedChain) {
	const base = watched.references.at(-1)?.level ?? points[0]?.level ?? 0;
	const size = Math.ceil(points.length / maxPoints);
	const means = Array.from({ length: Math.ceil(points.length / size) }, (_, index) => {
		const own = points.slice(index * size, (index + 1) * size);
		const sum = own.reduce((total, { level }) => total + level - base, 0);
		return { run: own.at(-1)?.run ?? 0, level: sum / own.length };
	});
	// Sizes stay the same for months, so only the ends of equal neighbours are kept.
	return means.filter(
		({ level }, index) => level !== means[index - 1]?.level || level !== means[index + 1]?.level,
	);
}

const maxNames = 4;

function namesOf(alarm: Alarm) {
	return cleanName(listNames(enginesOf(alarm), maxNames), 250);
}

function alarmCard(alarm: Alarm, series: Series) {
	const tone = causeTones[alarm.cause];
	const { state, reason } = stateOf(alarm, series);
	const engines = enginesOf(alarm).slice(0, maxNames);
	const names = engines.map((name) => shellWord(cleanName(name, 120))).join();
	const next =
		reason === undefined
			? ` Nobody has decided: \`trtgate history watch ${names} --reason …\`, or \`accept\`.`
			: "";
	const said = describeAlarm(alarm, series) + stateText(alarm, series) + next;
	return html`<div class="highlight ${tone}"><h2>${namesOf(alarm)} ${pill(causeNames[alarm.cause], tone)} ${pill(state, "plain")}</h2>${drawHtml([sentence(said)])}</div>
`;
}

interface YearRow {
	alarm: Alarm;
	state: ReturnType<typeof stateOf> | null;
}

function yearBlock({ alarms, gains }: Findings, series: Series) {
	const last = series.runs.at(-1)?.day ?? 0;
	const rows = [...alarms, ...gains]
		.filter(({ raised }) => (series.runs[raised]?.day ?? 0) > last - 365)
		.sort((left, right) => right.start - left.start)
		.map((alarm) => ({ alarm, state: gains.includes(alarm) ? null : stateOf(alarm, series) }));
	if (rows.length === 0) return sentence("Nothing changed its level within the last year.", "quiet");
	const columns = [
		plain<YearRow>("began", ({ alarm }) => series.runs[alarm.start]?.at.slice(0, 10) ?? ""),
		heading<YearRow>("engines", ({ alarm }) => namesOf(alarm)),
		plain<YearRow>(
			"size",
			({
				alarm: {
					shifts: [first],
				},
			}) => (first === undefined ? "" : shiftText(first, series).replace(/ since .*/, "")),
		),
		plain<YearRow>("cause", ({ alarm }) => causeNames[alarm.cause]),
		plain<YearRow>("state", ({ state }) => state?.state ?? "better"),
		plain<YearRow>("age", ({ state }) => (state === null ? "" : ageText(state))),
		long<YearRow>("who and why", ({ state }) => (state === null ? "" : decisionText(state))),
	];
	return table("changes of the last year", columns, rows, { noun: "change" });
}

const percentOf = (level: number) => formatPercent(Math.expm1(level), { sign: true, digits: 2 });

const width = 420;
const height = 50;
const margin = 3;

function dayScale({ runs }: Series) {
	const first = runs[0]?.day ?? 0;
	return linearScale([first, Math.max(first + 1, runs.at(-1)?.day ?? 1)], [margin, width - margin]);
}

/** Browsers show a mark's title to who points at it. */
function drawLine({ chains, newest, title, shifts }: Line, { runs }: Series, x: Scale) {
	const drawn = chains.map(drawnPoints);
	// Noise fills a third of the height if nothing moved.
	const reach = Math.max(
		1e-6,
		...chains.map((one) => 4 * noiseOf(one)),
		...drawn.flat().map(({ level }) => Math.abs(level)),
	);
	const y = linearScale([-reach, reach], [height - margin, margin]);
	const dayAt = (run = 0) => at(x.place(runs[run]?.day ?? 0));
	const titleAt = (run: number, what: string) => {
		const { at: time = "", commit = "" } = runs[run] ?? {};
		return html`<title>${[time.slice(0, 10), commit.slice(0, 9), what].filter((part) => part).join(" · ")}</title>`;
	};
	const mark = (run: number | undefined, kind: string, what: string) =>
		html`<path class="${kind}" d="M${dayAt(run)} 0V${height}">${titleAt(run ?? 0, what)}</path>`;
	const courses = chains.map(({ chain: { points, changed, joints } }, index) => {
		const steps = (drawn[index] ?? []).map(({ run, level }) => `${dayAt(run)} ${at(y.place(level))}`);
		return [
			changed.length > 0 ? mark(points[0]?.run, "epoch", `new: ${changed.join(", ")}`) : null,
			joints.map((place) => mark(points[place]?.run, "joint", "new pin")),
			html`<path class="level" d="M${steps.join("L")}"/>`,
		];
	});
	// One decision holds for all epochs that it follows.
	const decided = chains.flatMap(({ chain }) => chain.decisions.filter(({ kind }) => kind === "accepted"));
	const accepted = [...new Map(decided.map(({ run, reason }) => [run, reason]))].map(([run, reason]) =>
		mark(run, "accept", `accepted: ${cleanText(shorten(reason, 60))}`),
	);
	const changes = shifts.map(({ start, shift, cause }) => {
		const kind = shift.direction === "up" ? "worse" : "better";
		const what = titleAt(start, `${percentOf(shift.size)}, ${causeNames[cause]}`);
		return html`<circle class="${kind}" cx="${dayAt(start)}" cy="${at(y.place(0))}" r="3">${what}</circle>`;
	});
	const [top, bottom] = [y.place(2 * noiseOf(newest)), y.place(-2 * noiseOf(newest))];
	return html`<svg class="course" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}"><rect class="zone" x="0" y="${at(top)}" width="${width}" height="${at(bottom - top)}"/>${accepted}${courses}${changes}</svg>`;
}

function lineOf(line: Line, series: Series, x: Scale) {
	const { newest, title, level } = line;
	const ns = newest.chain.points.at(-1)?.headNs ?? NaN;
	const time = Number.isNaN(ns) ? null : html`<small>${formatMs(ns / 1e6)}</small>`;
	return html`<li><span>${cleanName(newest.chain.series, 120)} <small>${title}</small></span>${drawLine(line, series, x)}<span class="now">${level === null ? "not watched yet" : percentOf(level)} ${time}</span></li>
`;
}

function factsOf({ runs }: Series, skipped: readonly string[]) {
	const facts = [
		counted(runs.length, "run"),
		`${runs[0]?.at.slice(0, 10) ?? ""} to ${runs.at(-1)?.at.slice(0, 10) ?? ""}`,
		counted(new Set(runs.flatMap(({ host }) => host ?? [])).size, "machine"),
	];
	const notes = skipped.slice(0, 20).map((sentence) => html`<li>${sentence}</li>`);
	return html`<ul class="facts">${facts.map((fact) => html`<li>${fact}</li>`)}</ul>${skipped.length === 0 ? null : html`<details class="notice plain"><summary>${counted(skipped.length, "file")} skipped</summary><ul>${notes}</ul></details>`}`;
}

export function renderTrend(
	findings: Findings,
	series: Series,
	about: { version: string; skipped: readonly string[]; budget: AlarmBudget },
): string {
	const x = dayScale(series);
	const open = findings.alarms.filter(({ isOpen }) => isOpen);
	const state =
		open.length === 0
			? isWatching(findings)
				? pill("steady", "ok")
				: pill("too early", "plain")
			: pill("changed", open.some(({ cause }) => cause === "change") ? "bad" : "warn");
	const body = html`<header><h1>${state} <span>${answer(findings, series)}</span></h1>${factsOf(series, about.skipped)}</header>
<main>
${open.map((alarm) => alarmCard(alarm, series))}${section("The last year", drawHtml([sentence(budgetText(about.budget)), yearBlock(findings, series)]), "year")}${section(
	"All series, most surprising first",
	html`<p class="legend"><i class="change"></i>changed <i class="accept"></i>accepted <i class="epoch"></i>new machine or version <i class="joint"></i>new pin. The band is twice the noise; levels are ratios to the pin, chained.</p>
<ul id="series">
${linesOf(findings).map((line) => lineOf(line, series, x))}</ul>`,
	"all",
)}</main>
<footer>trtgate ${cleanName(about.version, 40)} · made from the files of the history, which hold every figure on this page. Times depend on each night's machine and are for information only.</footer>
`;
	return renderPage(`Trend · ${answer(findings, series)}`, body, style);
}
