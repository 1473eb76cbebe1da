// Engines with one planted change each, derived from recorded layer files and their times: nobody built these, so that the culprit
// and its cost are known exactly. Times scatter from profile to profile as recorded ones do.
import type { EngineLayer, LayerProfile, LayerTensor } from "../../src/core/engine/layer.ts";
import type { RecordedEngine } from "./recorded-engines.ts";

export interface Planted {
	name: string;
	base: RecordedEngine;
	head: RecordedEngine;
	/** A node of the culprit, as the head names it; of what is gone, as the base does. */
	culprit: string;
	/** What the change costs in truth, milliseconds. */
	costMs: number;
}

interface Timed extends EngineLayer {
	ms: number;
}

/** Mulberry32. */
export function randomOf(seed: number): () => number {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
	};
}

function gauss(random: () => number): number {
	return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

const profiles = 4;
/** Of a layer's mean between profiles of the recordings: about 1 % and 30 ns. */
const [scatterShare, scatterMs] = [0.008, 3e-5];

function measured(layers: readonly Timed[], random: () => number): RecordedEngine {
	const times = Array.from({ length: profiles }, (): LayerProfile => {
		const drawn = layers.map(({ name, ms }) => {
			const averageMs = ms === 0 ? 0 : Math.max(0, ms * (1 + scatterShare * gauss(random)) + scatterMs * gauss(random));
			return { name, sumMs: averageMs * 200, averageMs, medianMs: averageMs, share: 0 };
		});
		return { iterations: 200, layers: drawn };
	});
	return { info: { detail: "detailed", io: [], layers: layers.map(({ ms: _, ...layer }) => layer) }, profiles: times };
}

interface Change {
	layers: Timed[];
	at: number;
	random: () => number;
}

interface Outcome {
	base?: Timed[];
	head: Timed[];
	culprit: string;
}

const insert = (layers: readonly Timed[], at: number, ...more: Timed[]): Timed[] => [...layers.slice(0, at), ...more, ...layers.slice(at)];
const swap = (layers: readonly Timed[], at: number, ...by: Timed[]): Timed[] => [...layers.slice(0, at), ...by, ...layers.slice(at + 1)];
const nodeOf = ({ onnxNodes, name }: Timed): string => onnxNodes[0] ?? name;
const as = (dtype: string, format: string) => (tensor: LayerTensor) => ({ ...tensor, dtype, format });

function copy(of: LayerTensor, to: string, name: string, ms: number): Timed {
	const out = { ...of, name: `${of.name} copied`, format: to, dtype: to === "Float" ? "fp32" : "fp16" };
	const none = { onnxNodes: [], foreign: null, region: null, weights: null, parameters: {}, tactic: null };
	return {
		...none,
		name: `Reformatting CopyNode for Input Tensor 0 to ${name}`,
		kind: "reformat",
		servedLayer: name,
		type: "Reformat",
		inputs: [of],
		outputs: [out],
		precision: of.dtype,
		ms,
	};
}

/** Every name is another, as after an export by another tool. */
function renamed(layers: readonly Timed[]): Timed[] {
	const other = (name: string): string => `n${[...name].reduce((hash, char) => (Math.imul(hash, 31) + char.charCodeAt(0)) | 0, 7) >>> 0}`;
	const tensor = (one: LayerTensor) => ({ ...one, name: other(one.name) });
	return layers.map((layer) => ({
		...layer,
		name: layer.region === null ? other(layer.name) : layer.name,
		servedLayer: layer.servedLayer === null ? null : other(layer.servedLayer),
		onnxNodes: layer.onnxNodes.map(other),
		inputs: layer.inputs.map(tensor),
		outputs: layer.outputs.map(tensor),
	}));
}

const kinds: Readonly<Record<string, (change: Change) => Outcome>> = {
	"cast to fp32": ({ layers, at }) => {
		const layer = layers[at]!;
		const wide = as("fp32", "Float");
		const own = { ...layer, precision: "fp32", inputs: layer.inputs.map(wide), outputs: layer.outputs.map(wide), ms: layer.ms * 1.7 };
		const before = copy(layer.inputs[0]!, "Float", layer.name, 0.004);
		return { head: swap(layers, at, before, own), culprit: nodeOf(layer) };
	},
	"split fusion": ({ layers, at }) => {
		const layer = layers[at]!;
		const cut = Math.max(1, layer.onnxNodes.length - 1);
		const between = { ...layer.outputs[0]!, name: `${layer.outputs[0]!.name} before` };
		const first = { ...layer, name: `${layer.name} first`, onnxNodes: layer.onnxNodes.slice(0, cut), outputs: [between] };
		const second = {
			...layer,
			name: `${layer.name} second`,
			type: "PointWiseV2",
			parameters: {},
			weights: null,
			onnxNodes: layer.onnxNodes.slice(cut),
			inputs: [between],
			ms: layer.ms * 0.6,
		};
		return { head: swap(layers, at, first, second), culprit: nodeOf(layer) };
	},
	reformat: ({ layers, at }) => {
		const layer = layers[at]!;
		return { head: insert(layers, at, copy(layer.inputs[0]!, "Half", layer.name, 0.006)), culprit: nodeOf(layer) };
	},
	widened: ({ layers, at }) => {
		const layer = layers[at]!;
		const weights = layer.weights === null ? null : { ...layer.weights, elements: layer.weights.elements * 2 };
		const outputs = layer.outputs.map((tensor) => ({ ...tensor, dims: tensor.dims.map((size, axis) => (axis === 1 ? size * 2 : size)) }));
		return { head: swap(layers, at, { ...layer, weights, outputs, ms: layer.ms * 1.5 }), culprit: nodeOf(layer) };
	},
	"lost int8": ({ layers, at }) => {
		const layer = layers[at]!;
		const narrow = as("int8", "Int8");
		const own = { ...layer, precision: "int8", inputs: layer.inputs.map(narrow), outputs: layer.outputs.map(narrow), ms: layer.ms * 0.6 };
		return { base: swap(layers, at, own), head: layers, culprit: nodeOf(layer) };
	},
	plugin: ({ layers, at }) => {
		const layer = layers[at]!;
		const own = {
			...layer,
			name: "MyPlugin_0",
			type: "PluginV3",
			onnxNodes: ["MyPlugin_0"],
			parameters: {},
			weights: null,
			tactic: null,
			ms: layer.ms * 2,
		};
		return { head: swap(layers, at, own), culprit: "MyPlugin_0" };
	},
	"other opset": ({ layers, at }) => {
		const layer = layers[at]!;
		const own = { ...layer, onnxNodes: layer.onnxNodes.flatMap((node) => [`${node}_a`, `${node}_b`]), tactic: "other", ms: layer.ms * 1.4 };
		return { head: swap(layers, at, own), culprit: `${nodeOf(layer)}_a` };
	},
	"renamed export with another kernel": ({ layers, at }) => {
		const head = renamed(swap(layers, at, { ...layers[at]!, tactic: "slow", ms: layers[at]!.ms * 1.6 }));
		return { head, culprit: nodeOf(head[at]!) };
	},
	"counted names and a new layer": ({ layers, at }) => {
		const count = (all: readonly Timed[]): Timed[] => {
			let next = 0;
			return all.map((layer) => ({ ...layer, onnxNodes: layer.onnxNodes.map(() => `Node_${next++}`) }));
		};
		const layer = layers[at]!;
		const out = layer.outputs[0]!;
		const fresh: Timed = {
			...layer,
			name: "fresh",
			inputs: [out],
			outputs: [{ ...out, name: "fresh_out" }],
			weights: { dtype: "fp16", elements: 12_345 },
			ms: 0.008,
		};
		const head = count(insert(layers, at + 1, fresh));
		return { base: count(layers), head, culprit: nodeOf(head[at + 1]!) };
	},
	gone: ({ layers, at }) => ({ head: layers.filter((_, index) => index !== at), culprit: nodeOf(layers[at]!) }),
	"another kernel": ({ layers, at }) => {
		const layer = layers[at]!;
		return { head: swap(layers, at, { ...layer, tactic: "another", ms: layer.ms * 1.3 }), culprit: nodeOf(layer) };
	},
	"new block": ({ layers, at }) => {
		const layer = layers[at]!;
		const names = ["new.0", "new.1", "new.2"];
		const block = names.map((name): Timed => ({ ...layer, name, onnxNodes: [name], ms: 0.006 }));
		return { head: insert(layers, at + 1, ...block), culprit: "new.0" };
	},
};

/** Layers that take some time, spread over the engine. */
function places(layers: readonly Timed[], count: number): number[] {
	const fit = layers.flatMap(({ kind, ms, onnxNodes, region, weights }, at) =>
		kind === "compute" && ms > 0.006 && onnxNodes.length > 1 && region === null && weights !== null ? [at] : [],
	);
	return Array.from({ length: count }, (_, index) => fit[Math.floor(((index + 0.5) * fit.length) / count)] ?? 0);
}

export function timedLayers({ info, profiles: [profile] }: RecordedEngine): Timed[] {
	return info.layers.map((layer, at) => ({ ...layer, ms: profile?.layers[at]?.averageMs ?? 0 }));
}

/** Each kind at two places of each engine. */
export function plantedChanges(engines: Readonly<Record<string, RecordedEngine>>): Planted[] {
	return Object.entries(engines).flatMap(([engine, recorded], which) =>
		Object.entries(kinds).flatMap(([kind, change], number) => {
			const layers = timedLayers(recorded);
			return places(layers, 2).map((at, turn) => {
				const random = randomOf(1000 * which + 10 * number + turn);
				const { base = layers, head, culprit } = change({ layers, at, random });
				const total = (all: readonly Timed[]) => all.reduce((sum, { ms }) => sum + ms, 0);
				const costMs = total(head) - total(base);
				return { name: `${kind} in ${engine} at ${at}`, base: measured(base, random), head: measured(head, random), culprit, costMs };
			});
		}),
	);
}

/** The same engine built again: every time and Myelin's numbers differ, nothing else. */
export function rebuilt(recorded: RecordedEngine, seed: number): { base: RecordedEngine; head: RecordedEngine } {
	const [layers, random] = [timedLayers(recorded), randomOf(seed)];
	const other = (text: string) => text.replace(/(__mye|_myl)(\d+)/g, (_, stem, digits) => `${stem}${Number(digits) + seed}`);
	const head = layers.map((layer) => ({
		...layer,
		name: other(layer.name),
		inputs: layer.inputs.map((tensor) => ({ ...tensor, name: other(tensor.name) })),
		outputs: layer.outputs.map((tensor) => ({ ...tensor, name: other(tensor.name) })),
	}));
	return { base: measured(layers, random), head: measured(head, random) };
}
