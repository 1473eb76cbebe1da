// Draws the engines of one family by time and error.
import { cleanName } from "../../text/escape.ts";
import { formatMs, formatValue } from "../../text/units.ts";
import type { SiblingRow } from "../sibling-rows.ts";
import { at, html, linearScale, type Piece, roundTicks } from "./markup.ts";

const [width, height] = [640, 300];
const [left, right, top, bottom] = [64, 530, 14, 262];

/** Errors have a logarithmic axis, at whose bottom is an exact engine. */
export function drawTradeOff(family: readonly SiblingRow[]): Piece {
	const points = family.flatMap((row) =>
		row.ms === null || row.error.value === null
			? []
			: [{ row, ms: row.ms, log: Math.log10(Math.max(1e-9, row.error.value)) }],
	);
	if (points.length < 2) return null;
	const logs = points.map(({ log }) => log);
	const x = linearScale([0, 1.05 * Math.max(...points.map(({ ms }) => ms))], [left, right]);
	const y = linearScale([Math.floor(Math.min(...logs)), Math.floor(Math.max(...logs)) + 1], [bottom, top]);
	const columns = roundTicks(x, 5).map((ms) => {
		const place = at(x.place(ms));
		return html`<line class="grid" x1="${place}" x2="${place}" y1="${top}" y2="${bottom}"/><text class="tick" x="${place}" y="${bottom + 15}" text-anchor="middle">${formatMs(ms)}</text>`;
	});
	const lines = Array.from({ length: y.to - y.from + 1 }, (_, index) => {
		const place = at(y.place(y.from + index));
		return html`<line class="grid" x1="${left}" x2="${right}" y1="${place}" y2="${place}"/><text class="tick" x="${left - 6}" y="${place + 4}" text-anchor="end">${formatValue(10 ** (y.from + index))}</text>`;
	});
	const dots = points.map(({ row: { engine, isBest, error }, ms, log }) => {
		const [across, down] = [at(x.place(ms)), at(y.place(log))];
		const tone = error.isWrong ? "bad" : isBest ? "ok" : "plain";
		return html`<circle class="dot ${tone}" cx="${across}" cy="${down}" r="${isBest ? 6 : 4}"/><text class="tick" x="${across + 9}" y="${down + 4}">${cleanName(engine, 18)}</text>`;
	});
	const title = "Error against time; green: best";
	return html`<svg viewBox="0 0 ${width} ${height}" style="max-width:${width}px" role="img" aria-label="${title}"><title>${title}</title>${columns}${lines}${dots}<text class="tick" x="${left}" y="${height - 6}">${title}</text></svg>
`;
}
