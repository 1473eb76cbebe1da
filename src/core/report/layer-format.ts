// The layers of an engine and their times as text, in one unit for all layers of a workload.
import { type LayerChange, matchLayers } from "../explain/layers.ts";
import type { ArmLayers, TimedLayer, WorkloadLayers, WorkloadResult } from "../schema/result.ts";
import { cleanName } from "../text/escape.ts";
import { counted } from "../text/labels.ts";
import type { Phrase } from "./highlight.ts";

const minus = "\u2212";

export interface LayerUnit {
	name: "ms" | "µs";
	/** `7.53`, without the unit. */
	format(ms: number): string;
	/** `+0.89`. */
	formatChange(ms: number): string;
}

/** Layers of one engine are compared with each other, so all use the unit that fits the slowest. */
export function layerUnit(longestMs: number): LayerUnit {
	const isLong = longestMs >= 1;
	const format = (ms: number): string => {
		const text = (isLong ? ms : ms * 1000).toFixed(isLong ? 3 : 2);
		return Number(text) < 0 ? minus + text.slice(1) : text.replace(/^-/, "");
	};
	return {
		name: isLong ? "ms" : "µs",
		format,
		formatChange: (ms) => (Number.parseFloat(format(Math.abs(ms))) > 0 && ms > 0 ? `+${format(ms)}` : format(ms)),
	};
}

export function isWhole({ count, layers }: ArmLayers): boolean {
	return layers.length >= count;
}

/** Which kernel a layer runs, and in what precision, where that is not as in the base. */
export function differenceLabels({ base, head }: LayerChange): string[] {
	if (base === null || head === null) return [base === null ? "new" : "gone"];
	const [from, to] = [base.precision, head.precision];
	const isOtherKernel = base.tactic !== undefined && head.tactic !== undefined && base.tactic !== head.tactic;
	return [
		...(from !== undefined && to !== undefined && from !== to ? [`${cleanName(from, 20)} → ${cleanName(to, 20)}`] : []),
		...(isOtherKernel ? ["another kernel"] : []),
	];
}

const maxNamed = 3;

function code(layer: { name: string }): { code: string } {
	return { code: cleanName(layer.name, 70) };
}

function listed(pieces: readonly Phrase[]): Phrase {
	return pieces.flatMap((piece, index) => (index === 0 ? piece : [", ", ...piece]));
}

interface Changed {
	changes: readonly LayerChange[];
	unit: LayerUnit;
	base: ArmLayers;
	head: ArmLayers;
}

/** Layers that changed in the same direction as the total, by at least a tenth of it. */
function movers({ changes, base, head }: Changed): LayerChange[] {
	const totalMs = head.totalMs - base.totalMs;
	return changes
		.filter(({ changeMs }) => changeMs * Math.sign(totalMs) >= Math.abs(totalMs) / 10)
		.sort((a, b) => Math.abs(b.changeMs) - Math.abs(a.changeMs))
		.slice(0, maxNamed);
}

function whyPhrase(changed: Changed): Phrase {
	const { unit, base, head } = changed;
	const totals = `${unit.format(base.totalMs)} → ${unit.format(head.totalMs)} ${unit.name} for all layers, timed in a slower run of their own`;
	const named = movers(changed).map((change): Phrase => {
		const how = differenceLabels(change);
		return [code(change), ` ${unit.formatChange(change.changeMs)} ${unit.name}${how.length === 0 ? "" : ` (${how.join(", ")})`}`];
	});
	if (named.length === 0) return [`Why: no single layer; many moved a little (${totals}).`];
	return ["Why: ", ...listed(named), ` (${totals}).`];
}

/** `New: a, b and 3 more.` Layers that take no time, such as those optimised away, are left out. */
function addedOrRemoved(label: "New" | "Gone", changed: Changed): Phrase | null {
	const layersOf = ({ base, head }: LayerChange): TimedLayer[] => {
		const [own, other] = label === "New" ? [head, base] : [base, head];
		return own !== null && other === null && own.meanMs > 0 ? [own] : [];
	};
	if (!isWhole(changed.base) || !isWhole(changed.head)) return null;
	const found = changed.changes.flatMap(layersOf).sort((a, b) => b.meanMs - a.meanMs);
	if (found.length === 0) return null;
	const named = found
		.slice(0, maxNamed)
		.map((layer): Phrase => [code(layer), ` ${changed.unit.format(layer.meanMs)} ${changed.unit.name}`]);
	const more = found.length > maxNamed ? ` and ${found.length - maxNamed} more` : "";
	return [`${label}: `, ...listed(named), `${more}.`];
}

function precisionPhrases({ changes }: Changed): Phrase[] {
	const groups = new Map<string, TimedLayer[]>();
	for (const { base, head } of changes) {
		if (base?.precision === undefined || head?.precision === undefined || base.precision === head.precision) continue;
		const key = `from ${cleanName(base.precision, 20)} to ${cleanName(head.precision, 20)}`;
		groups.set(key, [...(groups.get(key) ?? []), head]);
	}
	const largest = [...groups].sort(([, a], [, b]) => b.length - a.length).slice(0, 2);
	return largest.map(([key, layers]): Phrase => {
		const more = layers.length > maxNamed ? ", …" : "";
		const names = listed(layers.slice(0, maxNamed).map((layer): Phrase => [code(layer)]));
		return [`${counted(layers.length, "layer")} went ${key}: `, ...names, `${more}.`];
	});
}

function reformatPhrase({ base, head }: Changed): Phrase | null {
	const count = ({ layers }: ArmLayers): number => layers.filter(({ reformat, meanMs }) => reformat === true && meanMs > 0).length;
	const more = count(head) - count(base);
	if (more === 0 || !isWhole(base) || !isWhole(head)) return null;
	return [`${counted(Math.abs(more), "reformat")} ${more > 0 ? "added" : "saved"}.`];
}

export function changedLayers(layers: WorkloadLayers | undefined): Changed | null {
	if (layers?.base == null || layers.head == null) return null;
	const { base, head } = layers;
	const longest = [...base.layers, ...head.layers].reduce((most, { meanMs }) => Math.max(most, meanMs), 0);
	return { changes: matchLayers(base, head), unit: layerUnit(longest), base, head };
}

/** Why a workload became slower or faster, as far as its layers show. */
export function whyPhrases({ layers, latency }: Pick<WorkloadResult, "layers" | "latency">): Phrase[] {
	const changed = changedLayers(layers);
	if (changed === null || latency.estimate === null) return [];
	const { base, head, unit } = changed;
	const changeMs = head.totalMs - base.totalMs;
	// A profiled run is slower and noisier: layers that show less than a tenth of the change do not explain it.
	if (changeMs * Math.sign(latency.estimate) < (Math.abs(latency.estimate) * base.totalMs) / 10) {
		const totals = `${unit.format(base.totalMs)} → ${unit.format(head.totalMs)} ${unit.name}`;
		return [[`The layers, timed in a slower run of their own, do not show it: ${totals} for all of them.`]];
	}
	const parts = [
		whyPhrase(changed),
		addedOrRemoved("New", changed),
		addedOrRemoved("Gone", changed),
		...precisionPhrases(changed),
		reformatPhrase(changed),
	];
	return parts.filter((part) => part !== null);
}
