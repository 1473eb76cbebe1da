// Draws the error map of one check: where its differences are, in ten colours that suit light and dark.
import type { ErrorMap } from "../../../../../generated/result.ts";
import { formatCount, formatValue } from "../../../text/units.ts";
import { at, html, type Markup, type Piece } from "../markup.ts";

/** Ten steps from the smallest to the largest difference. */
const heatSteps = 10;

/** Bytes of a cell, as result.json has them. */
const largestByte = 254;
const notFiniteByte = 255;

/** Coordinates of the drawing; the plane keeps its proportions as far as these sides allow. */
const frame = { left: 24, top: 8, longest: 268, shortest: 56, right: 8 } as const;

interface Plane {
	map: ErrorMap;
	bytes: Uint8Array;
	width: number;
	height: number;
	/** Where one peak would leave all else in the palest step: decades instead of shares. */
	isLogarithmic: boolean;
}

/** Null where what is stored is no map. */
function planeOf(map: ErrorMap): Plane | null {
	const { cells, rows, columns } = map;
	if (!/^[A-Za-z0-9+/]*={0,2}$/.test(cells) || cells.length % 4 !== 0) return null;
	const bytes = Uint8Array.from(atob(cells), (letter) => letter.charCodeAt(0));
	if (bytes.length !== rows * columns) return null;
	const ratio = map.width / map.height;
	const side = (share: number): number =>
		Math.max(frame.shortest, Math.min(frame.longest, frame.longest * share));
	const seen = bytes.filter((byte) => byte > 0 && byte !== notFiniteByte).sort();
	const median = seen[Math.floor(seen.length / 2)] ?? largestByte;
	return {
		map,
		bytes,
		width: side(ratio),
		height: side(1 / ratio),
		isLogarithmic: median <= largestByte / heatSteps,
	};
}

/** One path for each colour: a run of equal cells in a row is one rectangle. */
function cellPaths({ map, bytes, isLogarithmic }: Plane): Piece {
	const paths = new Map<string, string>();
	for (let row = 0; row < map.rows; row += 1) {
		let from = 0;
		for (let column = 1; column <= map.columns; column += 1) {
			const name = classOf(bytes[row * map.columns + from] ?? 0, isLogarithmic);
			if (column < map.columns && classOf(bytes[row * map.columns + column] ?? 0, isLogarithmic) === name)
				continue;
			const run = column - from;
			if (name !== null) paths.set(name, `${paths.get(name) ?? ""}M${from},${row}h${run}v1h-${run}z`);
			from = column;
		}
	}
	return [...paths]
		.sort(([a], [b]) => (a < b ? -1 : 1))
		.map(([name, d]) => html`<path class="${name}" d="${d}"/>`);
}

function classOf(byte: number, isLogarithmic: boolean): string | null {
	if (byte === 0) return null;
	if (byte === notFiniteByte) return "hx";
	const place = isLogarithmic ? Math.log(byte) / Math.log(largestByte) : (byte - 1) / largestByte;
	return `h${Math.min(heatSteps - 1, Math.floor(place * heatSteps))}`;
}

function worstCell({ bytes, map }: Pick<Plane, "bytes" | "map">): { row: number; column: number } {
	const cell = bytes.indexOf(bytes.reduce((most, byte) => Math.max(most, byte), 0));
	return { row: Math.floor(cell / map.columns), column: cell % map.columns };
}

/** A ring around the cell of the largest difference, wide enough to leave the cell free. */
function ring(plane: Plane): Markup {
	const { row, column } = worstCell(plane);
	const [cellWidth, cellHeight] = [plane.width / plane.map.columns, plane.height / plane.map.rows];
	const [x, y] = [at(frame.left + (column + 0.5) * cellWidth), at(frame.top + (row + 0.5) * cellHeight)];
	const radius = at(Math.min(14, Math.max(6, Math.hypot(cellWidth, cellHeight) * 0.75)));
	return html`<circle class="halo" cx="${x}" cy="${y}" r="${radius}"/><circle class="ring" cx="${x}" cy="${y}" r="${radius}"/>`;
}

/** The colour bar with its values; where all that differs is not finite, there is nothing to scale. */
function colourBar(plane: Plane, top: number): Piece {
	const largest = typeof plane.map.largest === "number" ? plane.map.largest : 0;
	if (largest === 0) return null;
	const step = frame.longest / heatSteps;
	const blocks = Array.from(
		{ length: heatSteps },
		(_, index) =>
			html`<rect class="h${index}" x="${at(frame.left + index * step)}" y="${top}" width="${at(step)}" height="9"/>`,
	);
	const labels = ([0, 0.5, 1] as const).map((place) => {
		const anchor = place === 0 ? "start" : place === 1 ? "end" : "middle";
		const share = plane.isLogarithmic ? largestByte ** (place - 1) : place;
		const value = formatValue(largest * share, 3);
		const bound = place === 0 && plane.isLogarithmic ? "≤ " : "";
		return html`<text class="tick" x="${at(frame.left + place * frame.longest)}" y="${top + 22}" text-anchor="${anchor}">${bound}${value}</text>`;
	});
	return [html`<g class="heat" shape-rendering="crispEdges">${blocks}</g>`, labels];
}

function axes({ map, width, height }: Plane): Markup {
	const bottom = at(frame.top + height);
	const [acrossName, downName] =
		map.image === true ? ["width", "height"] : [`axis ${map.axes[1]}`, `axis ${map.axes[0]}`];
	const middle = at(frame.top + height / 2);
	return html`<text class="tick" x="${at(frame.left + width / 2)}" y="${bottom + 14}" text-anchor="middle">${acrossName} ${map.width}</text><text class="tick" x="14" y="${middle}" text-anchor="middle" transform="rotate(-90 14 ${middle})">${downName} ${map.height}</text>`;
}

function labelOf({ map, bytes }: Pick<Plane, "bytes" | "map">, name: string): string {
	const differing = bytes.filter((byte) => byte > 0).length;
	const { row, column } = worstCell({ map, bytes });
	const where = `near ${Math.round(((row + 0.5) * map.height) / map.rows - 0.5)}, ${Math.round(((column + 0.5) * map.width) / map.columns - 0.5)}`;
	return `error map of ${name}: ${formatCount(differing)} of ${formatCount(bytes.length)} cells differ, the largest by ${formatValue(map.largest, 3)}, furthest ${where} of ${map.height} × ${map.width}`;
}

/** What one cell represents. `rank` of the output. */
function cellText({ map, isLogarithmic, bytes }: Plane, rank: number): Markup {
	const [down, across] = [Math.ceil(map.height / map.rows), Math.ceil(map.width / map.columns)];
	const unit = map.image === true ? "pixel" : "element";
	const one = down * across === 1 ? `one ${unit}` : `up to ${down} × ${across} ${unit}s`;
	const over = rank < 4 ? "" : map.image === true ? " over all channels" : " over all other axes";
	const holes = bytes.includes(notFiniteByte)
		? html` · <i class="err open"></i>NaN or infinite on one side`
		: null;
	const sample = map.sample === undefined ? "" : ` of sample ${map.sample}`;
	return html`cell: the largest |head − golden| of ${one}${over}${sample}, in the output’s unit, ${isLogarithmic ? "logarithmic" : "linear"} scale; blank: equal; ring: the furthest${holes}`;
}

/** Null where what is stored is no map. `name` for those who cannot see it, `rank` of the output. */
export function drawErrorMap(map: ErrorMap, { name, rank }: { name: string; rank: number }): Markup | null {
	const plane = planeOf(map);
	if (plane === null) return null;
	const { width, height } = plane;
	const barTop = Math.ceil(frame.top + height + 24);
	const size = `0 0 ${frame.left + frame.longest + frame.right} ${barTop + 28}`;
	const label = labelOf(plane, name);
	const place = `translate(${frame.left} ${frame.top}) scale(${scaleText(width / map.columns)} ${scaleText(height / map.rows)})`;
	const ground = html`<rect class="ground" x="${frame.left}" y="${frame.top}" width="${at(width)}" height="${at(height)}"/>`;
	return html`<svg class="errmap" viewBox="${size}" role="img" aria-label="${label}"><title>${label}</title>${ground}<g class="heat" shape-rendering="crispEdges" transform="${place}">${cellPaths(plane)}</g>${ring(plane)}${axes(plane)}${colourBar(plane, barTop)}</svg><p class="legend">${cellText(plane, rank)}</p>`;
}

/** More digits than a coordinate: up to 48 cells multiply the error. */
function scaleText(factor: number): number {
	return Math.round(factor * 1e4) / 1e4;
}
