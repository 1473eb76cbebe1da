// Draws changes with their intervals on one axis.
import { comparedOf } from "../../stats/summary.ts";
import { present } from "../../text/labels.ts";
import { formatLimit, formatPercent } from "../../text/units.ts";
import { changeText, intervalText, levelText } from "../comparison-format.ts";
import { isCounted, type WorkloadRow } from "../rows.ts";
import { at, html, linearScale, type Markup, type Piece, roundTicks, type Scale } from "./markup.ts";

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
