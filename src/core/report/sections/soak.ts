// Engines under load for minutes: what short runs do not show.
import type { SoakResult, SoakSlice } from "../../../../generated/result.ts";
import { soakText } from "../../soak/analyse.ts";
import { subjectName } from "../../text/labels.ts";
import { formatDuration, formatMs } from "../../text/units.ts";
import { at, drawing, html, type Markup, type Piece } from "../html/markup.ts";
import {
	type Frame,
	horizontalGrid,
	linearScale,
	paddedDomain,
	roundTicks,
	type Scale,
	timeLabels,
} from "../html/scale.ts";
import type { Block, ReportSection } from "../section.ts";

const maxShown = 50;

export const soakSection: ReportSection = {
	id: "soak",
	show({ result }, { format }) {
		const found = result.workloads
			.flatMap(({ soak, ...row }) => (soak === undefined ? [] : [{ name: subjectName(row), soak }]))
			.slice(0, maxShown);
		if (found.length === 0) return null;
		const blocks =
			format === "html"
				? found.flatMap(({ name, soak }): Block[] => [
						{ kind: "heading", text: name },
						{ kind: "sentence", text: soakText(soak) },
						{ kind: "figure", drawn: figureOf(soak, name) },
					])
				: [{ kind: "list", items: found.map(({ name, soak }) => `${name}: ${soakText(soak)}`) } as const];
		return { title: "Sustained load", blocks };
	},
};

// The plot of a soak: level and tail over time, above what the GPU did.
const size: Frame = { width: 900, left: 74, right: 868, top: 12, bottom: 190 };
const foot = 34;
const lane = { height: 52, gap: 16 } as const;
/** A hostile file may hold any number. */
const maxPoints = 2000;

const quantities: readonly { name: string; unit: string; of(slice: SoakSlice): number | undefined }[] = [
	{ name: "SM clock", unit: "MHz", of: (slice) => slice.smClockMhz },
	{ name: "temperature", unit: "°C", of: (slice) => slice.temperatureC },
	{ name: "power", unit: "W", of: (slice) => slice.powerW },
];

type Point = readonly [seconds: number, value: number];

function line(points: readonly Point[], kind: string, x: Scale, y: Scale): Markup {
	const path = points.map(
		([seconds, value], index) => `${index === 0 ? "M" : "L"}${at(x.place(seconds))} ${at(y.place(value))}`,
	);
	return html`<path class="soakline ${kind}" d="${path.join("")}"/>`;
}

function timeAxis(x: Scale): Piece {
	const [seconds, unit] = x.to < 120 ? [1, "s"] : [60, "min"];
	return roundTicks({ from: x.from / seconds, to: x.to / seconds }, 8).map(
		(tick) =>
			html`<text class="tick" x="${at(x.place(tick * seconds))}" y="${size.bottom + 16}" text-anchor="middle">${tick} ${unit}</text>`,
	);
}

function laneOf({ slices = [] }: SoakResult, index: number, x: Scale): Piece {
	const quantity = quantities[index];
	const values = slices.slice(0, maxPoints).flatMap((slice): Point[] => {
		const value = quantity?.of(slice);
		return value === undefined ? [] : [[slice.atS, value]];
	});
	if (quantity === undefined || values.length === 0) return null;
	const top = size.bottom + foot + index * (lane.height + lane.gap);
	const all = values.map(([, value]) => value);
	const low = Math.min(...all);
	const high = Math.max(...all);
	// Tenths of a degree should not look like a climb.
	const y = linearScale(paddedDomain([...all, 0.97 * low, 1.03 * high], 0.15), [top + lane.height, top]);
	const range = [...new Set([low, high].map(Math.round))].join(" to ");
	const label = `${quantity.name} ${range} ${quantity.unit}`;
	return html`<line class="grid" x1="${size.left}" x2="${size.right}" y1="${top + lane.height}" y2="${top + lane.height}"/>${line(values, "base", x, y)}<text class="tick" x="${size.left + 4}" y="${top + 4}">${label}</text>`;
}

function figureOf(soak: SoakResult, name: string): Markup {
	const points = soak.points.slice(0, maxPoints);
	const x = linearScale([0, Math.max(1, soak.seconds)], [size.left, size.right]);
	const levels = points.flatMap(({ ms, p99Ms }) => [ms, p99Ms]);
	const y = linearScale(paddedDomain(levels, 0.08), [size.bottom, size.top]);
	const ticks = roundTicks(y, 4);
	const { labels, unit } = timeLabels(ticks, soak.freshMs);
	const steps = soak.steps.map(({ atS }) => {
		const place = at(x.place(atS));
		return html`<line class="gate" x1="${place}" x2="${place}" y1="${size.top}" y2="${size.bottom}"/>`;
	});
	const lanes = (soak.slices ?? []).length === 0 ? 0 : quantities.length;
	const height = size.bottom + foot + lanes * (lane.height + lane.gap);
	const label = `level and P99 of ${name} over ${formatDuration(soak.seconds * 1000)} of load: ${formatMs(soak.freshMs)} to ${formatMs(soak.steadyMs)}`;
	const tails = points.map(({ atS, p99Ms }): Point => [atS, p99Ms]);
	const own = points.map(({ atS, ms }): Point => [atS, ms]);
	const svg = drawing({ width: size.width, height }, label, [
		horizontalGrid(ticks, labels, y, size),
		steps,
		line(tails, "base", x, y),
		line(own, "head", x, y),
		timeAxis(x),
		quantities.map((_, index) => laneOf(soak, index, x)),
		html`<text class="tick" x="11" y="100" transform="rotate(-90 11 100)" text-anchor="middle">${unit}</text>`,
	]);
	return html`<div class="plot">${svg}</div>
<p class="legend"><i class="head"></i>level<i class="base"></i>P99 · each point is a second or more; dashed lines are steps</p>
`;
}
