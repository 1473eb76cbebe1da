// Pictures of failed golden checks: where the worst case of each output differs from the golden.

import type { ErrorMap, GoldenCheck, GoldenVerdict, Result } from "../../../../../generated/result.ts";
import { ofSlice } from "../../../../golden/core/tensor/tensor.ts";
import { cleanName } from "../../../text/escape.ts";
import { subjectName } from "../../../text/labels.ts";
import { formatCount, formatValue } from "../../../text/units.ts";
import { capRatio, measureText, worstText } from "../../golden-format.ts";
import { at, html, type Markup, moreText, type Piece, pill } from "../markup.ts";

interface Drawn {
	verdict: GoldenVerdict;
	check: GoldenCheck;
	map: ErrorMap;
}

const maxPictures = 60;

export function errorPictures(result: Result): Piece {
	const worst = new Map<string, Drawn>();
	for (const verdict of result.golden) {
		const { model, engine, part } = verdict;
		for (const check of verdict.checks) {
			const { errorMap: map } = check;
			if (map === undefined) continue;
			const key = JSON.stringify([part ?? null, model, engine, check.output]);
			const known = worst.get(key);
			if (known === undefined || capRatio(check) > capRatio(known.check))
				worst.set(key, { verdict, check, map });
		}
	}
	const pictures = [...worst.values()];
	const more = moreText(Math.max(0, pictures.length - maxPictures), "pictures");
	return [pictures.slice(0, maxPictures).map(picture), more];
}

function picture({ verdict, check, map }: Drawn) {
	const { model, engine, case: id, part } = verdict;
	const output = cleanName(check.output, 60);
	const subject = subjectName({ model, engine, case: id, part });
	const drawing = drawErrorMap(map, `${output}${ofSlice(check.slice)}, ${subject}`);
	if (drawing === null) return null;
	const label = check.severity === "warn" ? pill("warn", "warn") : pill("fail", "bad");
	const sample = map.sample === undefined ? "" : `, sample ${map.sample}`;
	const worst = worstText(check);
	return html`<article class="picture"><h3>${output} <small>${subject}${sample}</small> ${label}</h3>
<p>${measureText(check)}.${worst === null ? "" : ` Worst element ${worst}.`}</p>${drawing}</article>
`;
}

const heatSteps = 10;
const largestByte = 254;
const notFiniteByte = 255;
const frame = { left: 24, top: 8, longest: 268, shortest: 56 };

export function drawErrorMap(map: ErrorMap, name: string): Markup | null {
	const { rows, columns, cells, axes } = map;
	if (!/^[A-Za-z0-9+/]*={0,2}$/.test(cells) || cells.length % 4 !== 0) return null;
	const bytes = Uint8Array.from(atob(cells), (letter) => letter.charCodeAt(0));
	if (bytes.length !== rows * columns) return null;
	const sideOf = (ratio: number) => Math.max(frame.shortest, Math.min(frame.longest, frame.longest * ratio));
	const [width, height] = [sideOf(map.width / map.height), sideOf(map.height / map.width)];
	const bottom = frame.top + height;
	const middle = at(frame.top + height / 2);
	const differing = bytes.filter((byte) => byte > 0).length;
	const text = `error map of ${name}: ${formatCount(differing)} of ${formatCount(bytes.length)} cells differ, the largest by ${formatValue(map.largest, 3)}`;
	const scale = `scale(${roundScale(width / columns)} ${roundScale(height / rows)})`;
	return html`<svg class="errmap" viewBox="0 0 ${frame.left + frame.longest + 8} ${at(bottom + 20)}" role="img" aria-label="${text}"><title>${text}</title><rect class="ground" x="${frame.left}" y="${frame.top}" width="${at(width)}" height="${at(height)}"/><g shape-rendering="crispEdges" transform="translate(${frame.left} ${frame.top}) ${scale}">${cellPaths(bytes, columns)}</g><text class="tick" x="${at(frame.left + width / 2)}" y="${at(bottom + 14)}" text-anchor="middle">axis ${axes[1]}: ${map.width}</text><text class="tick" x="14" y="${middle}" text-anchor="middle" transform="rotate(-90 14 ${middle})">axis ${axes[0]}: ${map.height}</text></svg><p class="legend">${legend(map, bytes)}</p>`;
}

/** More digits than a coordinate has, because up to 48 cells multiply the error. */
function roundScale(factor: number) {
	return Math.round(factor * 1e4) / 1e4;
}

function cellPaths(bytes: Uint8Array, columns: number) {
	const paths = new Map<string, string>();
	for (let from = 0; from < bytes.length; ) {
		const name = colourClass(bytes[from] as number);
		const rowEnd = from + columns - (from % columns);
		let to = from + 1;
		while (to < rowEnd && colourClass(bytes[to] as number) === name) to += 1;
		const corner = `M${from % columns},${Math.floor(from / columns)}`;
		if (name !== null) paths.set(name, `${paths.get(name) ?? ""}${corner}h${to - from}v1h-${to - from}z`);
		from = to;
	}
	return [...paths].map(([name, d]) => html`<path class="${name}" d="${d}"/>`);
}

function colourClass(byte: number) {
	if (byte === 0) return null;
	if (byte === notFiniteByte) return "hx";
	return `h${Math.floor(((byte - 1) / largestByte) * heatSteps)}`;
}

function legend(map: ErrorMap, bytes: Uint8Array) {
	const holes = bytes.includes(notFiniteByte)
		? html` · <i class="err open"></i>NaN or infinite on one side`
		: null;
	const [down, across] = [Math.ceil(map.height / map.rows), Math.ceil(map.width / map.columns)];
	return html`largest |head − golden| in each ${down} × ${across} elements over all other axes; blank: equal; strongest colour: ${formatValue(map.largest, 3)}${holes}`;
}
