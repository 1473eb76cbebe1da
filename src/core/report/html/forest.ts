// The column of the main table that shows every change with its interval on one common axis.
import { comparedOf } from "../../stats/summary.ts";
import { formatLimit, formatPercent } from "../../text/units.ts";
import { changeText, intervalText, levelText } from "../comparison-format.ts";
import { isCounted, type WorkloadRow } from "../rows.ts";
import { at, drawing, html, type Markup, type Piece } from "./markup.ts";
import { linearScale, roundTicks, type Scale } from "./scale.ts";

const width = 230;
const height = 26;
const middle = height / 2;
const margin = 10;

/** The limits, where all rows share them; each row draws its own. */
export function forestTitle(rows: readonly WorkloadRow[]): string {
	const same = (textOf: (row: WorkloadRow["workload"]) => string) => {
		const texts = new Set(rows.map(({ workload }) => textOf(workload)));
		return texts.size === 1 ? [...texts][0] : undefined;
	};
	const level = same((workload) => levelText(comparedOf(workload)));
	const zone = same((workload) => formatLimit(comparedOf(workload).minimalEffect));
	const gate = same(({ limits }) => (limits?.fail === undefined ? "" : formatLimit(limits.fail)));
	return [
		...(isCounted(rows) ? [] : [level === undefined ? "interval" : `${level} interval`]),
		zone === undefined ? "grey: too small to count" : `grey: ±${zone}`,
		...(gate === undefined ? ["dashed: fails"] : gate === "" ? [] : [`dashed: fails at ${gate}`]),
	].join(" · ");
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

function vertical(kind: string, x: number): Markup {
	return html`<line class="${kind}" x1="${at(x)}" x2="${at(x)}" y1="2" y2="${height - 2}"/>`;
}

/** Interval and estimate; an arrowhead where the estimate lies beyond the axis. */
function drawInterval({ workload, tone }: WorkloadRow, scale: Scale): Piece {
	const { estimate, interval } = comparedOf(workload);
	if (estimate === null) return null;
	const bar =
		interval &&
		html`<line class="ci ${tone}" x1="${at(scale.place(interval[0]))}" x2="${at(scale.place(interval[1]))}" y1="${middle}" y2="${middle}"/>`;
	if (estimate > scale.to)
		return [bar, html`<path class="beyond ${tone}" d="M${width - 9} ${middle - 5}l6 5l-6 5"/>`];
	if (estimate < scale.from) return [bar, html`<path class="beyond ${tone}" d="M9 ${middle - 5}l-6 5l6 5"/>`];
	return [bar, html`<circle class="dot ${tone}" cx="${at(scale.place(estimate))}" cy="${middle}" r="4"/>`];
}

export function drawForest(row: WorkloadRow, scale: Scale): Markup {
	const { limits, work } = row.workload;
	const compared = comparedOf(row.workload);
	const left = scale.place(-compared.minimalEffect);
	const right = scale.place(compared.minimalEffect);
	const gate =
		limits?.fail === undefined || limits.fail > scale.to ? null : vertical("gate", scale.place(limits.fail));
	const interval = work === undefined ? `, ${levelText(compared)} interval ${intervalText(compared)}` : "";
	const label = compared.estimate === null ? "not compared" : `change ${changeText(compared)}${interval}`;
	return drawing(
		{ width, height },
		label,
		html`<rect class="zone" x="${at(left)}" y="3" width="${at(right - left)}" height="${height - 6}"/>${vertical("zero", scale.place(0))}${gate}${drawInterval(row, scale)}`,
		"forest",
	);
}
