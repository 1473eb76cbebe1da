// Derived from recorded engines: nobody built these, so that the culprit and its cost are known exactly. All layers of a profile take
// their deviations from one recorded profile, since they deviate together.
import type { EngineLayer, LayerProfile, LayerTensor } from "../../src/engine/core/layer.ts";
import { type Random, randomFrom } from "./random.ts";
import type { RecordedEngine } from "./recorded-engines.ts";

export interface Planted {
	kind: string;
	name: string;
	base: RecordedEngine;
	head: RecordedEngine;
	/** A node of the culprit, as the head names it; of what is gone, as the base does. */
	culprit: string;
	costMs: number;
	enginesMs: { base: number; head: number } | null;
}

export interface Host extends RecordedEngine {
	/** More profiles of the same engine, built again: they only say how times scatter. */
	rebuilt?: readonly LayerProfile[];
	medianMs?: number;
}

interface Timed extends EngineLayer {
	ms: number;
	/** The recorded layer whose deviations it shows. */
	like: number;
}

const profiles = 4;
/** Where an engine was profiled once: what the profiles of others show, of a layer and of all layers of a profile. */
const [scatterShare, scatterMs, sharedShare] = [0.008, 3e-5, 0.008];
const timedRunShare = 0.0003;

type Draw = (random: Random) => (layer: Timed) => number;

function averages(all: readonly LayerProfile[]): number[] {
	return (all[0]?.layers ?? []).map(
		(_, at) => all.reduce((sum, { layers }) => sum + (layers[at]?.averageMs ?? 0), 0) / all.length,
	);
}

function drawFrom({ profiles: own, rebuilt: again = [] }: Host): Draw {
	if (own.length < 2) {
		return (random) => {
			const shared = sharedShare * random.normal();
			return ({ ms }) => ms * (shared + scatterShare * random.normal()) + scatterMs * random.normal();
		};
	}
	const widen = Math.sqrt(own.length / (own.length - 1));
	const seen = [own, again].flatMap((some) => {
		const middle = averages(some);
		return some.map(({ layers }) =>
			layers.map(({ averageMs }, at) => (averageMs - (middle[at] ?? 0)) * widen),
		);
	});
	return (random) => {
		const one = seen[Math.floor(random.uniform() * seen.length)] ?? [];
		return ({ like }) => one[like] ?? 0;
	};
}

function measured(layers: readonly Timed[], draw: Draw, random: Random): RecordedEngine {
	const times = Array.from({ length: profiles }, (): LayerProfile => {
		const deviation = draw(random);
		const drawn = layers.map((layer) => {
			const averageMs = layer.ms === 0 ? 0 : Math.max(0, layer.ms + deviation(layer));
			return { name: layer.name, averageMs, share: 0 };
		});
		return { iterations: 200, layers: drawn };
	});
	return {
		info: { detail: "detailed", io: [], layers: layers.map(({ ms: _, like: __, ...layer }) => layer) },
		profiles: times,
	};
}

interface Change {
	layers: Timed[];
	at: number;
	/** At `at`. */
	layer: Timed;
	/** Layers with others in place of `layer`. */
	swap(...by: Timed[]): Timed[];
}

interface Outcome {
	base?: Timed[];
	head: Timed[];
	culprit?: string;
	clock?: number;
	namesOnly?: true;
}

const nodeOf = ({ onnxNodes, name }: Timed): string => onnxNodes[0] ?? name;
const as = (dtype: string, format: string) => (tensor: LayerTensor) => ({ ...tensor, dtype, format });

function inType(layer: Timed, precision: string, format: string): Timed {
	const to = as(precision, format);
	return { ...layer, precision, inputs: layer.inputs.map(to), outputs: layer.outputs.map(to) };
}

function copy(of: LayerTensor, to: string, { name, like }: Timed, ms: number): Timed {
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
		like,
	};
}

const shortMs = 0.006;

function halves(layer: Timed, rest: number): [Timed, Timed] {
	const cut = Math.max(1, layer.onnxNodes.length - 1);
	const between = { ...layer.outputs[0]!, name: `${layer.outputs[0]!.name} before` };
	const first = {
		...layer,
		name: `${layer.name} first`,
		onnxNodes: layer.onnxNodes.slice(0, cut),
		outputs: [between],
	};
	const alone = {
		type: "PointWiseV2",
		parameters: {},
		weights: null,
		onnxNodes: layer.onnxNodes.slice(cut),
		inputs: [between],
	};
	return [
		first,
		{ ...layer, ...alone, name: `${layer.name} second`, ms: Math.max(shortMs, layer.ms * rest) },
	];
}

function withoutDetails({ info, profiles: own }: RecordedEngine): RecordedEngine {
	const none = {
		...{ type: null, precision: null, tactic: null, weights: null },
		...{ inputs: [], outputs: [], parameters: {} },
	};
	return {
		info: { ...info, detail: "names", layers: info.layers.map((layer) => ({ ...layer, ...none })) },
		profiles: own,
	};
}

function renamed(layers: readonly Timed[]): Timed[] {
	const other = (name: string): string =>
		`n${[...name].reduce((hash, char) => (Math.imul(hash, 31) + char.charCodeAt(0)) | 0, 7) >>> 0}`;
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

/** Reads what the layer writes. */
function fresh(layer: Timed, elements: number): Timed {
	const out = layer.outputs[0]!;
	const tensors = { inputs: [out], outputs: [{ ...out, name: "fresh_out" }] };
	return { ...layer, ...tensors, name: "fresh", weights: { dtype: "fp16", elements } };
}

const kinds: Readonly<Record<string, (change: Change) => Outcome>> = {
	"cast to fp32": ({ layer, swap }) => {
		const own = { ...inType(layer, "fp32", "Float"), ms: layer.ms * 1.7 };
		return { head: swap(copy(layer.inputs[0]!, "Float", layer, 0.004), own) };
	},
	"split fusion": ({ layer, swap }) => ({ head: swap(...halves(layer, 0.6)) }),
	reformat: ({ layer, swap }) => ({ head: swap(copy(layer.inputs[0]!, "Half", layer, 0.006), layer) }),
	widened: ({ layer, swap }) => {
		const weights =
			layer.weights === null ? null : { ...layer.weights, elements: layer.weights.elements * 2 };
		const outputs = layer.outputs.map((tensor) => ({
			...tensor,
			dims: tensor.dims.map((size, axis) => (axis === 1 ? size * 2 : size)),
		}));
		return { head: swap({ ...layer, weights, outputs, ms: layer.ms * 1.5 }) };
	},
	"lost int8": ({ layers, layer, swap }) => ({
		base: swap({ ...inType(layer, "int8", "Int8"), ms: layer.ms * 0.6 }),
		head: layers,
	}),
	plugin: ({ layer, swap }) => {
		const name = "MyPlugin_0";
		const bare = { type: "PluginV3", onnxNodes: [name], parameters: {}, weights: null, tactic: null };
		return { head: swap({ ...layer, ...bare, name, ms: layer.ms * 2 }), culprit: name };
	},
	"other opset": ({ layer, swap }) => {
		const onnxNodes = layer.onnxNodes.flatMap((node) => [`${node}_a`, `${node}_b`]);
		const own = { ...layer, onnxNodes, tactic: "other", ms: layer.ms * 1.4 };
		return { head: swap(own), culprit: `${nodeOf(layer)}_a` };
	},
	"renamed export with another kernel": ({ at, layer, swap }) => {
		const head = renamed(swap({ ...layer, tactic: "slow", ms: layer.ms * 1.6 }));
		return { head, culprit: nodeOf(head[at]!) };
	},
	"counted names and a new layer": ({ layers, at, layer, swap }) => {
		const count = (all: readonly Timed[]): Timed[] => {
			let next = 0;
			return all.map((one) => ({ ...one, onnxNodes: one.onnxNodes.map(() => `Node_${next++}`) }));
		};
		const head = count(swap(layer, { ...fresh(layer, 12_345), ms: 0.008 }));
		return { base: count(layers), head, culprit: nodeOf(head[at + 1]!) };
	},
	gone: ({ swap }) => ({ head: swap() }),
	"another kernel": ({ layer, swap }) => ({
		head: swap({ ...layer, tactic: "another", ms: layer.ms * 1.3 }),
	}),
	"new block": ({ layer, swap }) => {
		const names = ["new.0", "new.1", "new.2"];
		const block = names.map((name): Timed => ({ ...layer, name, onnxNodes: [name], ms: 0.006 }));
		return { head: swap(layer, ...block), culprit: "new.0" };
	},
	"second consumer": ({ layer, swap }) => {
		const [first, second] = halves(layer, 0.5);
		const outputs = [{ ...second.outputs[0]!, name: "probed" }];
		return {
			head: swap(first, second, { ...second, name: "probe", type: "Reduce", onnxNodes: ["probe"], outputs }),
		};
	},
	"merged fusion": ({ layers, layer, swap }) => ({ base: swap(...halves(layer, 0.7)), head: layers }),
	"round trip": ({ layer, swap }) => {
		const there = copy(layer.inputs[0]!, "Float", layer, 0.005);
		const back = copy(there.outputs[0]!, layer.inputs[0]!.format, layer, 0.005);
		return { head: swap(there, { ...back, name: `${there.name} again` }, layer) };
	},
	"lost fusion in every second layer": ({ layers, layer: like }) => ({
		head: layers.flatMap((layer, index) =>
			layer === like ||
			(index % 2 === 0 && layer.type === like.type && layer.onnxNodes.length > 1 && layer.ms > 0)
				? halves(layer, 0.5)
				: [layer],
		),
	}),
	"unfused DequantizeLinear": ({ layer, swap }) => {
		const [narrow, input] = [as("int8", "Int8"), layer.inputs[0]!];
		const dequantize = { name: "dq", kind: "quantize" as const, servedLayer: null, onnxNodes: ["dq"] };
		return {
			base: swap({ ...layer, precision: "int8", inputs: layer.inputs.map(narrow), ms: layer.ms * 0.7 }),
			head: swap({ ...copy(narrow(input), input.format, layer, 0.005), ...dequantize }, layer),
		};
	},
	"names only, a new layer": ({ layer, swap }) => {
		const name = "fresh.conv";
		return { head: swap(layer, { ...layer, name, onnxNodes: [name] }), culprit: name, namesOnly: true };
	},
	"another clock and a cast": (change) => ({ ...kinds["cast to fp32"]!(change), clock: 1.015 }),
	"slower here, faster there": ({ layers, at }) => {
		const other = layers.findIndex(
			({ ms, kind, onnxNodes }, index) =>
				index !== at && index > layers.length / 4 && ms > 0.006 && kind === "compute" && onnxNodes.length > 0,
		);
		const head = layers.map((layer, index) =>
			index === at
				? { ...layer, tactic: "slow", ms: layer.ms * 2 }
				: index === other
					? { ...layer, tactic: "fast", ms: layer.ms * 0.8 }
					: layer,
		);
		return { head };
	},
	"renamed export and a new layer": ({ at, layer, swap }) => {
		const head = renamed(swap(layer, { ...fresh(layer, 4321), onnxNodes: ["fresh"], ms: 0.009 }));
		return { head, culprit: nodeOf(head[at + 1]!) };
	},
	"a Concat that copies": ({ layers, at, layer }) => {
		const other = layers.find(
			({ kind, onnxNodes, inputs }, index) =>
				index >= at && kind === "noop" && onnxNodes.length > 0 && inputs.length > 0,
		);
		const none = other ?? layer;
		const copied = { ...none, kind: "compute" as const, type: "Reformat", ms: 0.012, like: at };
		return { head: layers.map((one) => (one === none ? copied : one)), culprit: nodeOf(none) };
	},
};

function places(layers: readonly Timed[], count: number): number[] {
	const fit = layers.flatMap(({ kind, ms, onnxNodes, region, weights }, at) =>
		kind === "compute" && ms > 0.006 && onnxNodes.length > 1 && region === null && weights !== null
			? [at]
			: [],
	);
	return Array.from(
		{ length: count },
		(_, index) => fit[Math.floor(((index + 0.5) * fit.length) / count)] ?? 0,
	);
}

function timedLayers({ info, profiles: own }: RecordedEngine): Timed[] {
	const middle = averages(own);
	return info.layers.map((layer, at) => ({ ...layer, ms: middle[at] ?? 0, like: at }));
}

/** Time that the profiler adds to each layer, and that no timed run has. */
function overheadOf(layers: readonly Timed[], { medianMs }: Host): number {
	const timed = layers.filter(({ ms }) => ms > 0);
	return medianMs === undefined ? 0 : (timed.reduce((sum, { ms }) => sum + ms, 0) - medianMs) / timed.length;
}

export function plantedChanges(hosts: Readonly<Record<string, Host>>, turns = 2): Planted[] {
	return Object.entries(hosts).flatMap(([engine, host], which) =>
		Object.entries(kinds).flatMap(([kind, change], number) => {
			const [layers, draw] = [timedLayers(host), drawFrom(host)];
			const overheadMs = overheadOf(layers, host);
			return places(layers, turns).map((at, turn): Planted => {
				const random = randomFrom(100_000 * which + 1000 * number + turn);
				const layer = layers[at]!;
				const swap = (...by: Timed[]) => layers.toSpliced(at, 1, ...by);
				const outcome = change({ layers, at, layer, swap });
				const { base = layers, head, culprit = nodeOf(layer), clock = 1, namesOnly } = outcome;
				const total = (all: readonly Timed[]) =>
					all.reduce((sum, { ms }) => sum + (ms > 0 ? ms - overheadMs : 0), 0);
				const costMs = total(head) - total(base);
				const ran = (ms: number) => ms * (1 + timedRunShare * random.normal());
				const enginesMs =
					host.medianMs === undefined ? null : { base: ran(total(base)), head: ran(total(head) * clock) };
				const known = namesOnly === true ? withoutDetails : (one: RecordedEngine) => one;
				const other = head.map((layer) => ({ ...layer, ms: layer.ms * clock }));
				const engines = {
					base: known(measured(base, draw, random)),
					head: known(measured(other, draw, random)),
				};
				return { kind, name: `${kind} in ${engine} at ${at}`, ...engines, culprit, costMs, enginesMs };
			});
		}),
	);
}

/** Built again: only times and Myelin's numbers differ. */
export function rebuilt(host: Host, seed: number): { base: RecordedEngine; head: RecordedEngine } {
	const [layers, draw, random] = [timedLayers(host), drawFrom(host), randomFrom(seed)];
	const other = (text: string) =>
		text.replace(/(__mye|_myl)(\d+)/g, (_, stem, digits) => `${stem}${Number(digits) + seed}`);
	const head = layers.map((layer) => ({
		...layer,
		name: other(layer.name),
		inputs: layer.inputs.map((tensor) => ({ ...tensor, name: other(tensor.name) })),
		outputs: layer.outputs.map((tensor) => ({ ...tensor, name: other(tensor.name) })),
	}));
	return { base: measured(layers, draw, random), head: measured(head, draw, random) };
}
