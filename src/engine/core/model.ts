// An engine as it is compared.
import { groupBy, numberRepeats } from "../../core/group.ts";
import type { OnnxGraph } from "../../core/onnx/model.ts";
import type { EngineIo, EngineLayer, EngineLayers, LayerProfile } from "./layer.ts";

export interface ModelLayer extends EngineLayer {
	index: number;
	nodes: readonly string[];
	/** Of a layer without nodes: the layer that it feeds, else the one that feeds it. */
	owner: number | null;
	/** Of one inference in each profile; empty: never timed. */
	timesMs: readonly number[];
}

export interface EngineModel {
	detail: EngineLayers["detail"];
	layers: readonly ModelLayer[];
	io: readonly EngineIo[];
	profiles: number;
	graph: OnnxGraph | null;
	iterations: number;
}

interface EngineFiles {
	info: EngineLayers | null;
	profiles: readonly LayerProfile[];
	graph: OnnxGraph | null;
}

export function engineModel({ info, profiles, graph }: EngineFiles): EngineModel {
	const timed = timesByLayer(profiles);
	const timesOf = (key: string) => {
		const own = timed.get(key) ?? [];
		timed.delete(key);
		return own;
	};
	// Layers of other optimization profiles run only if they were timed.
	const known = (info?.layers ?? []).filter(
		({ name }) => !/ \[profile [1-9]\d*\]$/.test(name.slice(-20)) || timed.has(`0 ${name}`),
	);
	const stated = numberRepeats(known, ({ name }) => name).map(([key, layer]) => ({
		...layer,
		timesMs: timesOf(key),
	}));
	const timedOnly = [...timed].map(([key, timesMs]) => ({
		...nameOnly(key.slice(key.indexOf(" ") + 1)),
		timesMs,
	}));
	const regions = regionsOf(graph);
	const layers = [...stated, ...timedOnly].map((layer, index) => ({
		...layer,
		index,
		nodes: nodesOf(layer, regions),
		owner: null,
	}));
	return {
		detail: info?.detail ?? "names",
		io: info?.io ?? [],
		profiles: profiles.length,
		graph,
		iterations: Math.min(...profiles.map(({ iterations }) => Math.max(1, iterations))),
		layers: attach(layers),
	};
}

function timesByLayer(profiles: readonly LayerProfile[]) {
	const times = new Map<string, number[]>();
	for (const [at, { layers }] of profiles.entries()) {
		for (const [key, { averageMs }] of numberRepeats(layers, ({ name }) => name)) {
			const own = times.get(key) ?? profiles.map(() => 0);
			own[at] = Number.isFinite(averageMs) ? Math.max(0, averageMs) : 0;
			times.set(key, own);
		}
	}
	return times;
}

export function nameOnly(name: string): EngineLayer {
	return {
		...{ name, kind: "compute", inputs: [], outputs: [], onnxNodes: [], parameters: {} },
		...{ type: null, precision: null, tactic: null, weights: null },
		...{ foreign: null, servedLayer: null, region: null },
	};
}

interface Regions {
	between(from: string, to: string): string[] | null;
	byPlainName: ReadonlyMap<string, string>;
}

function nodesOf({ onnxNodes, foreign, name, region }: EngineLayer, regions: Regions) {
	if (onnxNodes.length > 0) return onnxNodes;
	if (foreign !== null) return regions.between(...foreign) ?? [...new Set(foreign)];
	if (region === null) return [];
	const parts = name.replace(/_myl\d+_\d+$/, "").split("+");
	return parts.flatMap((part) => regions.byPlainName.get(part) ?? []);
}

/** Hostile files may state a region for every layer. */
const maxSteps = 5_000_000;

function regionsOf(graph: OnnxGraph | null): Regions {
	const nodes = graph?.nodes ?? [];
	const index = new Map(nodes.map(({ name }, at) => [name, at]));
	const writers = new Map(nodes.flatMap(({ outputs }, at) => outputs.map((output) => [output, at] as const)));
	const sources = nodes.map(({ inputs }) => inputs.flatMap((input) => writers.get(input) ?? []));
	const readers: number[][] = nodes.map(() => []);
	for (const [at, own] of sources.entries()) for (const source of own) readers[source]?.push(at);
	let steps = 0;
	const reach = (start: number, edges: readonly (readonly number[])[]) => {
		const found = new Set([start]);
		for (const at of found) for (const next of edges[at] ?? []) if (steps++ < maxSteps) found.add(next);
		return found;
	};
	return {
		between(from, to) {
			const [first, last] = [index.get(from), index.get(to)];
			if (first === undefined || last === undefined || steps >= maxSteps) return null;
			const behind = reach(last, sources);
			const inside = [...reach(first, readers)].filter((at) => behind.has(at)).sort((a, b) => a - b);
			return inside.flatMap((at) => nodes[at]?.name || []);
		},
		byPlainName: new Map(nodes.map(({ name }) => [name.replace(/[^A-Za-z0-9]/g, "_"), name])),
	};
}

export interface Neighbours {
	sources: readonly (readonly number[])[];
	readers: readonly (readonly number[])[];
}

const maxReaders = 64;
const maxWriters = 16;

const known = new WeakMap<readonly EngineLayer[], Neighbours>();

export function neighboursOf(layers: readonly EngineLayer[]): Neighbours {
	const found = known.get(layers) ?? findNeighbours(layers);
	known.set(layers, found);
	return found;
}

/** All writers that ran before its reader count, as for a concatenation, else the last one. */
function findNeighbours(layers: readonly EngineLayer[]) {
	const last = new Map(layers.flatMap(({ outputs }, at) => outputs.map(({ name }) => [name, at] as const)));
	const written = new Map<string, number[]>();
	const readers: number[][] = layers.map(() => []);
	const sources = layers.map(({ inputs, outputs }, at) => {
		const own = new Set(inputs.flatMap(({ name }) => written.get(name) ?? last.get(name) ?? []));
		own.delete(at);
		for (const source of own) if ((readers[source]?.length ?? 0) < maxReaders) readers[source]?.push(at);
		for (const { name } of outputs) {
			const before = written.get(name);
			if (before === undefined) written.set(name, [at]);
			else if (before.push(at) > maxWriters) before.shift();
		}
		return [...own];
	});
	return { sources, readers };
}

/** A reformat serves its reader, the sizes of a Myelin region its kernels. */
function attach(layers: readonly ModelLayer[]) {
	const { sources, readers } = neighboursOf(layers);
	const byName = new Map(layers.map(({ name }, at) => [name, at]));
	const inRegion = groupBy(
		layers.filter(({ nodes, region }) => nodes.length > 0 && region !== null),
		({ region }) => region,
	);
	const owners = (layer: ModelLayer) => {
		const served = layer.servedLayer === null ? undefined : byName.get(layer.servedLayer);
		if (served !== undefined && (layers[served]?.nodes.length ?? 0) > 0) return served;
		const near = nearest(layer.index, readers, layers) ?? nearest(layer.index, sources, layers);
		if (near !== null || layer.region === null) return near;
		// Sizes are computed before the kernel that needs them.
		const kernels = inRegion.get(layer.region) ?? [];
		return (kernels.find(({ index }) => index > layer.index) ?? kernels.at(-1))?.index ?? null;
	};
	return layers.map((layer) => (layer.nodes.length > 0 ? layer : { ...layer, owner: owners(layer) }));
}

const maxVisited = 64;

function nearest(start: number, edges: readonly (readonly number[])[], layers: readonly ModelLayer[]) {
	const seen = new Set([start]);
	for (const at of seen) {
		if ((layers[at]?.nodes.length ?? 0) > 0) return at;
		if (seen.size > maxVisited) return null;
		for (const next of edges[at] ?? []) seen.add(next);
	}
	return null;
}

export function meanOf(timesMs: readonly number[]): number {
	return timesMs.length === 0 ? 0 : timesMs.reduce((sum, ms) => sum + ms, 0) / timesMs.length;
}

/** Launching only delays: the mean of the profiles within 5 % of the fastest. 0: a profile without the layer. */
export function undelayed(timesMs: readonly number[]): number {
	const ran = timesMs.filter((ms) => ms > 0);
	const mostMs = 1.05 * Math.min(...ran);
	return meanOf(ran.filter((ms) => ms <= mostMs));
}

export function mappedShare({ layers }: EngineModel): number | null {
	const sum = (some: readonly ModelLayer[]) =>
		some.reduce((total, { timesMs }) => total + undelayed(timesMs), 0);
	const [mapped, total] = [
		layers.filter(({ nodes, owner }) => nodes.length > 0 || owner !== null),
		sum(layers),
	];
	return total > 0 ? sum(mapped) / total : null;
}
