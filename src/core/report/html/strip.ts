// The strip plot of one workload: every run's median, base and head of a pair linked.
import type { PerfRun, WorkloadResult } from "../../../../generated/result.ts";
import { groupBy } from "../../group.ts";
import { shownMs } from "../../stats/summary.ts";
import { cleanName } from "../../text/escape.ts";
import { subjectName } from "../../text/labels.ts";
import { formatMs } from "../../text/units.ts";
import { at, drawing, html, type Markup, type Piece } from "./markup.ts";
import { horizontalGrid, linearScale, paddedDomain, roundTicks, type Scale, timeLabels } from "./scale.ts";

const size = { width: 640, height: 220, left: 74, right: 540, top: 14, bottom: 182 } as const;
/** More pairs than a workload is ever given; a hostile file may hold any number. */
const maxPairs = 128;

type DrawnRun = PerfRun & { ms: number };
type Pair = readonly DrawnRun[];

function pairsOf({ runs }: WorkloadResult): Pair[] {
	const drawn = runs.flatMap((run) => {
		const ms = run.medianMs ?? 0;
		return ms > 0 ? [{ ...run, ms }] : [];
	});
	const pairs = [...groupBy(drawn, ({ pair }) => pair)].sort(([a], [b]) => a - b);
	return pairs.slice(0, maxPairs).map(([, pair]) => pair);
}

function dot(run: DrawnRun, x: number, y: Scale, radius: number): Markup {
	const title = `pair ${run.pair + 1}, ${run.arm}: ${formatMs(run.ms)}`;
	return html`<circle class="${run.arm}" cx="${at(x)}" cy="${at(y.place(run.ms))}" r="${radius}"><title>${title}</title></circle>`;
}

function cross(run: DrawnRun, x: number, y: Scale): Markup {
	const title = `pair ${run.pair + 1}, ${run.arm}, discarded: ${cleanName(run.reason ?? "unusable", 200)}`;
	return html`<path class="cross" d="M${at(x - 3)} ${at(y.place(run.ms) - 3)}l6 6m0 -6l-6 6"><title>${title}</title></path>`;
}

/** @param apart from the middle of the pair to each of its dots. */
function drawPair(
	pair: Pair,
	x: number,
	y: Scale,
	{ apart, radius }: { apart: number; radius: number },
): Piece {
	const used = (arm: PerfRun["arm"]) => pair.findLast((run) => run.arm === arm && run.state === "ok");
	const base = used("base");
	const head = used("head");
	return [
		base && head
			? html`<line class="link" x1="${at(x - apart)}" y1="${at(y.place(base.ms))}" x2="${at(x + apart)}" y2="${at(y.place(head.ms))}"/>`
			: null,
		base === undefined ? null : dot(base, x - apart, y, radius),
		head === undefined ? null : dot(head, x + apart, y, radius),
		pair.filter(({ state }) => state !== "ok").map((run) => cross(run, x, y)),
	];
}

function pairNumbers(pairs: readonly Pair[], x: Scale): Piece {
	const every = Math.ceil(pairs.length / 16);
	const labels = pairs.map((pair, index) =>
		index % every === 0
			? html`<text class="tick" x="${at(x.place(index))}" y="${size.bottom + 17}" text-anchor="middle">${(pair[0]?.pair ?? 0) + 1}</text>`
			: null,
	);
	return [
		labels,
		html`<text class="tick" x="${at((size.left + size.right) / 2)}" y="${size.bottom + 34}" text-anchor="middle">pair</text>`,
	];
}

/** A line at each side's median with its label at the right edge, kept apart where they would overlap. */
function medians(workload: WorkloadResult, y: Scale): Piece {
	const arms = (["base", "head"] as const).flatMap((arm) => {
		const ms = shownMs(workload, arm);
		return ms === undefined ? [] : [{ arm, ms, level: y.place(ms) }];
	});
	const [upper, lower] = [...arms].sort((a, b) => a.level - b.level);
	const push = upper && lower ? Math.max(0, 13 - (lower.level - upper.level)) / 2 : 0;
	return arms.map(({ arm, ms, level }) => [
		ms < y.from || ms > y.to
			? null
			: html`<line class="med ${arm}" x1="${size.left}" x2="${size.right}" y1="${at(level)}" y2="${at(level)}"/>`,
		html`<text class="tick ${arm}" x="${size.right + 6}" y="${at(level + 4 + (arm === upper?.arm ? -push : push))}">${arm} ${formatMs(ms)}</text>`,
	]);
}

export function drawStrip(workload: WorkloadResult): Markup | null {
	const pairs = pairsOf(workload);
	if (pairs.length === 0) return null;
	const y = linearScale(
		paddedDomain(
			pairs.flat().map(({ ms }) => ms),
			0.12,
		),
		[size.bottom, size.top],
	);
	const width = size.right - size.left;
	const inset = Math.min(40, width / (pairs.length + 1) / 2 + 8);
	const x = linearScale([0, Math.max(1, pairs.length - 1)], [size.left + inset, size.right - inset]);
	const look = { apart: Math.min(7, width / (x.to + 1) / 4), radius: pairs.length > 24 ? 3 : 4.5 };
	const ticks = roundTicks(y, 4);
	const { labels, unit } = timeLabels(ticks, shownMs(workload, "base") ?? shownMs(workload, "head") ?? 0);
	const middle = at((size.top + size.bottom) / 2);
	return drawing(size, `median of every run of ${subjectName(workload)}, pair by pair`, [
		horizontalGrid(ticks, labels, y, size),
		html`<text class="tick" x="11" y="${middle}" transform="rotate(-90 11 ${middle})" text-anchor="middle">${unit}, median of a run</text>`,
		pairs.map((pair, index) => drawPair(pair, x.place(index), y, look)),
		pairNumbers(pairs, x),
		medians(workload, y),
	]);
}
