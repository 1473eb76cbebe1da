// From the base's time to the head's: one bar for each change, and what no row explains.
import type { EngineDiff } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import type { LayerUnit } from "../layer-format.ts";
import { at, html, type Piece } from "./markup.ts";
import { linearScale } from "./scale.ts";

const width = 960;
const labelWidth = 300;
const valueWidth = 110;
const rowHeight = 26;
const mostBars = 8;

/** Both ends in milliseconds; without a change, the time of a side. */
interface Step {
	label: string;
	from: number;
	to: number;
	tone: string;
	isEnd?: boolean;
}

function stepsOf({ rows, account }: EngineDiff): Step[] {
	const significant = rows.filter(({ isSignificant, changeMs }) => isSignificant && changeMs !== null);
	if (account === null || account.baseMs === undefined || significant.length === 0) return [];
	const { baseMs, measuredMs, attributedMs, restMs } = account;
	const changes = significant.slice(0, mostBars).map(({ label, members, changeMs }) => ({
		label: members.length > 1 ? `${label} (${members.length} groups)` : label,
		ms: changeMs ?? 0,
	}));
	const hidden = significant.length - changes.length;
	const others = attributedMs - changes.reduce((sum, { ms }) => sum + ms, 0);
	if (hidden > 0) changes.push({ label: `${hidden} more rows`, ms: others });
	let reached = baseMs;
	const bars = changes.map(({ label, ms }): Step => {
		reached += ms;
		return { label, from: reached - ms, to: reached, tone: ms > 0 ? "bad" : "ok" };
	});
	const end = (label: string, ms: number): Step => ({ label, from: ms, to: ms, tone: label, isEnd: true });
	const rest = { label: "not explained", from: reached, to: reached + restMs, tone: "plain" };
	return [end("base", baseMs), ...bars, rest, end("head", baseMs + measuredMs)];
}

export function waterfall(diff: EngineDiff, unit: LayerUnit): Piece {
	const steps = stepsOf(diff);
	const ends = steps.flatMap(({ from, to }) => [from, to]);
	const low = Math.min(...ends);
	const high = Math.max(...ends);
	if (steps.length === 0 || !(high > low)) return null;
	// The times of both engines are far larger than what separates them: the axis starts beside them.
	const { place } = linearScale([low - (high - low) * 0.08, high], [labelWidth, width - valueWidth]);
	const bars = steps.map(({ label, from, to, tone, isEnd }, index) => {
		const y = 4 + index * rowHeight;
		const left = isEnd ? labelWidth : place(Math.min(from, to));
		const right = place(Math.max(from, to));
		const value = `${isEnd ? unit.format(to) : unit.formatChange(to - from)} ${unit.name}`;
		const link =
			index + 1 < steps.length
				? html`<path class="link" d="M${at(place(to))} ${y + 18}V${y + rowHeight + 4}"/>`
				: null;
		return html`<g><title>${cleanName(label, 200)}: ${value}</title><text class="name" x="0" y="${y + 15}">${cleanName(label, 46)}</text><rect class="${tone}" x="${at(left)}" y="${y + 4}" width="${at(Math.max(1.5, right - left))}" height="14"/><text class="tick" x="${at(right + 6)}" y="${y + 15}">${value}</text>${link}</g>`;
	});
	return html`<div class="plot"><svg class="waterfall" viewBox="0 0 ${width} ${steps.length * rowHeight + 8}" role="img" aria-label="from the base's ${unit.of} to the head's, change by change">${bars}</svg></div>
<p class="legend">from the base's ${unit.of} to the head's; the axis does not start at zero</p>
`;
}
