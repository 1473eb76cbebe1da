// From the base's time to the head's: one bar for each change, and what no row explains.
import type { EngineDiff } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import type { LayerUnit } from "../layer-format.ts";
import { at, html, type Piece } from "./markup.ts";
import { linearScale } from "./scale.ts";

const [width, labelWidth, valueWidth, rowHeight] = [960, 300, 110, 26];
const mostBars = 8;

interface Step {
	label: string;
	/** Both ends, milliseconds. */
	from: number;
	to: number;
	kind: "end" | "change" | "rest";
}

function stepsOf({ rows, account }: EngineDiff): Step[] {
	const { baseMs, measuredMs, attributedMs = 0, restMs = 0 } = account ?? {};
	const significant = rows.filter(({ isSignificant, changeMs }) => isSignificant && changeMs !== null);
	if (baseMs === undefined || measuredMs === undefined || significant.length === 0) return [];
	const shown = significant.slice(0, mostBars).map(({ label, members, changeMs }) => ({
		label: members.length > 1 ? `${label} (${members.length} groups)` : label,
		ms: changeMs ?? 0,
	}));
	const others = attributedMs - shown.reduce((sum, { ms }) => sum + ms, 0);
	const hidden =
		significant.length > mostBars
			? [{ label: `${significant.length - mostBars} more rows`, ms: others }]
			: [];
	let reached = baseMs;
	const changes = [...shown, ...hidden].map(({ label, ms }): Step => {
		reached += ms;
		return { label, from: reached - ms, to: reached, kind: "change" };
	});
	const rest: Step = { label: "not explained", from: reached, to: reached + restMs, kind: "rest" };
	const end = (label: string, ms: number): Step => ({ label, from: ms, to: ms, kind: "end" });
	return [end("base", baseMs), ...changes, rest, end("head", baseMs + measuredMs)];
}

export function waterfall(diff: EngineDiff, unit: LayerUnit): Piece {
	const steps = stepsOf(diff);
	const ends = steps.flatMap(({ from, to }) => [from, to]);
	const [low, high] = [Math.min(...ends), Math.max(...ends)];
	if (steps.length === 0 || !(high > low)) return null;
	// The times of both engines are far larger than what separates them: the axis starts beside them.
	const { place } = linearScale([low - (high - low) * 0.08, high], [labelWidth, width - valueWidth]);
	const height = steps.length * rowHeight + 8;
	const bars = steps.map(({ label, from, to, kind }, index) => {
		const y = 4 + index * rowHeight;
		const tone = kind === "end" ? label : kind === "rest" ? "plain" : to > from ? "bad" : "ok";
		const [left, right] =
			kind === "end" ? [labelWidth, place(to)] : [place(Math.min(from, to)), place(Math.max(from, to))];
		const value = kind === "end" ? unit.format(to) : unit.formatChange(to - from);
		const link =
			index + 1 < steps.length
				? html`<path class="link" d="M${at(place(to))} ${y + 18}V${y + rowHeight + 4}"/>`
				: null;
		return html`<g><title>${cleanName(label, 200)}: ${value} ${unit.name}</title><text class="name" x="0" y="${y + 15}">${cleanName(label, 46)}</text><rect class="${tone}" x="${at(left)}" y="${y + 4}" width="${at(Math.max(1.5, right - left))}" height="14"/><text class="tick" x="${at(right + 6)}" y="${y + 15}">${value} ${unit.name}</text>${link}</g>`;
	});
	return html`<div class="plot"><svg class="waterfall" viewBox="0 0 ${width} ${height}" role="img" aria-label="from the base's ${unit.of} to the head's, change by change">${bars}</svg></div>
<p class="legend">from the base's ${unit.of} to the head's; the axis does not start at zero</p>
`;
}
