// Renders the trend of a history as one HTML file: the answer, the last year, then every series, most surprising first.
import { at, html, type Markup, type Piece, pill, section } from "../../../core/report/html/markup.ts";
import { linearScale, type Scale } from "../../../core/report/html/scale.ts";
import { styleSheet } from "../../../core/report/html/style.ts";
import { cleanName, cleanText, shorten } from "../../../core/text/escape.ts";
import { counted, listNames, type Tone } from "../../../core/text/labels.ts";
import { formatMs, formatPercent } from "../../../core/text/units.ts";
import type { Alarm, Findings } from "../alarms.ts";
import { causeNames, describeAlarm, shiftText } from "../judge-trend.ts";
import type { Metric, Series } from "../series.ts";
import { answer, enginesOf } from "./answer.ts";
import { type ViewSeries, viewsOf } from "./view.ts";

const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

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

const width = 420;
const height = 50;
const margin = 3;

function dayScale({ runs }: Series): Scale {
	const first = runs[0]?.day ?? 0;
	return linearScale([first, Math.max(first + 1, runs.at(-1)?.day ?? 1)], [margin, width - margin]);
}

/** Noise fills a third of the height if nothing moved. */
function levelScale({ chains }: ViewSeries): Scale {
	const levels = chains.flatMap((chain) => [4 * chain.sd, ...chain.levels.map(Math.abs)]);
	const reach = Math.max(1e-6, ...levels);
	return linearScale([-reach, reach], [height - margin, margin]);
}

/** The band of the noise, the levels, and what happened: browsers show a mark's title to who points at it. */
function sparkline(view: ViewSeries, series: Series, x: Scale): Markup {
	const y = levelScale(view);
	const dayAt = (run = 0): number => at(x.place(series.runs[run]?.day ?? 0));
	const titleAt = (run: number, what: string): Markup => {
		const { at: time = "", commit = "" } = series.runs[run] ?? {};
		return html`<title>${[time.slice(0, 10), commit.slice(0, 9), what].filter((part) => part).join(" · ")}</title>`;
	};
	const line = (run: number, kind: string, what: string): Markup =>
		html`<path class="${kind}" d="M${dayAt(run)} 0V${height}">${titleAt(run, what)}</path>`;
	const sd = view.chains.at(-1)?.sd ?? 0;
	const [top, bottom] = [y.place(2 * sd), y.place(-2 * sd)];
	const chains = view.chains.map(({ changed, runs, levels, joints, accepted }) => {
		const steps = levels.map(
			(level, index) => `${index === 0 ? "M" : "L"}${dayAt(runs[index])} ${at(y.place(level))}`,
		);
		return [
			changed.length > 0 && runs[0] !== undefined ? line(runs[0], "epoch", `new: ${changed.join(", ")}`) : null,
			joints.map((run) => line(run, "joint", "new pin")),
			accepted.map(([run, reason]) => line(run, "accept", `accepted: ${cleanText(shorten(reason, 60))}`)),
			html`<path class="level" d="${steps.join("")}"/>`,
		];
	});
	const changes = view.shifts.map(({ start, shift, cause }) => {
		const kind = shift.direction === "up" ? "worse" : "better";
		const title = titleAt(start, `${percentOf(shift.size)}, ${causeNames[cause]}`);
		return html`<circle class="${kind}" cx="${dayAt(start)}" cy="${at(y.place(0))}" r="3">${title}</circle>`;
	});
	return html`<svg class="course" viewBox="0 0 ${width} ${height}" role="img" aria-label="${titleOf(view)}"><rect class="zone" x="0" y="${at(top)}" width="${width}" height="${at(bottom - top)}"/>${chains}${changes}</svg>`;
}

function lineOf(view: ViewSeries, series: Series, x: Scale): Markup {
	const level = view.level === null ? "not watched yet" : percentOf(view.level);
	const time = view.ns === undefined ? null : html`<small>${formatMs(view.ns / 1e6)}</small>`;
	return html`<li><span>${cleanName(view.series, 120)} <small>${titleOf(view)}</small></span>${sparkline(view, series, x)}<span class="now">${level} ${time}</span></li>
`;
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
<ul id="series">
${views.map((view) => lineOf(view, series, x))}</ul>`,
	"all",
)}</main>
<footer>trtgate ${cleanName(about.version, 40)} · made from the files of the history, which hold every figure on this page. Times depend on each night's machine and are for information only.</footer></body></html>
`.markup;
}
