// The trend as one picture for a README: the answer, and the most surprising series; for an issue: one alarm and its series.
import type { Alarm, Findings } from "../../../history/alarms.ts";
import type { Metric, Series } from "../../../history/series.ts";
import { cleanName, shorten } from "../../../text/escape.ts";
import { formatPercent } from "../../../text/units.ts";
import { html } from "../markup.ts";
import { answer } from "./answer.ts";
import { dayScale, sparkline } from "./spark.ts";
import { viewsOf } from "./view.ts";

const shown = 8;
const width = 760;
const lineHeight = 46;
const top = 64;
const lineChars = 88;

const style = `text{font:13px system-ui,sans-serif;fill:#1f2328}.answer{font-size:15px;font-weight:600}.level{fill:none;stroke:#0969da;stroke-width:1.4}.zone{fill:#d0d7de;opacity:.45}.joint,.accept,.epoch{fill:none;stroke:#6e7781;stroke-dasharray:2 3}.worse{fill:#cf222e}.better{fill:#116329}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.level{stroke:#4493f8}.zone{fill:#30363d}.worse{fill:#ff7b72}.better{fill:#3fb950}}`;

export function renderAlarmPicture(alarm: Alarm, { chains, ...findings }: Findings, series: Series): string {
	const own = chains.filter(({ chain }) => alarm.shifts.some((shift) => shift.chain.series === chain.series));
	return renderTrendPicture(
		{ ...findings, chains: own, alarms: [alarm] },
		series,
		alarm.shifts[0]?.chain.metric,
	);
}

export function renderTrendPicture(
	findings: Findings,
	series: Series,
	shownMetric: Metric = "latency",
): string {
	const views = viewsOf(findings)
		.filter(({ metric }) => metric === shownMetric)
		.slice(0, shown);
	const height = top + views.length * lineHeight + 6;
	const x = dayScale(series);
	const text = answer(findings, series);
	const end = text.length <= lineChars ? text.length : Math.max(1, text.lastIndexOf(" ", lineChars));
	return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${text}"><style>${{ markup: style }}</style><text class="answer" x="8" y="24">${text.slice(0, end)}</text><text class="answer" x="8" y="46">${shorten(text.slice(end).trim(), lineChars)}</text>
${views.map((view, index) => {
	const y = top + index * lineHeight;
	const level = view.level === null ? "" : formatPercent(Math.expm1(view.level), { sign: true, digits: 2 });
	return html`<text x="8" y="${y + 24}">${cleanName(view.series, 50)}</text><svg x="380" y="${y}" width="260" height="40">${sparkline(view, series, x)}</svg><text x="752" y="${y + 24}" text-anchor="end">${level}</text>
`;
})}</svg>
`.markup;
}
