// Draws how large the differences of one check are: a histogram over decades, with what is allowed as a line.
import type { ErrorHistogram } from "../../../schema/result.ts";
import { counted } from "../../../text/labels.ts";
import { formatCount, formatValue } from "../../../text/units.ts";
import { at, html, type Markup, type Piece } from "../markup.ts";
import { linearScale, roundTicks, type Scale } from "../scale.ts";

const size = { width: 420, height: 256, left: 44, right: 412, top: 24, bottom: 204 } as const;
/** Of the bars beside the axis: what is equal, what is not finite. */
const lane = { width: 34, gap: 20 } as const;
/** Decades that the axis may be stretched by to show what is allowed. */
const maxStretch = 4;
/** Of the least to the largest count from which on only decades show both. */
const farApart = 40;

type Tolerance = readonly [number, number];

interface Bar {
	x: number;
	width: number;
	count: number;
	tone: string;
	title: string;
}

interface Axis {
	scale: Scale;
	/** Where the tolerance is drawn; null: none, or too far away. */
	tolerance: Tolerance | null;
}

function isDrawable({ from, to, counts, equal, notFinite }: ErrorHistogram): boolean {
	return from > 0 && to > from && to < Number.POSITIVE_INFINITY && counts.length <= 64 && counts.length + equal + notFinite > 0;
}

function axisOf({ from, to, tolerance, equal, notFinite }: ErrorHistogram): Axis {
	const left = size.left + (equal > 0 ? lane.width + lane.gap : 0);
	const right = size.right - (notFinite > 0 ? lane.width + lane.gap : 0);
	const [low, high] = [Math.log10(from), Math.log10(to)];
	const marks = (tolerance ?? []).filter((value) => value > 0).map(Math.log10);
	const near = marks.every((mark) => mark > low - maxStretch && mark < high + maxStretch);
	const domain = near ? [low, high, ...marks.map((mark) => mark - 0.15), ...marks.map((mark) => mark + 0.15)] : [low, high];
	const scale = linearScale([Math.min(...domain), Math.max(...domain)], [left, right]);
	return { scale, tolerance: near && tolerance !== undefined && tolerance[1] > 0 ? tolerance : null };
}

function toneOf(low: number, high: number, tolerance: Tolerance | undefined): string {
	if (tolerance === undefined) return "plain";
	// The ends of bins are powers of ten that rounding moves a little.
	if (low >= tolerance[1] * (1 - 1e-9)) return "bad";
	return high <= tolerance[0] * (1 + 1e-9) ? "ok" : "warn";
}

function barsOf(histogram: ErrorHistogram, { scale }: Axis): Bar[] {
	const { from, to, counts, equal, notFinite, tolerance } = histogram;
	const [first, last] = [Math.log10(from), Math.log10(to)];
	const edge = (bin: number): number => first + ((last - first) * bin) / Math.max(1, counts.length);
	const bars = counts.map((count, bin): Bar => {
		const [left, right] = [scale.place(edge(bin)), scale.place(edge(bin + 1))];
		const [low, high] = [10 ** edge(bin), 10 ** edge(bin + 1)];
		const title = `${counted(count, "element")} off by ${formatValue(low, 3)} to ${formatValue(high, 3)}`;
		return { x: left, width: Math.max(0.5, right - left - 0.6), count, tone: toneOf(low, high, tolerance), title };
	});
	const equalTone = tolerance === undefined ? "mute" : "ok";
	return [
		{ x: size.left, width: lane.width, count: equal, tone: equalTone, title: `${counted(equal, "element")} equal` },
		...bars,
		{
			x: size.right - lane.width,
			width: lane.width,
			count: notFinite,
			tone: "open",
			title: `${counted(notFinite, "element")} NaN or infinite on one side`,
		},
	].filter(({ count }) => count > 0);
}

interface Height {
	logarithmic: boolean;
	/** Height of the plot's bar. */
	place(count: number): number;
	ticks: number[];
}

function heightOf(bars: readonly Bar[]): Height {
	const counts = bars.map(({ count }) => count);
	const [least, most] = [Math.min(...counts), Math.max(...counts)];
	if (most / least < farApart) {
		const scale = linearScale([0, most], [size.bottom, size.top]);
		return { logarithmic: false, place: scale.place, ticks: roundTicks(scale, 4).filter((tick) => Number.isInteger(tick)) };
	}
	// Half a decade below one, so that a lone element has a bar.
	const scale = linearScale([-0.5, Math.log10(most)], [size.bottom, size.top]);
	const decades = Array.from({ length: Math.floor(Math.log10(most)) + 1 }, (_, power) => 10 ** power);
	const every = Math.ceil(decades.length / 5);
	return { logarithmic: true, place: (count) => scale.place(Math.log10(count)), ticks: decades.filter((_, power) => power % every === 0) };
}

function drawBars(bars: readonly Bar[], height: Height): Piece {
	return bars.map(({ x, width, count, tone, title }) => {
		const top = height.place(count);
		return html`<rect class="err ${tone}" x="${at(x)}" y="${at(top)}" width="${at(width)}" height="${at(size.bottom - top)}"><title>${title}</title></rect>`;
	});
}

function shortCount(count: number): string {
	if (count < 1e4) return formatCount(count);
	return count < 1e6 ? `${Math.round(count / 1e3)} k` : `${formatValue(count / 1e6, 3)} M`;
}

function yAxis({ ticks, place }: Height): Piece {
	return ticks.map((tick) => {
		const y = at(place(tick));
		return html`<line class="grid" x1="${size.left}" x2="${size.right}" y1="${y}" y2="${y}"/><text class="tick" x="${size.left - 6}" y="${at(y + 4)}" text-anchor="end">${shortCount(tick)}</text>`;
	});
}

/** Powers of ten; of less than two decades also their 2 and 5. */
function xTicks({ from, to }: Scale): number[] {
	const inside = (value: number): boolean => value >= from - 1e-9 && value <= to + 1e-9;
	const powers = Array.from({ length: Math.floor(to) - Math.ceil(from) + 3 }, (_, index) => Math.ceil(from) - 1 + index);
	if (to - from < 2) return powers.flatMap((power) => [1, 2, 5].map((digit) => power + Math.log10(digit))).filter(inside);
	const every = Math.ceil((to - from) / 6);
	return powers.filter((power) => inside(power) && power % every === 0);
}

function xLabel(x: number, text: string, kind = "tick"): Markup {
	return html`<text class="${kind}" x="${at(x)}" y="${size.bottom + 17}" text-anchor="middle">${text}</text>`;
}

function xAxis({ scale }: Axis, { equal, notFinite }: ErrorHistogram): Piece {
	const [left, right] = [at(scale.place(scale.from)), at(scale.place(scale.to))];
	const line = (from: number, to: number) => html`<line class="zero" x1="${from}" x2="${to}" y1="${size.bottom}" y2="${size.bottom}"/>`;
	const marks = xTicks(scale).map((tick) => {
		const x = at(scale.place(tick));
		return html`<line class="zero" x1="${x}" x2="${x}" y1="${size.bottom}" y2="${size.bottom + 4}"/>${xLabel(x, formatValue(Number((10 ** tick).toPrecision(6))))}`;
	});
	return [
		line(left, right),
		marks,
		equal > 0 ? [line(size.left, size.left + lane.width), xLabel(size.left + lane.width / 2, "equal")] : null,
		notFinite > 0 ? [line(size.right - lane.width, size.right), xLabel(size.right - lane.width / 2, "NaN, ∞")] : null,
	];
}

export function toleranceText([least, most]: Tolerance): string {
	if (most === 0) return "no difference is allowed";
	return least === most ? `allowed: ${formatValue(most, 3)}` : `allowed: ${formatValue(least, 3)} to ${formatValue(most, 3)}`;
}

/** The zone lies behind the bars, lines and words before them. */
function drawTolerance({ scale, tolerance }: Axis): { zone: Piece; lines: Piece } {
	if (tolerance === null) return { zone: null, lines: null };
	const [from, to] = tolerance.map((value) => at(scale.place(value > 0 ? Math.log10(value) : scale.from))) as [number, number];
	const top = size.top - 8;
	const line = (x: number) => html`<line class="gate" x1="${x}" x2="${x}" y1="${top}" y2="${size.bottom}"/>`;
	const middle = Math.min(size.right - 60, Math.max(size.left + 60, (from + to) / 2));
	const isWide = to - from > 1;
	return {
		zone: isWide ? html`<rect class="zone" x="${from}" y="${top}" width="${at(to - from)}" height="${size.bottom - top}"/>` : null,
		lines: [
			line(from),
			isWide ? line(to) : null,
			html`<text class="tick bad" x="${at(middle)}" y="11" text-anchor="middle">${toleranceText(tolerance)}</text>`,
		],
	};
}

function keysOf(tolerance: Tolerance, isDrawn: boolean): Markup {
	const [least, most] = tolerance;
	if (most === 0) return html`<i class="err ok"></i>equal<i class="err bad"></i>different, where no difference is allowed · `;
	const either = least < most ? html`<i class="err warn"></i>within or beyond, by element` : null;
	const allowed = isDrawn ? null : ` (${toleranceText(tolerance)})`;
	return html`<i class="err ok"></i>within${either}<i class="err bad"></i>beyond what is allowed${allowed} · `;
}

function legendOf({ tolerance, elements }: ErrorHistogram, { axis, height }: { axis: Axis; height: Height }): Markup {
	const keys = tolerance === undefined ? null : keysOf(tolerance, axis.tolerance !== null);
	const scale = height.logarithmic ? "; counts on a logarithmic scale" : null;
	return html`<p class="legend">${keys}${counted(elements, "element")} by |head − golden|, in the output’s unit${scale}</p>`;
}

/** Null where there is nothing to draw. `name` for those who cannot see it. */
export function drawErrorHistogram(histogram: ErrorHistogram, name: string): Markup | null {
	if (!isDrawable(histogram)) return null;
	const axis = axisOf(histogram);
	const bars = barsOf(histogram, axis);
	if (bars.length === 0) return null;
	const height = heightOf(bars);
	const limits = drawTolerance(axis);
	const { elements, equal, notFinite, tolerance } = histogram;
	const allowed = tolerance === undefined ? "" : `; ${toleranceText(tolerance)}`;
	const label = `histogram of the differences of ${name}: ${counted(elements, "element")}, ${formatCount(equal)} equal, ${formatCount(notFinite)} not finite on one side${allowed}`;
	return html`<svg class="errhist" viewBox="0 0 ${size.width} ${size.height - 24}" role="img" aria-label="${label}"><title>${label}</title>${limits.zone}${yAxis(height)}${drawBars(bars, height)}${limits.lines}${xAxis(axis, histogram)}</svg>${legendOf(histogram, { axis, height })}`;
}
