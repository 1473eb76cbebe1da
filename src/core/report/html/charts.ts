// Draws charts: a sweep's times by size, the P99 by rate, and a family's engines by time and error.
import type { LoadResult, SweepResult } from "../../../../generated/result.ts";
import { changeText, intervalText, levelText } from "../../compare/sentence.ts";
import { timesOf } from "../../compare/sweep.ts";
import { comparedOf } from "../../stats/summary.ts";
import { cleanName, shorten } from "../../text/escape.ts";
import { present } from "../../text/labels.ts";
import { formatCount, formatLimit, formatMs, formatPercent, formatValue } from "../../text/units.ts";
import { isCounted, type WorkloadRow } from "../facts.ts";
import { at, html, linearScale, type Markup, type Piece, roundTicks, type Scale } from "./markup.ts";

type Frame = Record<"width" | "height" | "left" | "right" | "top" | "bottom", number>;
type Format = (value: number) => string;

const tickText = (x: number, y: number, text: string, anchor: string) =>
	html`<text class="tick" x="${x}" y="${y}" text-anchor="${anchor}">${text}</text>`;

function gridRows({ left, right }: Frame, { place }: Scale, ticks: readonly number[], format: Format) {
	return ticks.map((value) => {
		const y = at(place(value));
		return html`<line class="grid" x1="${left}" x2="${right}" y1="${y}" y2="${y}"/>${tickText(left - 6, y + 4, format(value), "end")}`;
	});
}

function gridColumns({ top, bottom }: Frame, { place }: Scale, ticks: readonly number[], format: Format) {
	return ticks.map((value) => {
		const x = at(place(value));
		return html`<line class="grid" x1="${x}" x2="${x}" y1="${top}" y2="${bottom}"/>${tickText(x, bottom + 15, format(value), "middle")}`;
	});
}

function drawChart({ width, height, left }: Frame, title: string, drawn: Piece, name = "") {
	const label = name === "" ? title : `${name}: ${title}`;
	return html`<svg${name === "" ? null : html` class="load"`} viewBox="0 0 ${width} ${height}" style="max-width:${width}px" role="img" aria-label="${label}"><title>${label}</title>${drawn}<text class="tick" x="${left}" y="${height - 7}">${title}</text></svg>
`;
}

const curveFrame: Frame = { width: 640, height: 260, left: 64, right: 600, top: 14, bottom: 216 };
/** Labels of sizes that are nearer would overlap. */
const leastApart = 30;

export function drawCurve({ dim, workload, engine, points }: SweepResult): Piece {
	const { left, right, top, bottom } = curveFrame;
	const timed = timesOf(points);
	const times = timed.flatMap(({ base, head }) => [base ?? 0, head ?? 0]);
	const [first, last] = [timed[0], timed.at(-1)];
	if (!first || !last || first === last) return null;
	const x = linearScale([Math.log(first.size), Math.log(last.size)], [left, right]);
	const y = linearScale([0, 1.05 * Math.max(...times)], [bottom, top]);
	const lines = gridRows(curveFrame, y, roundTicks(y, 4), formatMs);
	let shown = -Infinity;
	const columns = timed.map(({ size }) => {
		const place = at(x.place(Math.log(size)));
		if (place - shown < leastApart) return null;
		shown = place;
		return tickText(place, bottom + 15, String(size), "middle");
	});
	const curves = (["base", "head"] as const).map((arm) => {
		const dots = timed.flatMap(({ size, [arm]: ms }) =>
			ms === null ? [] : [[at(x.place(Math.log(size))), at(y.place(ms))] as const],
		);
		const end = dots.at(-1);
		if (end === undefined) return null;
		const tone = arm === "head" ? "ok" : "plain";
		return html`<polyline class="curve ${arm}" points="${dots.map(([across, down]) => `${across},${down}`).join(" ")}"/>${dots.map(([across, down]) => html`<circle class="dot ${tone}" cx="${across}" cy="${down}" r="3"/>`)}<text class="tick" x="${end[0] + 6}" y="${end[1] + (arm === "head" ? -4 : 12)}">${arm}</text>`;
	});
	const title = `${cleanName(engine)} · ${cleanName(workload)}: time by ${cleanName(dim)}`;
	return drawChart(curveFrame, title, [lines, columns, curves]);
}

const loadFrame: Frame = { width: 560, height: 260, left: 70, right: 540, top: 14, bottom: 214 };
/** Times the base: a head without end would flatten the rest. */
const mostGrowth = 3;

export function drawLoad({ points, slo }: LoadResult, name: string): Piece {
	const { left, right, top, bottom } = loadFrame;
	const last = points.at(-1);
	if (last === undefined) return null;
	const tops = points.map(({ base, head }) =>
		Math.min(head?.p99Ms ?? Infinity, mostGrowth * ((base ?? head)?.p99Ms ?? 0)),
	);
	const highest = Math.max(...tops);
	// A limit far above the times would flatten them.
	const isNear = slo !== undefined && slo.p99Ms <= mostGrowth * highest;
	const most = 1.1 * (isNear ? Math.max(highest, slo.p99Ms) : highest);
	const x = linearScale([0, last.ratePerSecond], [left, right]);
	const y = linearScale([0, most], [bottom, top]);
	// What has no end leaves the picture at its top.
	const line = (ms: (point: LoadResult["points"][number]) => number | null | undefined) =>
		points.map((point) => `${at(x.place(point.ratePerSecond))},${at(y.place(ms(point) ?? most))}`);
	const grid = [
		gridColumns(loadFrame, x, roundTicks(x, 6), formatCount),
		gridRows(loadFrame, y, roundTicks(y, 5), formatMs),
	];
	const band = [...line(({ lowMs }) => lowMs), ...line(({ highMs }) => highMs).reverse()].join(" ");
	const base = points.some((point) => point.base !== null)
		? html`<polyline class="curve" points="${line((point) => point.base?.p99Ms).join(" ")}"/>`
		: null;
	const limit = present([
		isNear && `M${left} ${at(y.place(slo.p99Ms))}H${right}`,
		slo && slo.ratePerSecond <= x.to && `M${at(x.place(slo.ratePerSecond))} ${top}V${bottom}`,
	]).map((path) => html`<path class="gate" d="${path}"/>`);
	const title = "P99 against requests a second; grey: base; blue: head with its interval";
	const head = html`<polygon class="band" points="${band}"/>${base}<polyline class="curve head" points="${line((point) => point.head?.p99Ms).join(" ")}"/>${limit}<text class="tick" x="${left + 6}" y="${top + 12}">${shorten(name, 70)}</text>`;
	return drawChart(loadFrame, title, [...grid, head], name);
}

const tradeOffFrame: Frame = { width: 640, height: 300, left: 64, right: 530, top: 14, bottom: 262 };

interface Rival {
	engine: string;
	ms: number | null;
	error: { value: number | null; fails: string | null };
	isBest: boolean;
}

/** Errors have a logarithmic axis, at whose bottom is an exact engine. */
export function drawTradeOff(family: readonly Rival[]): Piece {
	const { left, right, top, bottom } = tradeOffFrame;
	const points = family.flatMap((row) =>
		row.ms === null || row.error.value === null
			? []
			: [{ row, ms: row.ms, log: Math.log10(Math.max(1e-9, row.error.value)) }],
	);
	if (points.length < 2) return null;
	const logs = points.map(({ log }) => log);
	const x = linearScale([0, 1.05 * Math.max(...points.map(({ ms }) => ms))], [left, right]);
	const y = linearScale([Math.floor(Math.min(...logs)), Math.floor(Math.max(...logs)) + 1], [bottom, top]);
	const columns = gridColumns(tradeOffFrame, x, roundTicks(x, 5), formatMs);
	const decades = Array.from({ length: y.to - y.from + 1 }, (_, index) => y.from + index);
	const lines = gridRows(tradeOffFrame, y, decades, (log) => formatValue(10 ** log));
	const labels: { x: number; y: number }[] = [];
	const labelPlace = (x: number, y: number): number => {
		const isTaken = labels.some((one) => Math.abs(one.x - x) < 60 && Math.abs(one.y - y) < 12);
		if (isTaken) return labelPlace(x, y + 12);
		labels.push({ x, y });
		return y;
	};
	const dots = points.map(({ row: { engine, isBest, error }, ms, log }) => {
		const [across, down] = [at(x.place(ms)), at(y.place(log))];
		const tone = error.fails !== null ? "bad" : isBest ? "ok" : "plain";
		return html`<circle class="dot ${tone}" cx="${across}" cy="${down}" r="${isBest ? 6 : 4}"/><text class="tick" x="${across + 9}" y="${labelPlace(across, down + 4)}">${cleanName(engine, 18)}</text>`;
	});
	return drawChart(tradeOffFrame, "Error against time; green: best", [columns, lines, dots]);
}

const width = 230;
const height = 26;
const middle = height / 2;
const margin = 10;

/** Names the smallest effect that counts if all rows share it. */
export function forestTitle(rows: readonly WorkloadRow[]): string {
	const [zone, other] = new Set(rows.map(({ workload }) => formatLimit(comparedOf(workload).minimalEffect)));
	const grey = zone === undefined || other !== undefined ? "too small to count" : `±${zone}`;
	return present([!isCounted(rows) && "interval", `grey: ${grey}`, "dashed: fails"]).join(" · ");
}

export function forestScale(rows: readonly WorkloadRow[]): Scale {
	let farthest = 0.02;
	let low = -0.001;
	let high = 0.001;
	for (const { workload } of rows) {
		const { minimalEffect, interval } = comparedOf(workload);
		const { fail = 0 } = workload.limits ?? {};
		farthest = Math.max(farthest, 4 * minimalEffect, 1.5 * fail);
		low = Math.min(low, -minimalEffect, interval?.[0] ?? 0);
		high = Math.max(high, minimalEffect, interval?.[1] ?? 0, fail);
	}
	low = Math.max(-farthest, low);
	high = Math.min(farthest, high);
	const pad = (high - low) * 0.04;
	return linearScale([low - pad, high + pad], [margin, width - margin]);
}

export function forestAxis(scale: Scale): Markup {
	const ticks = roundTicks(scale, 4);
	const digits = ticks.every((tick) => Math.abs(tick * 100 - Math.round(tick * 100)) < 1e-9) ? 0 : 1;
	const labels = ticks.map((tick) => {
		const text = tick === 0 ? "0" : formatPercent(tick, { sign: true, digits });
		return html`<text class="tick" x="${at(scale.place(tick))}" y="12" text-anchor="middle">${text}</text>`;
	});
	return html`<svg class="forest" viewBox="0 0 ${width} 16" aria-hidden="true">${labels}</svg>`;
}

function vertical(kind: string, value: number, scale: Scale) {
	const x = at(scale.place(value));
	return html`<line class="${kind}" x1="${x}" x2="${x}" y1="2" y2="${height - 2}"/>`;
}

function drawEstimate(estimate: number, tone: string, scale: Scale) {
	if (estimate > scale.to)
		return html`<path class="beyond ${tone}" d="M${width - 9} ${middle - 5}l6 5l-6 5"/>`;
	if (estimate < scale.from) return html`<path class="beyond ${tone}" d="M9 ${middle - 5}l-6 5l6 5"/>`;
	return html`<circle class="dot ${tone}" cx="${at(scale.place(estimate))}" cy="${middle}" r="4"/>`;
}

export function drawForest({ workload, tone }: WorkloadRow, scale: Scale): Markup {
	const { limits: { fail } = {}, work } = workload;
	const compared = comparedOf(workload);
	const { estimate, interval, minimalEffect } = compared;
	const left = scale.place(-minimalEffect);
	const right = scale.place(minimalEffect);
	const spoken = work === undefined ? `, ${levelText(compared)} interval ${intervalText(compared)}` : "";
	const bar =
		interval &&
		html`<line class="ci ${tone}" x1="${at(scale.place(interval[0]))}" x2="${at(scale.place(interval[1]))}" y1="${middle}" y2="${middle}"/>`;
	const parts: Piece = [
		html`<rect class="zone" x="${at(left)}" y="3" width="${at(right - left)}" height="${height - 6}"/>`,
		vertical("zero", 0, scale),
		fail === undefined || fail > scale.to ? null : vertical("gate", fail, scale),
		estimate === null ? null : [bar, drawEstimate(estimate, tone, scale)],
	];
	const label = estimate === null ? "not compared" : `change ${changeText(compared)}${spoken}`;
	return html`<svg class="forest" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}"><title>${label}</title>${parts}</svg>`;
}
