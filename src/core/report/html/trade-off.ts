// Draws the engines of one family by time and error.
import { cleanName } from "../../text/escape.ts";
import { subjectName } from "../../text/labels.ts";
import { formatMs, formatValue } from "../../text/units.ts";
import type { SiblingRow } from "../sibling-rows.ts";
import { at, html, linearScale, type Piece, roundTicks, type Scale } from "./markup.ts";

const width = 640;
const height = 300;
const frame = { left: 64, right: 110, top: 14, bottom: 38 };

type Drawn = SiblingRow & { ms: number };

/** Errors have a logarithmic axis; nothing is drawn of fewer than two known times or errors. */
export function drawTradeOff(family: readonly SiblingRow[]): Piece {
	const rows = family.filter((row): row is Drawn => row.ms !== null && errorOf(row) !== null);
	const [first] = rows;
	if (first === undefined || rows.length < 2) return null;
	const times = rows.map(({ ms }) => ms);
	const x = linearScale([0, Math.max(...times) * 1.05], [frame.left, width - frame.right]);
	const logs = rows.map((row) => Math.log10(errorOf(row) ?? 1));
	const y = linearScale(
		[Math.floor(Math.min(...logs)), Math.ceil(Math.max(...logs) + 1e-9)],
		[height - frame.bottom, frame.top],
	);
	const { model, workload, part } = first;
	const title = `${subjectName({ model, workload, part })}: time against error`;
	return html`<svg viewBox="0 0 ${width} ${height}" style="max-width:${width}px" role="img" aria-label="${title}"><title>${title}</title>${axes(x, y)}${rows.map((row) => drawEngine(row, x, y))}</svg>
`;
}

/** An exact engine stands at the bottom. */
function errorOf({ error: { relativeL2 } }: SiblingRow): number | null {
	return relativeL2 === null ? null : Math.max(relativeL2, 1e-9);
}

function axes(x: Scale, y: Scale): Piece {
	const [bottom, right] = [height - frame.bottom, width - frame.right];
	const columns = roundTicks(x, 5).map(
		(ms) =>
			html`<line class="grid" x1="${at(x.place(ms))}" x2="${at(x.place(ms))}" y1="${frame.top}" y2="${bottom}"/><text class="tick" x="${at(x.place(ms))}" y="${bottom + 15}" text-anchor="middle">${ms === 0 ? "0" : formatMs(ms)}</text>`,
	);
	const decades = Array.from({ length: y.to - y.from + 1 }, (_, index) => y.from + index);
	const lines = decades.map(
		(decade) =>
			html`<line class="grid" x1="${frame.left}" x2="${right}" y1="${at(y.place(decade))}" y2="${at(y.place(decade))}"/><text class="tick" x="${frame.left - 6}" y="${at(y.place(decade) + 4)}" text-anchor="end">${formatValue(10 ** decade)}</text>`,
	);
	return html`${columns}${lines}<text class="tick" x="${right}" y="${height - 6}" text-anchor="end">time → slower</text><text class="tick" x="4" y="11">error</text>`;
}

function drawEngine(row: Drawn, x: Scale, y: Scale): Piece {
	const [left, top] = [x.place(row.ms), y.place(Math.log10(errorOf(row) ?? 1))];
	const tone = row.error.isWrong ? "bad" : row.isBest ? "ok" : "plain";
	const text = `${cleanName(row.engine, 40)}: ${formatMs(row.ms)}, error ${row.error.text}${row.isBest ? ", best" : ""}`;
	return html`<g><title>${text}</title><circle class="dot ${tone}" cx="${at(left)}" cy="${at(top)}" r="${row.isBest ? 6 : 4}"/><text class="tick" x="${at(left + 9)}" y="${at(top + 4)}">${cleanName(row.engine, 18)}</text></g>`;
}
