// Engines under load for minutes: what short runs do not show.
import type { SoakResult, SoakSlice, WorkloadResult } from "../../../../generated/result.ts";
import { soakText } from "../../soak/analyse.ts";
import { subjectName } from "../../text/labels.ts";
import { formatDuration, formatMs, formatPercent } from "../../text/units.ts";
import { at, html, type Markup, type Piece, section } from "../html/markup.ts";
import { linearScale, paddedDomain, roundTicks, type Scale, timeLabels } from "../html/scale.ts";
import { foldedMarkdown, markdownTable } from "../markdown-parts.ts";
import { defineSection } from "../section.ts";
import { paint } from "../terminal-text.ts";

const title = "Sustained load";
const maxShown = 50;

type Soaked = WorkloadResult & { soak: SoakResult };

function cells({ soak, ...row }: Soaked): string[] {
	const { seconds, coldMs, freshMs, steadyMs, drift, throttledShare } = soak;
	const times = [coldMs, freshMs, steadyMs].map(formatMs);
	const throttled = throttledShare === undefined ? "–" : formatPercent(throttledShare);
	return [
		subjectName(row),
		formatDuration(seconds * 1000),
		...times,
		formatPercent(drift, { sign: true }),
		throttled,
	];
}

export const soakSection = defineSection({
	id: "soak",
	select: ({ result }) => {
		const found = result.workloads.filter((row): row is Soaked => row.soak !== undefined).slice(0, maxShown);
		return found.length === 0 ? null : found;
	},
	markdown: (rows) => {
		const head = ["engine", "load", "cold", "fresh", "sustained", "drift", "throttled"];
		return [foldedMarkdown(title, markdownTable(head, rows.map(cells), [1, 2, 3, 4, 5, 6]))];
	},
	html: (rows) =>
		section(
			title,
			rows.map(
				(
					row,
				) => html`<h3>${subjectName(row)}</h3><p>${soakText(row.soak)}</p><div class="plot">${drawSoak(row.soak, subjectName(row))}</div>
<p class="legend"><i class="head"></i>level<i class="base"></i>P99 · each point is a second or more; dashed lines are steps</p>
`,
			),
			"soak",
		),
	terminal: (rows, { color }) => [
		paint(title, "bold", color),
		...rows.map((row) => `  ${subjectName(row)}: ${soakText(row.soak)}`),
	],
});

// The plot of a soak: level and tail over time, above what the GPU did.
const size = { width: 900, left: 74, right: 868, top: 12, bottom: 190, foot: 34 } as const;
const lane = { height: 52, gap: 16 } as const;
/** A hostile file may hold any number. */
const maxPoints = 2000;

const quantities = [
	{ name: "SM clock", unit: "MHz", of: (slice: SoakSlice) => slice.smClockMhz },
	{ name: "temperature", unit: "°C", of: (slice: SoakSlice) => slice.temperatureC },
	{ name: "power", unit: "W", of: (slice: SoakSlice) => slice.powerW },
] as const;

function line(
	points: readonly (readonly [number, number])[],
	className: string,
	{ x, y }: { x: Scale; y: Scale },
): Markup {
	const path = points
		.map(
			([seconds, value], index) => `${index === 0 ? "M" : "L"}${at(x.place(seconds))} ${at(y.place(value))}`,
		)
		.join("");
	return html`<path class="soakline ${className}" d="${path}"/>`;
}

function timeAxis(x: Scale, bottom: number): Piece {
	const [seconds, unit] = x.to < 120 ? [1, "s"] : [60, "min"];
	return roundTicks({ from: x.from / seconds, to: x.to / seconds }, 8).map(
		(tick) =>
			html`<text class="tick" x="${at(x.place(tick * seconds))}" y="${bottom + 16}" text-anchor="middle">${tick} ${unit}</text>`,
	);
}

function laneOf(soak: SoakResult, index: number, x: Scale): Piece {
	const quantity = quantities[index];
	const values = (soak.slices ?? []).slice(0, maxPoints).flatMap((slice) => {
		const value = quantity?.of(slice);
		return value === undefined ? [] : [[slice.atS, value] as const];
	});
	if (quantity === undefined || values.length === 0) return null;
	const top = size.bottom + size.foot + index * (lane.height + lane.gap);
	const all = values.map(([, value]) => value);
	const [low, high] = [Math.min(...all), Math.max(...all)];
	// Tenths of a degree should not look like a climb.
	const y = linearScale(paddedDomain([...all, 0.97 * low, 1.03 * high], 0.15), [top + lane.height, top]);
	const range = [...new Set([low, high].map(Math.round))].join(" to ");
	const label = `${quantity.name} ${range} ${quantity.unit}`;
	return html`<line class="grid" x1="${size.left}" x2="${size.right}" y1="${top + lane.height}" y2="${top + lane.height}"/>${line(values, "base", { x, y })}<text class="tick" x="${size.left + 4}" y="${top + 4}">${label}</text>`;
}

function drawSoak(soak: SoakResult, name: string): Markup {
	const points = soak.points.slice(0, maxPoints);
	const x = linearScale([0, Math.max(1, soak.seconds)], [size.left, size.right]);
	const y = linearScale(
		paddedDomain(
			points.flatMap(({ ms, p99Ms }) => [ms, p99Ms]),
			0.08,
		),
		[size.bottom, size.top],
	);
	const ticks = roundTicks(y, 4);
	const { labels, unit } = timeLabels(ticks, soak.freshMs);
	const grid = ticks.map((tick, index) => {
		const level = at(y.place(tick));
		return html`<line class="grid" x1="${size.left}" x2="${size.right}" y1="${level}" y2="${level}"/><text class="tick" x="${size.left - 8}" y="${at(level + 4)}" text-anchor="end">${labels[index] ?? ""}</text>`;
	});
	const steps = soak.steps.map(({ atS }) => {
		const place = at(x.place(atS));
		return html`<line class="gate" x1="${place}" x2="${place}" y1="${size.top}" y2="${size.bottom}"/>`;
	});
	const lanes = (soak.slices ?? []).length === 0 ? 0 : quantities.length;
	const height = size.bottom + size.foot + lanes * (lane.height + lane.gap);
	const label = `level and P99 of ${name} over ${formatDuration(soak.seconds * 1000)} of load: ${formatMs(soak.freshMs)} to ${formatMs(soak.steadyMs)}`;
	return html`<svg viewBox="0 0 ${size.width} ${height}" role="img" aria-label="${label}"><title>${label}</title>${grid}${steps}${line(
		points.map(({ atS, p99Ms }) => [atS, p99Ms] as const),
		"base",
		{ x, y },
	)}${line(
		points.map(({ atS, ms }) => [atS, ms] as const),
		"head",
		{ x, y },
	)}${timeAxis(x, size.bottom)}${quantities.map((_, index) => laneOf(soak, index, x))}<text class="tick" x="11" y="100" transform="rotate(-90 11 100)" text-anchor="middle">${unit}</text></svg>`;
}
