// Draws one series at the height of a line: band of its noise, joints, epochs and changes.

import { at, html, linearScale, type Markup, type Scale } from "../../../core/report/html/markup.ts";
import type { Series } from "../series.ts";
import type { ViewChain, ViewSeries } from "./view.ts";

const width = 260;
const height = 40;
const margin = 3;

export function dayScale({ runs }: Series): Scale {
	const first = runs[0]?.day ?? 0;
	const last = runs.at(-1)?.day ?? 1;
	return linearScale([first, Math.max(first + 1, last)], [margin, width - margin]);
}

/** Noise fills a third of the height if nothing moved. */
function levelScale({ chains }: ViewSeries): Scale {
	const reach = Math.max(
		1e-6,
		...chains.map(({ sd }) => 4 * sd),
		...chains.flatMap(({ levels }) => levels.map(Math.abs)),
	);
	return linearScale([-reach, reach], [height - margin, margin]);
}

function pathOf({ runs: own, levels }: ViewChain, { runs }: Series, scales: { x: Scale; y: Scale }): string {
	return levels
		.map(
			(level, index) =>
				`${index === 0 ? "M" : "L"}${at(scales.x.place(runs[own[index] ?? 0]?.day ?? 0))} ${at(scales.y.place(level))}`,
		)
		.join("");
}

export function sparkline(view: ViewSeries, series: Series, x: Scale): Markup {
	const y = levelScale(view);
	const dayAt = (run: number): number => at(x.place(series.runs[run]?.day ?? 0));
	const line = (run: number, kind: string): Markup =>
		html`<path class="${kind}" d="M${dayAt(run)} 0V${height}"/>`;
	const sd = view.chains.at(-1)?.sd ?? 0;
	const [top, bottom] = [y.place(2 * sd), y.place(-2 * sd)];
	return html`<svg class="course" viewBox="0 0 ${width} ${height}" aria-hidden="true"><rect class="zone" x="0" y="${at(top)}" width="${width}" height="${at(bottom - top)}"/>${view.chains.map(
		({ changed, runs, joints, accepted }) => [
			changed.length > 0 && runs[0] !== undefined ? line(runs[0], "epoch") : null,
			joints.map((run) => line(run, "joint")),
			accepted.map(([run]) => line(run, "accept")),
		],
	)}${view.chains.map((chain) => html`<path class="level" d="${pathOf(chain, series, { x, y })}"/>`)}${view.shifts.map(
		({ start, shift }) =>
			html`<circle class="${shift.direction === "up" ? "worse" : "better"}" cx="${dayAt(start)}" cy="${at(y.place(0))}" r="3"/>`,
	)}</svg>`;
}
