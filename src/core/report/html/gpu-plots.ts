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
import { at, html, type Markup, type Piece } from "./markup.ts";
import { linearScale, paddedDomain, type Scale } from "./scale.ts";

const size = { width: 280, height: 64, left: 6, right: 274, top: 6, bottom: 58 } as const;
/** More runs than a workload is ever given; a hostile file may hold any number. */
const maxRuns = 300;

function domain(values: readonly number[], smallest: number): [number, number] {
	const [low, high] = paddedDomain(values, 0.1);
	const lack = Math.max(0, smallest - (high - low)) / 2;
	return [low - lack, high + lack];
}

function mark(run: WatchedRun, quantity: GpuQuantity, { x, y }: { x: number; y: Scale }): Piece {
	const range = rangeIn(run.gpu, quantity);
	if (range === null) return null;
	const unit = quantity.unit === "" ? "" : ` ${quantity.unit}`;
	const away = run.state === "ok" ? "" : ", discarded";
	const title = `run ${run.order + 1}, ${run.arm}${away}: ${quantity.format(range.mean)}${unit}`;
	const [top, middle, bottom] = [range.max, range.mean, range.min].map((value) => at(y.place(value)));
	const spread =
		top === bottom
			? null
			: html`<line class="spread ${run.arm}" x1="${x}" x2="${x}" y1="${top ?? 0}" y2="${bottom ?? 0}"/>`;
	const shape =
		run.state === "ok"
			? html`<circle class="${run.arm}" cx="${x}" cy="${middle ?? 0}" r="3"><title>${title}</title></circle>`
			: html`<path class="cross" d="M${at(x - 3)} ${at((middle ?? 0) - 3)}l6 6m0 -6l-6 6"><title>${title}</title></path>`;
	return [spread, shape];
}

function plot(quantity: GpuQuantity, runs: readonly WatchedRun[], workload: WorkloadResult): Piece {
	const range = rangeText(
		runs.map(({ gpu }) => gpu),
		quantity,
	);
	if (range === null) return null;
	const values = runs.flatMap(({ gpu }) => {
		const found = rangeIn(gpu, quantity);
		return found === null ? [] : [found.min, found.max];
	});
	const y = linearScale(domain(values, quantity.smallest), [size.bottom, size.top]);
	const x = linearScale([-0.5, runs.length - 0.5], [size.left, size.right]);
	const marks = runs.map((run, index) => mark(run, quantity, { x: at(x.place(index)), y }));
	const label = `${quantity.name} in every run of ${subjectName(workload)}, in the order of the runs: ${range}`;
	return html`<figure class="spark"><svg viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${label}"><title>${label}</title><line class="grid" x1="${size.left}" x2="${size.right}" y1="${size.bottom + 4}" y2="${size.bottom + 4}"/>${marks}</svg><figcaption>${quantity.name} <b>${range}</b></figcaption></figure>`;
}

/** Null where no run was watched. */
export function drawGpu(workload: WorkloadResult): Markup | null {
	const runs = watchedRuns(workload)
		.sort((a, b) => a.order - b.order)
		.slice(0, maxRuns);
	const plots = gpuQuantities
		.map((quantity) => plot(quantity, runs, workload))
		.filter((drawn) => drawn !== null);
	return plots.length === 0 ? null : html`<div class="sparks">${plots}</div>`;
}
