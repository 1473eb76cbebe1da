// Small plots of what the GPU did in each run, in the order in which the runs were made.
import type { WorkloadResult } from "../../../../generated/result.ts";
import { subjectName } from "../../text/labels.ts";
import {
	type GpuQuantity,
	gpuQuantities,
	rangeIn,
	rangeText,
	type WatchedRun,
	watchedRuns,
} from "../gpu-format.ts";
import { at, drawing, html, type Markup, type Piece } from "./markup.ts";
import { linearScale, paddedDomain, type Scale } from "./scale.ts";

const size = { width: 280, height: 64, left: 6, right: 274, top: 6, bottom: 58 } as const;
/** More runs than a workload is ever given; a hostile file may hold any number. */
const maxRuns = 300;

function mark(run: WatchedRun, quantity: GpuQuantity, x: number, y: Scale): Piece {
	const range = rangeIn(run.gpu, quantity);
	if (range === null) return null;
	const isUsed = run.state === "ok";
	const title = html`<title>run ${run.order + 1}, ${run.arm}${isUsed ? "" : ", discarded"}: ${quantity.format(range.mean)}${quantity.unit}</title>`;
	const top = at(y.place(range.max));
	const middle = at(y.place(range.mean));
	const bottom = at(y.place(range.min));
	return [
		top === bottom
			? null
			: html`<line class="spread ${run.arm}" x1="${x}" x2="${x}" y1="${top}" y2="${bottom}"/>`,
		isUsed
			? html`<circle class="${run.arm}" cx="${x}" cy="${middle}" r="3">${title}</circle>`
			: html`<path class="cross" d="M${at(x - 3)} ${at(middle - 3)}l6 6m0 -6l-6 6">${title}</path>`,
	];
}

function plot(quantity: GpuQuantity, runs: readonly WatchedRun[], name: string): Piece[] {
	const windows = runs.map(({ gpu }) => gpu);
	const range = rangeText(windows, quantity);
	if (range === null) return [];
	const values = windows.flatMap((window) => {
		const found = rangeIn(window, quantity);
		return found === null ? [] : [found.min, found.max];
	});
	const [low, high] = paddedDomain(values, 0.1);
	const lack = Math.max(0, quantity.smallest - (high - low)) / 2;
	const y = linearScale([low - lack, high + lack], [size.bottom, size.top]);
	const x = linearScale([-0.5, runs.length - 0.5], [size.left, size.right]);
	const marks = runs.map((run, index) => mark(run, quantity, at(x.place(index)), y));
	const label = `${quantity.name} in every run of ${name}, in the order of the runs: ${range}`;
	const ground = html`<line class="grid" x1="${size.left}" x2="${size.right}" y1="${size.bottom + 4}" y2="${size.bottom + 4}"/>`;
	return [
		html`<figure class="spark">${drawing(size, label, [ground, marks])}<figcaption>${quantity.name} <b>${range}</b></figcaption></figure>`,
	];
}

export function drawGpu(workload: WorkloadResult): Markup | null {
	const runs = watchedRuns(workload)
		.sort((a, b) => a.order - b.order)
		.slice(0, maxRuns);
	const plots = gpuQuantities.flatMap((quantity) => plot(quantity, runs, subjectName(workload)));
	return plots.length === 0 ? null : html`<div class="sparks">${plots}</div>`;
}
