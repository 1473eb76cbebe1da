// Draws the P99 of a request against the rate, base and head.
import type { LoadResult } from "../../../../generated/result.ts";
import { shorten } from "../../text/escape.ts";
import { formatCount, formatMs } from "../../text/units.ts";
import { at, html, linearScale, type Piece, roundTicks } from "./markup.ts";

/** Times the base: a head without end would flatten the rest. */
const mostGrowth = 3;
const [width, height] = [560, 260];
const [left, right, top, bottom] = [70, width - 20, 14, height - 46];

export function drawLoad({ points, slo }: LoadResult, name: string): Piece {
	const last = points.at(-1);
	if (last === undefined) return null;
	const tops = points.map(({ base, head }) =>
		Math.min(head?.p99Ms ?? Infinity, mostGrowth * ((base ?? head)?.p99Ms ?? 0)),
	);
	const most = 1.1 * Math.max(...tops, slo?.p99Ms ?? 0);
	const x = linearScale([0, last.ratePerSecond], [left, right]);
	const y = linearScale([0, most], [bottom, top]);
	// What has no end leaves the picture at its top.
	const place = (rate: number, ms: number | null | undefined) =>
		`${at(x.place(rate))},${at(y.place(ms ?? most))}`;
	const line = (ms: (point: LoadResult["points"][number]) => number | null | undefined) =>
		points.map((point) => place(point.ratePerSecond, ms(point)));
	const columns = roundTicks(x, 6).map((rate) => {
		const across = at(x.place(rate));
		return html`<line class="grid" x1="${across}" x2="${across}" y1="${top}" y2="${bottom}"/><text class="tick" x="${across}" y="${bottom + 15}" text-anchor="middle">${formatCount(rate)}</text>`;
	});
	const rows = roundTicks(y, 5).map((ms) => {
		const down = at(y.place(ms));
		return html`<line class="grid" x1="${left}" x2="${right}" y1="${down}" y2="${down}"/><text class="tick" x="${left - 6}" y="${down + 4}" text-anchor="end">${formatMs(ms)}</text>`;
	});
	const band = [...line(({ lowMs }) => lowMs), ...line(({ highMs }) => highMs).reverse()].join(" ");
	const base = line(({ base }) => base?.p99Ms).join(" ");
	const limit =
		slo === undefined
			? null
			: html`<path class="gate" d="M${left} ${at(y.place(slo.p99Ms))}H${right}M${at(x.place(slo.ratePerSecond))} ${top}V${bottom}"/>`;
	const title = "P99 against requests a second; grey: base; blue: head with its interval";
	return html`<svg class="load" viewBox="0 0 ${width} ${height}" style="max-width:${width}px" role="img" aria-label="${name}: ${title}"><title>${name}: ${title}</title>${columns}${rows}<polygon class="band" points="${band}"/>${points.some((point) => point.base !== null) ? html`<polyline class="curve" points="${base}"/>` : null}<polyline class="curve head" points="${line(({ head }) => head?.p99Ms).join(" ")}"/>${limit}<text class="tick" x="${left + 6}" y="${top + 12}">${shorten(name, 70)}</text><text class="tick" x="${left}" y="${height - 8}">${title}</text></svg>
`;
}
