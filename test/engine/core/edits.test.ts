import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import type { OnnxGraph } from "../../../src/core/onnx/model.ts";
import { causePhrase } from "../../../src/core/report/engine-text.ts";
import { diffEngines } from "../../../src/engine/core/diff.ts";
import { engineModel } from "../../../src/engine/core/model.ts";
import { type DevicePair, devicePairs } from "../../support/device-engines.ts";

type Node = [name: string, op: string, inputs: string[], outputs: string[]];

/** Of the networks that the recorded engines were built from: test/oracles/planted/graphs.py. */
const networks: Record<string, Node[]> = JSON.parse(
	gunzipSync(readFileSync("test/fixtures/engines/planted-graphs.json.gz")).toString("utf8"),
);

function graphOf(nodes: readonly Node[]): OnnxGraph {
	const none = { name: "", inputs: [], outputs: [], initializers: [], valueInfo: [], subgraphs: [] };
	return {
		...none,
		nodes: nodes.map(([name, op, inputs, outputs]) => ({
			...{ name, op, inputs, outputs },
			...{ domain: "", attributes: [] },
		})),
	};
}

/** A rebuild and a flag leave the network as it is. */
const networkOf = ({ name, base }: DevicePair) => networks[name] ?? networks[base] ?? [];

function diffOf(
	pair: DevicePair,
	{ base, head } = { base: networks[pair.base] ?? [], head: networkOf(pair) },
) {
	const { engines, enginesMs } = pair;
	const models = {
		base: engineModel({ ...engines.base, graph: graphOf(base) }),
		head: engineModel({ ...engines.head, graph: graphOf(head) }),
	};
	return diffEngines(models, { gpu: null, enginesMs });
}

const pairs = devicePairs().filter(({ base }) => networks[base] !== undefined);
const found = new Map(pairs.map((pair) => [pair.name, diffOf(pair)]));

it.each([
	["res-probe", "1 added ReduceMax breaks 1 fusion"],
	["res-transposes", "2 added Transposes and 1 added LayerNormalization break 1 fusion"],
	["res-split", "1 added Softsign"],
	["res-softmax", "1 added Softmax"],
	["res-block", "7 added nodes in /layer1/layer1.4"],
	["enc-dropped", "49 removed nodes in /layers.3"],
	["half-casts", "6 added Casts"],
	["int8-no-weight-q", "1 removed QuantizeLinear and 1 removed DequantizeLinear (int8 → fp16)"],
	["dw-relu", "1 added Relu and 2 removed HardSwishes"],
	// Weights, sizes and settings changed; no node was added or removed.
	["res-widened", "weights changed in 2 node groups"],
	["res-island", "fp16 → tf32 in 2 node groups, 1 more reformat"],
	["unet-cubic", "InterpolationMode NEAREST → CUBIC, CoordTransform kASYMMETRIC → kHALF_PIXEL"],
	// Names are counted, so that those of other nodes moved.
	["res-renamed-block", "2 new kernels"],
] as const)("the phrase of %s is: %s", (name, phrase) => {
	expect(causePhrase(found.get(name))).toBe(phrase);
});

it("no node is named of engines that were built again", () => {
	const rebuilt = pairs.filter(({ kind }) => kind === "rebuild");
	expect(rebuilt.length).toBeGreaterThan(10);
	expect(rebuilt.flatMap(({ name }) => found.get(name)?.edit ?? [])).toEqual([]);
});

it("operators are named as often as the files differ by them", () => {
	const all = new Set(Object.values(networks).flatMap((nodes) => nodes.map(([, op]) => op)));
	const wrong = pairs.flatMap((pair) => {
		const count = (nodes: readonly Node[], op: string) => nodes.filter(([, own]) => own === op).length;
		const { edit = "" } = found.get(pair.name) ?? {};
		return [...edit.matchAll(/(\d+) (added|removed) ([A-Z]\w+)/g)].flatMap(
			([text, named, word, many = ""]) => {
				const op = [many, many.slice(0, -1), many.slice(0, -2)].find((one) => all.has(one)) ?? "";
				const more = count(networkOf(pair), op) - count(networks[pair.base] ?? [], op);
				return op !== "" && Number(named) <= (word === "added" ? more : -more)
					? []
					: [`${pair.name}: ${text}`];
			},
		);
	});
	expect([...found.values()].filter(({ edit }) => edit !== undefined).length).toBeGreaterThan(25);
	expect(wrong).toEqual([]);
});

it("nodes that were added where no layer changed are not named", () => {
	const pair = pairs.find(({ name }) => name === "res-widened")!;
	const base = networks[pair.base]!;
	const last = base.at(-1)![3];
	const head: Node[] = [...networkOf(pair), ["added/Abs", "Abs", last, ["more"]]];
	expect(diffOf(pair, { base, head }).edit).toBeUndefined();
});

it("a file that another exporter named gives no edit", () => {
	const pair = pairs.find(({ name }) => name === "res-split")!;
	const head = networkOf(pair).map(([name, ...node]): Node => [`node_${name}`, ...node]);
	expect(diffOf(pair, { base: networks[pair.base]!, head }).edit).toBeUndefined();
});

it("operators that the builder left out are not named", () => {
	const pair = pairs.find(({ name }) => name === "res-softmax")!;
	const head = networkOf(pair).flatMap(([name, op, inputs, outputs]): Node[] => {
		const node: Node = [name, op, inputs, outputs];
		return op === "Softmax" ? [node, ["added/Identity", "Identity", outputs, ["more"]]] : [node];
	});
	expect(diffOf(pair, { base: networks[pair.base]!, head }).edit).toBe("1 added Softmax");
});
