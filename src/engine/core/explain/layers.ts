// Layers and kernels with their times, as results have them.
import type {
	Arm,
	ArmKernels,
	ArmLayers,
	EngineDiff,
	TimedLayer,
	WorkloadKernels,
	WorkloadLayers,
	WorkloadResult,
} from "../../../../generated/result.ts";
import { numberRepeats } from "../../../core/group.ts";
import { shorten } from "../../../core/text/escape.ts";
import { diffEngines } from "../diff.ts";
import { engineFingerprint } from "../fingerprint.ts";
import {
	type EngineLayer,
	type EngineLayers,
	isReformat,
	type LayerProfile,
	type LayerTime,
} from "../layer.ts";
import { engineModel, nameOnly } from "../model.ts";

const maxLayers = 2000;
const [maxNameChars, maxWordChars] = [300, 160];

export function joinLayers(profile: LayerProfile, info: EngineLayers | null): ArmLayers {
	const known = new Map(numberRepeats(info?.layers ?? [], ({ name }) => name));
	const layers = numberRepeats(profile.layers, ({ name }) => name).map(([key, time]) =>
		describeLayer(time, known.get(key)),
	);
	return {
		...(info === null ? {} : { fingerprint: engineFingerprint(info) }),
		iterations: profile.iterations,
		count: layers.length,
		totalMs: layers.reduce((sum, layer) => sum + layer.meanMs, 0),
		layers: slowest(layers),
	};
}

function describeLayer({ name, averageMs, share }: LayerTime, layer: EngineLayer | undefined) {
	return {
		name: shorten(name, maxNameChars),
		...(layer?.type == null ? {} : { type: shorten(layer.type, maxWordChars) }),
		...(layer?.precision == null ? {} : { precision: layer.precision }),
		...(layer?.tactic == null ? {} : { tactic: shorten(layer.tactic, maxWordChars) }),
		...(layer !== undefined && isReformat(layer) ? { reformat: true } : {}),
		meanMs: Math.max(0, averageMs),
		share: Math.min(1, Math.max(0, share)),
	};
}

function slowest(layers: readonly TimedLayer[]) {
	if (layers.length <= maxLayers) return [...layers];
	const kept = new Set([...layers].sort((a, b) => b.meanMs - a.meanMs).slice(0, maxLayers));
	return layers.filter((layer) => kept.has(layer));
}

export function diffOfLayers({ base, head }: WorkloadLayers): EngineDiff | null {
	const engines = base === null || head === null ? null : { base: modelOf(base), head: modelOf(head) };
	return engines === null ? null : diffEngines(engines, { gpu: null, enginesMs: null, unit: head?.unit });
}

function modelOf({ iterations, layers }: ArmLayers) {
	const times = layers.map(({ name, meanMs, share }) => ({
		name,
		averageMs: meanMs,
		share,
	}));
	const known = layers.map(
		({ name, reformat, type = null, precision = null, tactic = null }): EngineLayer => ({
			...nameOnly(name),
			...{ kind: reformat === true ? "reformat" : "compute", type, precision, tactic },
		}),
	);
	return engineModel({
		info: { detail: "names", io: [], layers: known },
		profiles: [{ iterations, layers: times }],
		graph: null,
	});
}

export interface ProfiledArm {
	id: string;
	arm: Arm;
	layers?: ArmLayers;
	kernels?: ArmKernels;
	explanation?: EngineDiff;
}

export function withProfile(
	row: WorkloadResult,
	{ id, arm, layers, kernels, explanation }: ProfiledArm,
): WorkloadResult {
	if (row.id !== id) return row;
	const none = { base: null, head: null };
	return {
		...row,
		...(layers && { layers: { ...(row.layers ?? none), [arm]: layers } }),
		...(explanation && { explanation }),
		...(kernels && { kernels: { ...(row.kernels ?? none), [arm]: kernels } }),
	};
}

export interface KernelFact {
	name: string;
	totalNs: number;
	instances: number;
}

const maxKernels = 100;
const maxKernelChars = 400;

export function boundKernels(rows: readonly KernelFact[]): ArmKernels {
	const totalNs = rows.reduce((sum, row) => sum + Math.max(0, row.totalNs), 0);
	const kernels = [...rows]
		.sort((a, b) => b.totalNs - a.totalNs)
		.slice(0, maxKernels)
		.map((row) => ({
			name: shorten(row.name, maxKernelChars),
			calls: Math.max(0, Math.round(row.instances)),
			totalMs: Math.max(0, row.totalNs) / 1e6,
			share: totalNs > 0 ? Math.max(0, row.totalNs) / totalNs : 0,
		}));
	return { count: rows.length, totalMs: totalNs / 1e6, kernels };
}

/** The kernel whose time grew most; if nothing can be compared, the slowest. */
export function kernelOfInterest({ base, head }: WorkloadKernels): string | undefined {
	const slowest = (head ?? base)?.kernels[0]?.name;
	if (base === null || head === null) return slowest;
	const before = totals(base);
	const [most] = [...totals(head)]
		.map(([name, totalMs]) => ({ name, gainMs: totalMs - (before.get(name) ?? 0) }))
		.sort((a, b) => b.gainMs - a.gainMs);
	return most !== undefined && most.gainMs > 0 ? most.name : slowest;
}

function totals({ kernels }: ArmKernels) {
	const sums = new Map<string, number>();
	for (const { name, totalMs } of kernels) sums.set(name, (sums.get(name) ?? 0) + totalMs);
	return sums;
}
