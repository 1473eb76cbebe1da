// The strip plot of one workload: every run's median, base and head of a pair linked.
import type { PerfRun, WorkloadResult } from "../../../../generated/result.ts";
import { shownMs } from "../../stats/summary.ts";
import { cleanName } from "../../text/escape.ts";
import { subjectName } from "../../text/labels.ts";
import { formatMs } from "../../text/units.ts";
import { at, html, type Markup, type Piece } from "./markup.ts";
import { linearScale, paddedDomain, roundTicks, type Scale, timeLabels } from "./scale.ts";

const size = { width: 640, height: 220, left: 74, right: 540, top: 14, bottom: 182 } as const;
/** More pairs than a workload is ever given; a hostile file may hold any number. */
const maxPairs = 128;

interface PairOfRuns {
	number: number;
	base: DrawnRun | undefined;
	head: DrawnRun | undefined;
	unusable: DrawnRun[];
}

/** A run with the figure that is drawn. */
interface DrawnRun extends PerfRun {
	ms: number;
}

function drawnRuns({ runs }: WorkloadResult): DrawnRun[] {
	return runs.flatMap((run) => {
		const ms = run.medianMs;
		return ms !== undefined && ms > 0 ? [{ ...run, ms }] : [];
	});
}

function pairsOf(runs: readonly DrawnRun[]): PairOfRuns[] {
	const pairs = new Map<number, PairOfRuns>();
	for (const run of runs) {
		const pair = pairs.get(run.pair) ?? { number: run.pair, base: undefined, head: undefined, unusable: [] };
		if (run.state === "ok") pair[run.arm] = run;
		else pair.unusable.push(run);
		pairs.set(run.pair, pair);
	}
	return [...pairs.values()].sort((a, b) => a.number - b.number).slice(0, maxPairs);
}

function dot(run: DrawnRun | undefined, x: number, options: { y: Scale; radius: number }): Piece {
	if (run === undefined) return null;
	const title = `pair ${run.pair + 1}, ${run.arm}: ${formatMs(run.ms)}`;
	return html`<circle class="${run.arm}" cx="${at(x)}" cy="${at(options.y.place(run.ms))}" r="${options.radius}"><title>${title}</title></circle>`;
}

function cross(run: DrawnRun, x: number, y: Scale): Markup {
	const cy = y.place(run.ms);
	const title = `pair ${run.pair + 1}, ${run.arm}, discarded: ${cleanName(run.reason ?? "unusable", 200)}`;
	return html`<path class="cross" d="M${at(x - 3)} ${at(cy - 3)}l6 6m0 -6l-6 6"><title>${title}</title></path>`;
}

function drawPair(
	pair: PairOfRuns,
	index: number,
	{ x, y, radius }: { x: Scale; y: Scale; radius: number },
): Markup {
	const center = x.place(index);
	const apart = Math.min(7, (size.right - size.left) / (x.to + 1) / 4);
	const [from, to] = [pair.base?.ms, pair.head?.ms];
	const link =
		from === undefined || to === undefined
			? null
			: html`<line class="link" x1="${at(center - apart)}" y1="${at(y.place(from))}" x2="${at(center + apart)}" y2="${at(y.place(to))}"/>`;
	return html`${link}${dot(pair.base, center - apart, { y, radius })}${dot(pair.head, center + apart, { y, radius })}${pair.unusable.map((run) => cross(run, center, y))}`;
}

function verticalAxis(y: Scale, referenceMs: number): Piece {
	const ticks = roundTicks(y, 4);
	const { labels, unit } = timeLabels(ticks, referenceMs);
	const lines = ticks.map((tick, index) => {
		const level = at(y.place(tick));
		return html`<line class="grid" x1="${size.left}" x2="${size.right}" y1="${level}" y2="${level}"/><text class="tick" x="${size.left - 8}" y="${at(level + 4)}" text-anchor="end">${labels[index] ?? ""}</text>`;
	});
	const middle = at((size.top + size.bottom) / 2);
	return [
		lines,
		html`<text class="tick" x="11" y="${middle}" transform="rotate(-90 11 ${middle})" text-anchor="middle">${unit}, median of a run</text>`,
	];
}

function horizontalAxis(pairs: readonly PairOfRuns[], x: Scale): Piece {
	const every = Math.ceil(pairs.length / 16);
	const labels = pairs
		.map((pair, index) => ({ number: pair.number + 1, index }))
		.filter(({ index }) => index % every === 0)
		.map(
			({ number, index }) =>
				html`<text class="tick" x="${at(x.place(index))}" y="${size.bottom + 17}" text-anchor="middle">${number}</text>`,
		);
	return [
		labels,
		html`<text class="tick" x="${at((size.left + size.right) / 2)}" y="${size.bottom + 34}" text-anchor="middle">pair</text>`,
	];
}

function middle(workload: WorkloadResult, arm: "base" | "head", y: Scale): Piece {
	const ms = shownMs(workload, arm);
	if (ms === undefined || ms < y.from || ms > y.to) return null;
	const level = at(y.place(ms));
	return html`<line class="med ${arm}" x1="${size.left}" x2="${size.right}" y1="${level}" y2="${level}"/>`;
}

/** The sides' labels at the right edge, kept apart where they would overlap. */
function middleLabels(workload: WorkloadResult, y: Scale): Piece {
	const arms = (["base", "head"] as const).flatMap((arm) => {
		const ms = shownMs(workload, arm);
		return ms === undefined ? [] : [{ arm, ms, level: y.place(ms) }];
	});
	const [upper, lower] = [...arms].sort((a, b) => a.level - b.level);
	const push =
		upper !== undefined && lower !== undefined ? Math.max(0, 13 - (lower.level - upper.level)) / 2 : 0;
	return arms.map(({ arm, ms, level }) => {
		const shifted = at(level + 4 + (arm === upper?.arm ? -push : push));
		return html`<text class="tick ${arm}" x="${size.right + 6}" y="${shifted}">${arm} ${formatMs(ms)}</text>`;
	});
}

/** Null where no run was timed. */
export function drawStrip(workload: WorkloadResult): Markup | null {
	const pairs = pairsOf(drawnRuns(workload));
	const values = pairs.flatMap((pair) =>
		[pair.base, pair.head, ...pair.unusable].flatMap((run) => (run === undefined ? [] : [run.ms])),
	);
	if (values.length === 0) return null;
	const y = linearScale(paddedDomain(values, 0.12), [size.bottom, size.top]);
	const inset = Math.min(40, (size.right - size.left) / (pairs.length + 1) / 2 + 8);
	const x = linearScale([0, Math.max(1, pairs.length - 1)], [size.left + inset, size.right - inset]);
	const radius = pairs.length > 24 ? 3 : 4.5;
	const reference = shownMs(workload, "base") ?? shownMs(workload, "head") ?? 0;
	const label = `median of every run of ${subjectName(workload)}, pair by pair`;
	return html`<svg viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${label}"><title>${label}</title>${verticalAxis(y, reference)}${middle(workload, "base", y)}${middle(workload, "head", y)}${pairs.map((pair, index) => drawPair(pair, index, { x, y, radius }))}${horizontalAxis(pairs, x)}${middleLabels(workload, y)}</svg>`;
}
