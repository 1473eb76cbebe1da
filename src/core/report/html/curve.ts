// Draws the times of a sweep by size, base and head.
import type { SweepResult } from "../../../../generated/result.ts";
import { timesOf } from "../../compare/sweep.ts";
import { cleanName } from "../../text/escape.ts";
import { formatMs } from "../../text/units.ts";
import { at, html, linearScale, type Piece, roundTicks } from "./markup.ts";

const [width, height] = [640, 260];
const [left, right, top, bottom] = [64, 600, 14, 216];

/** Sizes have a logarithmic axis. */
export function drawCurve({ dim, workload, engine, points }: SweepResult): Piece {
	const timed = timesOf(points);
	const times = timed.flatMap(({ base, head }) => [base ?? 0, head ?? 0]);
	const [first, last] = [timed[0], timed.at(-1)];
	if (!first || !last || first === last) return null;
	const x = linearScale([Math.log(first.size), Math.log(last.size)], [left, right]);
	const y = linearScale([0, 1.05 * Math.max(...times)], [bottom, top]);
	const lines = roundTicks(y, 4).map((ms) => {
		const place = at(y.place(ms));
		return html`<line class="grid" x1="${left}" x2="${right}" y1="${place}" y2="${place}"/><text class="tick" x="${left - 6}" y="${place + 4}" text-anchor="end">${formatMs(ms)}</text>`;
	});
	let shown = -Infinity;
	const columns = timed.map(({ size }) => {
		const place = at(x.place(Math.log(size)));
		if (place - shown < 30) return null;
		shown = place;
		return html`<text class="tick" x="${place}" y="${bottom + 15}" text-anchor="middle">${size}</text>`;
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
	return html`<svg viewBox="0 0 ${width} ${height}" style="max-width:${width}px" role="img" aria-label="${title}"><title>${title}</title>${lines}${columns}${curves}<text class="tick" x="${left}" y="${height - 6}">${title}</text></svg>
`;
}
