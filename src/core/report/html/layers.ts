// Where the time went: the layers that moved the most as paired bars, and all layers folded.
import { type LayerChange, movedMost } from "../../explain/layers.ts";
import type { ArmLayers, TimedLayer, WorkloadLayers, WorkloadResult } from "../../schema/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, subjectName } from "../../text/labels.ts";
import { formatPercent } from "../../text/units.ts";
import { changedLayers, differenceLabels, isWhole, type LayerUnit, layerUnit } from "../layer-format.ts";
import { enginePart } from "./engine.ts";
import { at, type Column, folded, html, type Markup, moreText, type Piece, sortableTable } from "./markup.ts";
import { linearScale } from "./scale.ts";

const maxMoved = 8;
const maxRows = 1000;
const bars = { width: 200, height: 22, baseTop: 3, headTop: 12, thickness: 7 } as const;

interface Drawing {
	changes: readonly LayerChange[];
	unit: LayerUnit;
	arms: WorkloadLayers;
}

/** A layer of an engine without another beside it. */
function alone(layer: TimedLayer): LayerChange {
	return { name: layer.name, base: null, head: layer, changeMs: layer.meanMs };
}

function drawingOf(layers: WorkloadLayers): Drawing | null {
	const changed = changedLayers(layers);
	if (changed !== null) return { changes: changed.changes, unit: changed.unit, arms: layers };
	const arm = layers.head ?? layers.base;
	if (arm === null) return null;
	const longest = arm.layers.reduce((most, { meanMs }) => Math.max(most, meanMs), 0);
	return { changes: arm.layers.map(alone), unit: layerUnit(longest), arms: { base: null, head: arm } };
}

function bar(layer: TimedLayer | null, arm: "base" | "head", width: number): Piece {
	const top = arm === "base" ? bars.baseTop : bars.headTop;
	return layer === null ? null : html`<rect class="${arm}" x="0" y="${top}" width="${at(width)}" height="${bars.thickness}" rx="1.5"/>`;
}

function pairOfBars({ base, head }: LayerChange, longestMs: number): Markup {
	const { place } = linearScale([0, longestMs], [0, bars.width]);
	const drawn = [bar(base, "base", place(base?.meanMs ?? 0)), bar(head, "head", place(head?.meanMs ?? 0))];
	return html`<svg class="pairbars" viewBox="0 0 ${bars.width} ${bars.height}" preserveAspectRatio="none" aria-hidden="true">${drawn}</svg>`;
}

function nameCell(change: LayerChange, isPaired: boolean): Piece {
	const layer = change.head ?? change.base;
	const labels = [...(layer?.type === undefined ? [] : [cleanName(layer.type, 40)]), ...precisionLabels(change)];
	const changed = isPaired ? differenceLabels(change).filter((label) => !labels.includes(label)) : [];
	const about = [...labels.map((label) => html`${label}`), ...changed.map((label) => html`<b>${label}</b>`)];
	return html`<code>${cleanName(change.name, 120)}</code>${
		about.length === 0 ? null : html`<small>${about.map((label, index) => [index === 0 ? "" : " · ", label])}</small>`
	}`;
}

function precisionLabels({ base, head }: LayerChange): string[] {
	const [from, to] = [base?.precision, head?.precision];
	if (from !== undefined && to !== undefined && from !== to) return [`${cleanName(from, 20)} → ${cleanName(to, 20)}`];
	const known = to ?? from;
	return known === undefined ? [] : [cleanName(known, 20)];
}

function timeCell(layer: TimedLayer | null, unit: LayerUnit): string {
	return layer === null ? "–" : unit.format(layer.meanMs);
}

function timeColumns({ unit, arms }: Drawing): Column<LayerChange>[] {
	const time = (arm: "base" | "head"): Column<LayerChange> => ({
		title: `${arms.base === null ? "time" : arm}, ${unit.name}`,
		numeric: true,
		cell: (change) => timeCell(change[arm], unit),
		sortBy: (change) => change[arm]?.meanMs ?? null,
	});
	if (arms.base === null) return [time("head")];
	const change: Column<LayerChange> = {
		title: `change, ${unit.name}`,
		numeric: true,
		cell: ({ changeMs }) => html`<b>${unit.formatChange(changeMs)}</b>`,
		sortBy: ({ changeMs }) => changeMs,
	};
	return [time("base"), time("head"), change];
}

function movedTable(drawing: Drawing, workload: WorkloadResult): Piece {
	const { changes, arms } = drawing;
	const isPaired = arms.base !== null;
	const moved = movedMost(changes, maxMoved);
	const largest = Math.abs(moved[0]?.changeMs ?? 0);
	const rows = moved.filter(({ changeMs }) => Math.abs(changeMs) >= largest / 50);
	if (rows.length === 0) return null;
	const longest = Math.max(...rows.flatMap(({ base, head }) => [base?.meanMs ?? 0, head?.meanMs ?? 0]));
	const columns: Column<LayerChange>[] = [
		{ title: isPaired ? "Layers that moved the most" : "Slowest layers", heading: true, cell: (change) => nameCell(change, isPaired) },
		...timeColumns(drawing),
		{
			title: isPaired ? "base above head" : "time",
			cell: (change) => pairOfBars(change, longest),
			sortBy: ({ head, base }) => (head ?? base)?.meanMs ?? null,
		},
	];
	return sortableTable(`layers of ${subjectName(workload)} that moved the most`, columns, rows);
}

function fullTable(drawing: Drawing, workload: WorkloadResult): Piece {
	const { changes, arms } = drawing;
	const order = new Map(changes.map((change, index) => [change, index + 1]));
	const columns: Column<LayerChange>[] = [
		{ title: "#", numeric: true, cell: (change) => order.get(change) ?? "" },
		{ title: "Layer", heading: true, cell: (change) => nameCell(change, arms.base !== null) },
		...timeColumns(drawing),
		{
			title: "share of head",
			numeric: true,
			cell: ({ head }) => (head === null ? "–" : formatPercent(head.share)),
			sortBy: ({ head }) => head?.share ?? null,
		},
	];
	const known = arms.base === null || arms.head === null ? [arms.head ?? arms.base] : [arms.base, arms.head];
	const isCut = known.some((arm) => arm !== null && !isWhole(arm));
	const title = isCut ? `The ${counted(changes.length, "slowest layer")}` : `All ${counted(changes.length, "layer")}`;
	const table = sortableTable(`all layers of ${subjectName(workload)}`, columns, changes.slice(0, maxRows));
	return folded(title, [table, moreText(changes.length - maxRows, "layers")]);
}

/** `92.41 → 96.60 µs`. */
function totalsText({ unit, arms }: Drawing): string {
	const totals = [arms.base, arms.head].flatMap((arm) => (arm === null ? [] : [unit.format(arm.totalMs)]));
	return `${totals.join(" → ")} ${unit.name}`;
}

function legend(drawing: Drawing): Markup {
	const { arms } = drawing;
	const known = [arms.base, arms.head].filter((arm): arm is ArmLayers => arm !== null);
	const inferences = known.map((arm) => arm.iterations.toLocaleString("en-US")).join(" and ");
	const key = arms.base === null ? null : html`<i class="base"></i>base<i class="head"></i>head · `;
	return html`<p class="legend">${key}all layers together ${totalsText(drawing)} · means of ${inferences} inferences in a separate run under TensorRT's profiler, which is slower than the timed runs; not used by any gate</p>
`;
}

/** `open`: what changed is shown unfolded, for a workload that needs attention. */
export function layersPart(workload: WorkloadResult, { open }: { open: boolean }): Piece {
	const drawing = workload.layers === undefined ? null : drawingOf(workload.layers);
	if (drawing === null || drawing.changes.length === 0) return null;
	const { explanation } = workload;
	const moved = explanation === undefined ? movedTable(drawing, workload) : enginePart(explanation, subjectName(workload));
	const parts = [moved, legend(drawing), fullTable(drawing, workload)];
	return open ? [html`<h3>Where the time went</h3>\n`, ...parts] : folded("Where the time went, layer by layer", parts);
}
