// Renders the trend of a history as one HTML file: the answer, the last year, then every series, most surprising first.

import { html, type Markup, type Piece, pill, section } from "../../../core/report/html/markup.ts";
import { styleSheet } from "../../../core/report/html/style.ts";
import { cleanName, cleanText, shorten } from "../../../core/text/escape.ts";
import { counted, listNames, type Tone } from "../../../core/text/labels.ts";
import { formatMs, formatPercent } from "../../../core/text/units.ts";
import type { Alarm, Findings } from "../alarms.ts";
import { causeNames, describeAlarm, shiftText } from "../judge-trend.ts";
import type { Metric, Series } from "../series.ts";
import { answer, enginesOf } from "./answer.ts";
import { trendScript, trendScriptHash } from "./script.ts";
import { dayScale, sparkline } from "./spark.ts";
import { shownRuns, type ViewSeries, viewsOf } from "./view.ts";

const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src '${trendScriptHash}'; base-uri 'none'; form-action 'none'`;

const style = `#series{list-style:none;margin:12px 0;padding:0}#series button.line{all:unset;box-sizing:border-box;cursor:pointer;display:grid;grid-template-columns:minmax(0,1fr) 260px 130px;gap:4px 16px;align-items:center;width:100%;padding:5px 8px;border-bottom:1px solid var(--line)}#series button.line:hover,#series button.line:focus-visible,#series [aria-expanded=true]{background:var(--card)}#series button.line:focus-visible{outline:2px solid var(--a1)}#series li{content-visibility:auto;contain-intrinsic-size:auto 52px}#series small{color:var(--mut)}#series .now{text-align:right;font-variant-numeric:tabular-nums}
.course{width:260px;height:40px}.level{fill:none;stroke:var(--a1);stroke-width:1.4}.joint,.accept,.epoch,.change{fill:none;stroke:var(--mut);stroke-width:1;stroke-dasharray:2 3}.epoch{stroke:var(--open);stroke-dasharray:none}.accept{stroke:var(--ok);stroke-dasharray:none}.change{stroke:var(--bad);stroke-dasharray:none}.worse{fill:var(--bad)}.better{fill:var(--ok)}.at{fill:var(--fg)}
#controls{display:flex;gap:10px;flex-wrap:wrap}#controls input,#controls select,#large button{font:inherit;color:var(--fg);background:var(--bg);border:1px solid var(--line);border-radius:6px;padding:6px 10px}#controls input{flex:1 1 220px}#large{border:1px solid var(--line);border-radius:6px;padding:4px 16px 14px;margin:14px 0}#large h2{margin:10px 0}#large button{margin-right:8px;padding:2px 10px}#large [aria-pressed=true]{border-color:var(--a1)}#large svg{overflow:visible;touch-action:pan-y}#at{min-height:1.5em}
.legend i{width:14px;height:0;border:0;border-top:2px solid var(--mut);border-radius:0;vertical-align:middle}.legend .epoch{border-color:var(--open)}.legend .accept{border-color:var(--ok)}.legend .change{border-color:var(--bad)}.legend .joint{border-top-style:dashed}
@media(max-width:760px){#series button.line{grid-template-columns:minmax(0,1fr) auto}.course{grid-column:1/3;grid-row:2;width:100%}thead{display:none}tr{display:flex;flex-wrap:wrap;gap:0 12px;padding:7px 0;border-bottom:1px solid var(--line)}tr td,tr th[scope=row]{padding:0;border:0;white-space:normal;max-width:none;overflow-wrap:anywhere;position:static}}`;

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

function titleOf({ metric, name }: ViewSeries): string {
	return name === "" ? metricNames[metric] : `${metricNames[metric]}: ${cleanName(name, 80)}`;
}

const maxNames = 4;

function namesOf(alarm: Alarm): string {
	return cleanName(listNames(enginesOf(alarm), maxNames), 250);
}

function alarmCard(alarm: Alarm, series: Series): Markup {
	const [before, command = "", after = ""] = describeAlarm(alarm, series).split("`");
	return html`<div class="highlight ${causeTones[alarm.cause]}"><h2>${namesOf(alarm)} ${pill(causeNames[alarm.cause], causeTones[alarm.cause])}</h2><p>${before ?? ""}${command === "" ? null : html`<code>${command}</code>`}${after}</p></div>
`;
}

function yearTable({ alarms, gains }: Findings, series: Series): Piece {
	const last = series.runs.at(-1)?.day ?? 0;
	const all = [...alarms, ...gains].filter(({ raised }) => (series.runs[raised]?.day ?? 0) > last - 365);
	if (all.length === 0) return html`<p class="sub">Nothing changed its level within the last year.</p>`;
	const rows = all
		.sort((left, right) => right.start - left.start)
		.slice(0, 200)
		.map((alarm) => {
			const [first] = alarm.shifts;
			const closed = first?.shift.closed;
			const reason = closed?.by === "accepted" ? first?.chain.accepted.get(closed.at) : undefined;
			const ended =
				reason === undefined ? (closed?.by ?? "closed") : `accepted: ${cleanText(shorten(reason, 200))}`;
			const state = first?.shift.direction === "down" ? "better" : alarm.isOpen ? "open" : ended;
			return html`<tr><td>${series.runs[alarm.start]?.at.slice(0, 10) ?? ""}</td><th scope="row">${namesOf(alarm)}</th><td>${first === undefined ? "" : shiftText(first, series).replace(/ since .*/, "")}</td><td>${causeNames[alarm.cause]}</td><td>${state}</td></tr>
`;
		});
	return html`<div class="scroll" role="region" aria-label="changes of the last year" tabindex="0"><table><thead><tr><th>began</th><th>engines</th><th>size</th><th>cause</th><th>state</th></tr></thead><tbody>
${rows}</tbody></table></div>`;
}

const percentOf = (level: number): string => formatPercent(Math.expm1(level), { sign: true, digits: 2 });

function lineOf(view: ViewSeries, series: Series, x: ReturnType<typeof dayScale>): Markup {
	const level = view.level === null ? "not watched yet" : percentOf(view.level);
	const time = view.ns === undefined ? null : html`<small>${formatMs(view.ns / 1e6)}</small>`;
	return html`<li data-series="${view.series}" data-metric="${view.metric}"><button type="button" class="line" aria-expanded="false"><span>${cleanName(view.series, 120)} <small>${titleOf(view)}</small></span>${sparkline(view, series, x)}<span class="now">${level} ${time}</span></button></li>
`;
}

/** The data that the page's script draws, compact: short keys, whole numbers. */
function dataOf(views: readonly ViewSeries[], series: Series): string {
	const runs = shownRuns(views, series).map((run) => [
		run.run,
		run.at.slice(0, 16).replace("T", " "),
		Math.round(run.day * 100) / 100,
		run.commit?.slice(0, 9) ?? "",
		cleanName(run.label, 40),
		run.machine["host"] ?? "",
		run.machine["gpu"] ?? "",
	]);
	const shown = views.map((view) => ({
		series: view.series,
		metric: view.metric,
		title: titleOf(view),
		chains: view.chains.map(({ runs: own, levels, sd }) => ({
			r: own,
			l: levels.map((level) => Math.round(level * 1e6)),
			sd: Number(sd.toPrecision(3)),
		})),
		marks: marksOf(view),
	}));
	// With `<` escaped, no string can end the script element.
	return JSON.stringify({ runs, views: shown }).replaceAll("<", "\\u003c");
}

function marksOf({ chains, shifts }: ViewSeries): { run: number; kind: string; text: string }[] {
	const mark = (kind: string, text: string) => (run: number) => ({ run, kind, text });
	return [
		...chains.flatMap(({ changed, runs, joints, accepted }) => [
			...(changed.length > 0 ? runs.slice(0, 1).map(mark("epoch", `new: ${changed.join(", ")}`)) : []),
			...joints.map(mark("joint", "")),
			...accepted.map(([run, reason]) => mark("accept", `accepted: ${cleanText(shorten(reason, 60))}`)(run)),
		]),
		...shifts.map(({ start, shift, cause }) =>
			mark("change", `${percentOf(shift.size)}, ${causeNames[cause]}`)(start),
		),
	];
}

function factsOf({ runs }: Series, skipped: readonly string[]): Markup {
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
	about: { version: string; skipped: readonly string[] },
): string {
	const views = viewsOf(findings);
	const x = dayScale(series);
	const open = findings.alarms.filter(({ isOpen }) => isOpen);
	const state =
		open.length === 0
			? pill("steady", "ok")
			: pill("changed", open.some(({ cause }) => cause === "change") ? "bad" : "warn");
	const options = [...new Set(views.map(({ metric }) => metric))].map(
		(metric) =>
			html`<option value="${metric}"${metric === "latency" ? html` selected` : null}>${metricNames[metric]}</option>`,
	);
	return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">
<title>Trend · ${answer(findings, series)}</title>
<style>${{ markup: styleSheet + style }}</style></head>
<body><header><h1>${state} <span>${answer(findings, series)}</span></h1>${factsOf(series, about.skipped)}</header>
<main>
${open.map((alarm) => alarmCard(alarm, series))}${section("The last year", yearTable(findings, series), "year")}${section(
	"All series, most surprising first",
	html`<p class="legend"><i class="change"></i>changed <i class="accept"></i>accepted <i class="epoch"></i>new machine or version <i class="joint"></i>new pin. The band is twice the noise; levels are ratios to the pin, chained.</p>
<div id="controls" hidden><input id="filter" type="search" placeholder="Filter ${views.length} series" aria-label="Filter series"><select id="metric" aria-label="Figure"><option value="">all figures</option>${options}</select></div>
<section id="large" aria-live="polite" hidden></section>
<ul id="series">
${views.map((view) => lineOf(view, series, x))}</ul>`,
	"all",
)}</main>
<footer>trtgate ${cleanName(about.version, 40)} · made from the files of the history, which hold every figure on this page. Times depend on each night's machine and are for information only.</footer>
<script type="application/json" id="data">${{ markup: dataOf(views, series) }}</script><script>${{ markup: trendScript }}</script></body></html>
`.markup;
}
