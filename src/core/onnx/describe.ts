// Describes a model as a plain value, for `preflight --json` and for people.
import type { InterfaceRow, InterfaceValue } from "../../../generated/result.ts";
import { groupBy } from "../group.ts";
import { elementBits, toDType } from "./element-type.ts";
import { factsOf } from "./facts.ts";
import { feeds, type InspectedModel, type OnnxDim, type OnnxModel, type OnnxValue } from "./model.ts";
import { formatDims } from "./quote.ts";
import { elementsOf } from "./static-shapes/operator.ts";
import { operatorKey, type Scope, tensorsOf } from "./walk.ts";

export type ModelSummary = ReturnType<typeof describeModel>;

export function describeModel({ path, sha256, onnx, external }: InspectedModel) {
	const { scopes } = factsOf(onnx);
	const operators = operatorCounts(scopes);
	const count = (operator: string): number =>
		operators.find((entry) => entry.domain === standardDomain && entry.operator === operator)?.count ?? 0;
	return {
		path,
		sha256,
		bytes: onnx.bytes,
		irVersion: onnx.irVersion,
		producer: onnx.producer,
		producerVersion: onnx.producerVersion,
		opsets: Object.entries(onnx.opsets).map(([domain, version]) => ({
			domain: domain || standardDomain,
			version,
		})),
		inputs: feeds(onnx.graph),
		outputs: onnx.graph.outputs,
		nodes: scopes.reduce((sum, scope) => sum + scope.nodes.length, 0),
		subgraphs: scopes.filter((scope) => scope.kind === "subgraph").length,
		functions: onnx.functions.length,
		operators,
		weights: weightTotals(scopes),
		quantisation: { quantizeLinear: count("QuantizeLinear"), dequantizeLinear: count("DequantizeLinear") },
		inferred: inferredOf(onnx),
		external: external.map(({ location, neededBytes, problem }) => ({ location, neededBytes, problem })),
	};
}

const standardDomain = "ai.onnx";

/** How far shapes and types of the nodes' outputs are known. */
function inferredOf(model: OnnxModel) {
	const { graph, types, static: known } = factsOf(model);
	const given = graph.nodes.flatMap((node) => node.outputs.filter((name) => name !== ""));
	const stopped = [...groupBy(known.stopped, ({ op }) => op)];
	return {
		tensors: given.length,
		shapes: given.filter((name) => known.shapes.has(name)).length,
		types: given.filter((name) => types.get(graph)?.has(name)).length,
		stoppedAt: stopped
			.map(([operator, nodes]) => ({ operator, count: nodes.length }))
			.sort((left, right) => right.count - left.count),
	};
}

function operatorCounts(scopes: readonly Scope[]) {
	const nodes = scopes.flatMap((scope) => scope.nodes);
	const counts = [...groupBy(nodes, operatorKey).values()].map(([first, ...others]) => ({
		domain: first?.domain || standardDomain,
		operator: first?.op ?? "",
		count: others.length + 1,
	}));
	return counts.sort((left, right) => right.count - left.count || (left.operator < right.operator ? -1 : 1));
}

function weightTotals(scopes: readonly Scope[]) {
	const totals = [...groupBy(tensorsOf(scopes), ({ dtype }) => dtype)].map(([dtype, own]) => ({
		dtype,
		tensors: own.length,
		bytes: own.reduce((sum, { bytes }) => sum + bytes, 0),
	}));
	return totals.sort((left, right) => right.bytes - left.bytes);
}

// Facts of the file on which a run depends: the ranks of the inputs, and the largest tensor at given sizes.

interface RunFacts {
	inputRanks: ReadonlyMap<string, number>;
	largestTensor: { name: string; shape: string; bytes: number } | null;
}

/** @param minBits floats may be narrowed to this size. */
export function modelFacts(
	{ onnx }: InspectedModel,
	{ shapes, minBits }: { shapes: ReadonlyMap<string, readonly number[]>; minBits: number },
): RunFacts {
	const inputs = feeds(onnx.graph).flatMap(({ name, dims }) => (dims === null ? [] : [{ name, dims }]));
	const sizes = new Map(
		inputs.flatMap(({ name, dims }) => dims.map((dim, axis) => [dim, shapes.get(name)?.[axis]] as const)),
	);
	const { graph, static: known, types, constants } = factsOf(onnx);
	let largest: RunFacts["largestTensor"] = null;
	for (const [name, symbolic] of known.shapes) {
		if (constants.get(graph)?.has(name)) continue;
		const dims = symbolic.map((dim) => (typeof dim === "string" ? (sizes.get(dim) ?? dim) : dim));
		const bits = Math.min(elementBits(types.get(graph)?.get(name) ?? "float") ?? minBits, minBits);
		const bytes = ((elementsOf(dims) ?? 0) * bits) / 8;
		if (bytes > (largest?.bytes ?? 0)) largest = { name, shape: formatDims(dims), bytes };
	}
	return { inputRanks: new Map(inputs.map(({ name, dims }) => [name, dims.length])), largestTensor: largest };
}

// Compares the inputs and outputs of two versions of a model: what a caller would notice.

type Side = InterfaceRow["side"];

const maxRows = 1000;

/** Empty if every caller of the base can call the head. Names of symbolic dimensions are not part of the interface. */
export function interfaceRows(base: OnnxModel, head: OnnxModel): InterfaceRow[] {
	const inputs = rowsOf("input", feeds(base.graph), feeds(head.graph));
	const outputs = rowsOf("output", base.graph.outputs, head.graph.outputs);
	return [...inputs, ...outputs].slice(0, maxRows);
}

function rowsOf(side: Side, before: readonly OnnxValue[], after: readonly OnnxValue[]): InterfaceRow[] {
	const changed = before.flatMap((base) => {
		const head = after.find(({ name }) => name === base.name);
		return head === undefined || !differs(side, base, head) ? [] : [row(side, base, head)];
	});
	const gone = before.filter(({ name }) => after.every((head) => head.name !== name));
	const added = new Set(after.filter(({ name }) => before.every((base) => base.name !== name)));
	const renamed = gone.map((base) => {
		const head = [...added].find((candidate) => !differs(side, base, candidate)) ?? null;
		if (head !== null) added.delete(head);
		return row(side, base, head);
	});
	return [...changed, ...renamed, ...[...added].map((head) => row(side, null, head))];
}

function row(side: Side, base: OnnxValue | null, head: OnnxValue | null): InterfaceRow {
	return { side, base: base && describe(base), head: head && describe(head) };
}

function describe({ name, kind, dtype, dims }: OnnxValue): InterfaceValue {
	const type = toDType(dtype) ?? dtype;
	return { name, dtype: kind === "tensor" ? type : kind, shape: dims === null ? "?" : formatDims(dims) };
}

function differs(side: Side, base: OnnxValue, head: OnnxValue): boolean {
	if (base.kind !== head.kind) return true;
	const known = [base, head].every(({ dtype }) => dtype !== "undefined" && dtype !== "unknown");
	if (known && base.dtype !== head.dtype) return true;
	if (base.dims === null || head.dims === null) return false;
	return (
		base.dims.length !== head.dims.length ||
		base.dims.some((dim, axis) => sizeDiffers(side, dim, head.dims?.[axis] ?? null))
	);
}

/** An input may accept any size in place of one, and an output's size need not be stated. */
function sizeDiffers(side: Side, base: OnnxDim, head: OnnxDim): boolean {
	if (typeof head !== "number") return false;
	return typeof base === "number" ? base !== head : side === "input";
}
