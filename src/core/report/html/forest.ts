// The column of the main table that shows every change with its interval on one common axis.
import type { WorkloadResult } from "../../schema/result.ts";
import { formatPercent } from "../../text/units.ts";
import { changeText, intervalText, levelText } from "../comparison-format.ts";
import type { WorkloadRow } from "../rows.ts";
import { at, html, type Markup, type Piece } from "./markup.ts";
import { linearScale, roundTicks, type Scale } from "./scale.ts";

const width = 230;
const height = 26;
const middle = height / 2;
const margin = 10;

/** The farthest value that the axis is stretched for: beyond it, arrows; else one outlier would flatten all others. */
function reach(workloads: readonly WorkloadResult[]): number {
	return workloads.reduce((most, { latency, limits }) => Math.max(most, 4 * latency.minimalEffect, 1.5 * (limits?.fail ?? 0)), 0.02);
}

/** The common axis of all rows: every interval, every zone and every gate, as far as `reach`. */
export function forestScale(workloads: readonly WorkloadResult[]): Scale {
	const farthest = reach(workloads);
	const values = workloads.flatMap(({ latency, limits }) => [
		-latency.minimalEffect,
		latency.minimalEffect,
		...(latency.interval ?? []),
		...(limits?.fail === undefined ? [] : [limits.fail]),
	]);
	const low = Math.max(-farthest, Math.min(-0.001, ...values.slice(0, 100_000)));
	const high = Math.min(farthest, Math.max(0.001, ...values.slice(0, 100_000)));
	const pad = (high - low) * 0.04;
	return linearScale([low - pad, high + pad], [margin, width - margin]);
}

/** Tick labels under the column's title. */
export function forestAxis(scale: Scale): Markup {
	const ticks = roundTicks(scale, 4);
	const digits = ticks.every((tick) => Math.abs(tick * 100 - Math.round(tick * 100)) < 1e-9) ? 0 : 1;
	const labels = ticks.map((tick) => {
		const text = tick === 0 ? "0" : formatPercent(tick, { sign: true, digits });
		return html`<text class="tick" x="${at(scale.place(tick))}" y="12" text-anchor="middle">${text}</text>`;
	});
	return html`<svg class="forest" viewBox="0 0 ${width} 16" aria-hidden="true">${labels}</svg>`;
}

function vertical(kind: string, x: number): Markup {
	return html`<line class="${kind}" x1="${at(x)}" x2="${at(x)}" y1="2" y2="${height - 2}"/>`;
}

/** An arrowhead where a value lies beyond the axis. */
function beyond(value: number, scale: Scale, tone: string): Piece {
	if (value > scale.to) return html`<path class="beyond ${tone}" d="M${width - 9} ${middle - 5}l6 5l-6 5"/>`;
	if (value < scale.from) return html`<path class="beyond ${tone}" d="M9 ${middle - 5}l-6 5l6 5"/>`;
	return null;
}

function drawInterval({ workload: { latency }, tone }: WorkloadRow, scale: Scale): Piece {
	const { estimate, interval } = latency;
	if (estimate === null) return null;
	const bar =
		interval === null
			? null
			: html`<line class="ci ${tone}" x1="${at(scale.place(interval[0]))}" x2="${at(scale.place(interval[1]))}" y1="${middle}" y2="${middle}"/>`;
	const inside = estimate >= scale.from && estimate <= scale.to;
	const dot = inside
		? html`<circle class="dot ${tone}" cx="${at(scale.place(estimate))}" cy="${middle}" r="4"/>`
		: beyond(estimate, scale, tone);
	return [bar, dot];
}

export function drawForest(row: WorkloadRow, scale: Scale): Markup {
	const { latency, limits } = row.workload;
	const [left, right] = [scale.place(-latency.minimalEffect), scale.place(latency.minimalEffect)];
	const gate = limits?.fail === undefined || limits.fail > scale.to ? null : vertical("gate", scale.place(limits.fail));
	const label =
		latency.estimate === null ? "not compared" : `change ${changeText(latency)}, ${levelText(latency)} interval ${intervalText(latency)}`;
	return html`<svg class="forest" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}"><title>${label}</title><rect class="zone" x="${at(left)}" y="3" width="${at(right - left)}" height="${height - 6}"/>${vertical("zero", scale.place(0))}${gate}${drawInterval(row, scale)}</svg>`;
}
