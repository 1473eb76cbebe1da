// A map of what changed: each area is the size of a change, slower or faster, so that removed layers are seen as well.
import type { EngineRow } from "../../schema/result.ts";
import { cleanName } from "../../text/escape.ts";
import { changeText } from "../engine-format.ts";
import type { LayerUnit } from "../layer-format.ts";
import { at, html, type Piece } from "./markup.ts";

const [width, height] = [960, 150];
const mostAreas = 40;

interface Area {
	row: EngineRow;
	size: number;
	x: number;
	y: number;
	width: number;
	height: number;
}

/** Halves the list by size along the longer side, again and again. */
function place(rows: readonly Pick<Area, "row" | "size">[], box: Omit<Area, "row" | "size">): Area[] {
	const [first] = rows;
	if (first === undefined) return [];
	if (rows.length === 1) return [{ ...first, ...box }];
	const total = rows.reduce((sum, { size }) => sum + size, 0);
	let [count, part] = [0, 0];
	while (count < rows.length - 1 && (count === 0 || part < total / 2)) part += rows[count++]?.size ?? 0;
	const isWide = box.width >= box.height;
	const share = part / total;
	const one = isWide ? { ...box, width: box.width * share } : { ...box, height: box.height * share };
	const other = isWide
		? { ...box, x: box.x + one.width, width: box.width - one.width }
		: { ...box, y: box.y + one.height, height: box.height - one.height };
	return [...place(rows.slice(0, count), one), ...place(rows.slice(count), other)];
}

export function changeMap(rows: readonly EngineRow[], unit: LayerUnit): Piece {
	const sized = rows.flatMap((row) => (row.isSignificant && row.changeMs ? [{ row, size: Math.abs(row.changeMs) }] : []));
	if (sized.length < 2) return null;
	const areas = place(sized.sort((a, b) => b.size - a.size).slice(0, mostAreas), { x: 0, y: 0, width, height });
	return html`<div class="plot"><svg class="changemap" viewBox="0 0 ${width} ${height}" role="img" aria-label="sizes of the changes in the table above">${areas.map((area) => drawn(area, unit))}</svg></div>
<p class="legend"><i class="err bad"></i>${unit.of === "time" ? "slower" : "more"}<i class="err ok"></i>${unit.of === "time" ? "faster" : "less"} · each area is the size of a change</p>
`;
}

function drawn({ row, x, y, width: wide, height: high }: Area, unit: LayerUnit): Piece {
	const text = `${cleanName(row.label, 120)}: ${changeText(row, unit)}`;
	const chars = Math.floor((wide - 12) / 6.5);
	const isRoomy = chars >= 8 && high >= 34;
	const words = isRoomy
		? html`<text class="tick" x="${at(x + 6)}" y="${at(y + 15)}">${cleanName(row.label, chars)}</text><text class="tick" x="${at(x + 6)}" y="${at(y + 29)}">${cleanName(changeText(row, unit), chars)}</text>`
		: null;
	return html`<g class="${(row.changeMs ?? 0) > 0 ? "bad" : "ok"}"><title>${text}</title><rect x="${at(x)}" y="${at(y)}" width="${at(wide)}" height="${at(high)}"/>${words}</g>`;
}
