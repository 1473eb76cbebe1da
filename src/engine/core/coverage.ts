// How much of an engine runs in the precision that its config declares, and why the rest does not.
import type {
	ArmLayers,
	BuildRecord,
	PrecisionCoverage,
	TypeChange,
	UncoveredLayer,
} from "../../../generated/result.ts";
import type { CountedGraph, CountedNode } from "../../core/onnx/cost/control-flow.ts";
import type { OnnxGraph, OnnxNode } from "../../core/onnx/model.ts";
import { integerAttribute } from "../../core/onnx/static-shapes/operator.ts";
import { shorten } from "../../core/text/escape.ts";
import { operationsOf } from "./layer.ts";
import type { EngineModel, ModelLayer } from "./model.ts";
import { isHeavy, layerName } from "./warnings.ts";

/** Precisions of layers that count as the declared one. Narrower ones do in fp16 and bf16, which they refine. */
const accepted: Readonly<Record<string, readonly string[]>> = {
	fp16: ["fp16", "int8", "fp8", "int4", "fp4"],
	bf16: ["bf16", "int8", "fp8", "int4", "fp4"],
	int8: ["int8"],
	fp8: ["fp8"],
};

const maxNamed = 5;

interface CoverageFacts {
	engine: EngineModel;
	precision: string;
	costs: CountedGraph | null;
	warnings: BuildRecord["warnings"];
	isCalibrated: boolean;
	before?: NodeTypes;
}

/** By the name of each ONNX node with multiply-adds, the precision of the layer that does them. */
export type NodeTypes = ReadonlyMap<string, string>;

export function nodeTypes({ engine, costs }: Pick<CoverageFacts, "engine" | "costs">): NodeTypes {
	return new Map(
		workOf(engine, costs).flatMap(({ layer, nodes }) =>
			nodes.map(({ node }) => [parsedName(node), layer.precision ?? "unknown"] as const),
		),
	);
}

const unnamed = ({ outputs }: OnnxNode) => `node_of_${outputs[0] ?? ""}`;

/** As TensorRT's parser names it. */
const parsedName = (node: OnnxNode) => node.name || unnamed(node);

/** null: a precision that every layer has, or an engine that states no layers' types. */
export function precisionCoverage(facts: CoverageFacts): PrecisionCoverage | null {
	const { engine, precision, costs } = facts;
	const inType = accepted[precision];
	if (inType === undefined || engine.detail === "names") return null;
	const work = workOf(engine, costs);
	const known = work.filter(({ multiplyAdds }) => multiplyAdds > 0);
	const sum = (some: typeof known) => some.reduce((total, one) => total + one.multiplyAdds, 0);
	const total = sum(known);
	const outside = known
		.filter(({ layer }) => !inType.includes(layer.precision ?? ""))
		.sort((a, b) => b.multiplyAdds - a.multiplyAdds);
	const entry = (
		name: string,
		{ layer, multiplyAdds }: LayerWork,
		node: OnnxNode | null,
	): UncoveredLayer => ({
		layer: shorten(name, 160),
		precision: layer.precision ?? "unknown",
		share: multiplyAdds / total,
		...causeOf(node, facts),
	});
	return {
		precision,
		multiplyAdds: total > 0 ? Math.max(0, 1 - sum(outside) / total) : null,
		...(costs !== null && costs.multiplyAdds > 0 ? { known: Math.min(1, total / costs.multiplyAdds) } : {}),
		outsideCount: outside.length,
		outside: outside.slice(0, maxNamed).map((one) => entry(layerName(one.layer), one, heaviest(one))),
		...typeChange(known, facts, (one, node) => entry(parsedName(node), one, node)),
	};
}

/** A converted file keeps the names of its nodes, or names those without one, whereas layers are named by version. */
function typeChange(
	work: readonly LayerWork[],
	{ precision, before }: CoverageFacts,
	entry: (work: LayerWork, node: OnnxNode) => UncoveredLayer,
): { changed?: TypeChange } {
	const isIn = (type: string | null | undefined) => (accepted[precision] ?? []).includes(type ?? "");
	const was = (node: OnnxNode) => before?.get(node.name) ?? before?.get(unnamed(node));
	const both = work
		.flatMap((one) =>
			one.nodes.map(({ node, multiplyAdds }) => ({ ...one, node, multiplyAdds: multiplyAdds ?? 0 })),
		)
		.filter(({ node }) => was(node) !== undefined)
		.sort((a, b) => b.multiplyAdds - a.multiplyAdds);
	const now = ({ layer }: LayerWork) => isIn(layer.precision);
	const lost = both.filter((one) => isIn(was(one.node)) && !now(one));
	const gained = both.filter((one) => !isIn(was(one.node)) && now(one));
	if (lost.length + gained.length === 0) return {};
	return {
		changed: {
			lostCount: lost.length,
			lost: lost.slice(0, maxNamed).map((one) => entry(one, one.node)),
			gainedCount: gained.length,
			gained: gained.slice(0, maxNamed).map(({ node }) => shorten(parsedName(node), 160)),
		},
	};
}

/** Share of the time of all layers, reformats included, in which layers of the precision ran; null: nothing timed. */
export function timeShare({ layers, totalMs }: ArmLayers, precision: string): number | null {
	const inType = accepted[precision] ?? [];
	const own = layers.filter((one) => one.reformat !== true && inType.includes(one.precision ?? ""));
	return totalMs > 0 ? Math.min(1, own.reduce((sum, { meanMs }) => sum + meanMs, 0) / totalMs) : null;
}

interface LayerWork {
	layer: ModelLayer;
	nodes: CountedNode[];
	multiplyAdds: number;
}

function heaviest({ nodes }: LayerWork) {
	const first = nodes.toSorted((a, b) => (b.multiplyAdds ?? 0) - (a.multiplyAdds ?? 0))[0];
	return first?.node ?? null;
}

/** Each node counts once, for the kernel that multiplies. A layer without counted nodes tells by its own sizes. */
function workOf({ layers }: EngineModel, costs: CountedGraph | null): LayerWork[] {
	const kernels = layers.filter(({ kind }) => kind === "compute").sort(heavyFirst);
	const work = kernels.map((layer): LayerWork => ({ layer, nodes: [], multiplyAdds: 0 }));
	const owners = new Map<string, LayerWork>();
	for (const one of work.toReversed()) for (const name of one.layer.nodes) owners.set(name, one);
	for (const counted of costs?.nodes ?? []) {
		const owner = owners.get(parsedName(counted.node));
		if (owner === undefined || !counted.multiplyAdds) continue;
		owner.nodes.push(counted);
		owner.multiplyAdds += counted.multiplyAdds;
	}
	return work.map((one) => {
		if (one.multiplyAdds > 0 || !isHeavy(one.layer)) return one;
		return { ...one, multiplyAdds: (operationsOf(one.layer) ?? 0) / 2 };
	});
}

const heavyFirst = (a: ModelLayer, b: ModelLayer) => Number(isHeavy(b)) - Number(isHeavy(a));

type Cause = Pick<UncoveredLayer, "cause" | "at">;

function causeOf(node: OnnxNode | null, facts: CoverageFacts): Cause {
	const { precision, engine, warnings } = facts;
	if (precision === "int8" || precision === "fp8") return causeOfFloat(node, facts);
	const cast = node && engine.graph && castBeside(node, engine.graph);
	if (cast) return { cause: "cast", at: shorten(cast.name || (cast.outputs[0] ?? ""), 160) };
	const weight = node && engine.graph && floatWeight(node, engine.graph);
	if (weight) return { cause: "float-weight", at: shorten(weight.name, 160) };
	const isOutOfRange = warnings.some(
		({ class: kind }) => kind === "fp16-overflow" || kind === "weights-clamped",
	);
	return { cause: isOutOfRange ? "range" : "kernel" };
}

function causeOfFloat(
	node: OnnxNode | null,
	{ engine: { graph }, warnings, isCalibrated }: CoverageFacts,
): Cause {
	if (graph?.nodes.some(({ op }) => dequantises(op)))
		return (node && missingQuantisation(node, graph)) ?? { cause: "kernel" };
	if (!isCalibrated) return { cause: "no-qdq" };
	return { cause: warnings.some(({ class: kind }) => kind === "int8-uncalibrated") ? "range" : "kernel" };
}

const dequantises = (op: string) => /DequantizeLinear$/.test(op);
/** These keep values, so that types and ranges pass through them. */
const carries = new Set("Flatten Identity Reshape Slice Split Squeeze Transpose Unsqueeze".split(" "));
const activates = new Set("Clip Dropout HardSwish LeakyRelu MaxPool Relu Sigmoid".split(" "));
const maxSteps = 8;
const float = 1;

const writerIn =
	({ nodes }: OnnxGraph) =>
	(name: string | undefined) =>
		nodes.find(({ outputs }) => name !== undefined && name !== "" && outputs.includes(name));

/** The node that computes a tensor, before those that only move it or (if asked for) activate it. */
function sourceOf(name: string | undefined, graph: OnnxGraph, passes: (op: string) => boolean) {
	const writer = writerIn(graph);
	let node = writer(name);
	for (let step = 0; node !== undefined && passes(node.op) && step < maxSteps; step += 1)
		node = writer(node.inputs[0]);
	return node;
}

const isCarrier = (op: string) => carries.has(op);

function missingQuantisation(node: OnnxNode, graph: OnnxGraph): Cause | null {
	const unquantised = node.inputs.slice(0, 2).filter((name) => {
		return !dequantises(sourceOf(name, graph, isCarrier)?.op ?? "");
	});
	for (const name of unquantised) {
		const source = sourceOf(name, graph, (op) => carries.has(op) || activates.has(op));
		if (source?.op !== "Add") continue;
		const isBehind = source.inputs.some((own) => dequantises(sourceOf(own, graph, isCarrier)?.op ?? ""));
		if (isBehind) return { cause: "qdq-before-add", at: shorten(source.name || name, 160) };
	}
	return unquantised[0] === undefined ? null : { cause: "no-qdq", at: shorten(unquantised[0], 160) };
}

/** A Cast to float before the node, or away from it behind. */
function castBeside(node: OnnxNode, graph: OnnxGraph) {
	const toFloat = ({ op, ...rest }: OnnxNode) =>
		op === "Cast" && integerAttribute({ op, ...rest }, "to", 0) === float;
	const before = node.inputs.flatMap((name) => sourceOf(name, graph, isCarrier) ?? []);
	const behind = graph.nodes.filter(
		({ op, inputs }) => op === "Cast" && inputs.some((name) => node.outputs.includes(name)),
	);
	return before.find(toFloat) ?? behind.find((cast) => !toFloat(cast));
}

/** In a file that is converted to half precision: what the conversion left out. */
function floatWeight({ inputs }: OnnxNode, { initializers }: OnnxGraph) {
	const isHalf = initializers.some(({ dtype }) => dtype === "float16" || dtype === "bfloat16");
	return isHalf && initializers.find(({ name, dtype }) => dtype === "float" && inputs.includes(name));
}
