// Describes a model as a plain value, for `preflight --json` and for people.
import type { InterfaceRow, InterfaceValue } from "../../../generated/result.ts";
import { elementBits, toDType } from "./element-type.ts";
import { subjectOf } from "./findings/subject.ts";
import { feeds, type InspectedModel, type OnnxDim, type OnnxModel, type OnnxValue } from "./model.ts";
import { formatDims } from "./quote.ts";
import { elementsOf } from "./static-shapes/operator.ts";
import { type Scope, scopesOf, tensorsOf } from "./walk.ts";

export type ModelSummary = ReturnType<typeof describeModel>;
export type ValueSummary = ModelSummary["inputs"][number];

export function describeModel(model: InspectedModel) {
	const { onnx } = model;
	const scopes = scopesOf(onnx);
	const operators = operatorCounts(scopes);
	const count = (operator: string): number =>
		operators.find((entry) => entry.domain === standardDomain && entry.operator === operator)?.count ?? 0;
	return {
		path: model.path,
		sha256: model.sha256,
		bytes: onnx.bytes,
		irVersion: onnx.irVersion,
		producer: onnx.producer,
		producerVersion: onnx.producerVersion,
		opsets: Object.entries(onnx.opsets).map(([domain, version]) => ({
			domain: domain || standardDomain,
			version,
		})),
		inputs: feeds(onnx.graph).map(summaryOf),
		outputs: onnx.graph.outputs.map(summaryOf),
		nodes: scopes.reduce((sum, scope) => sum + scope.nodes.length, 0),
		subgraphs: scopes.filter((scope) => scope.kind === "subgraph").length,
		functions: onnx.functions.length,
		operators,
		weights: weightTotals(scopes),
		quantisation: { quantizeLinear: count("QuantizeLinear"), dequantizeLinear: count("DequantizeLinear") },
		inferred: inferredOf(model),
		external: model.external.map(({ location, neededBytes, problem }) => ({
			location,
			neededBytes,
			problem,
		})),
	};
}

const standardDomain = "ai.onnx";

function summaryOf({ name, kind, dtype, dims }: OnnxValue) {
	return { name, kind, dtype, dims };
}

function inferredOf(model: InspectedModel) {
	const { scopes, types, static: shaped } = subjectOf(model, { backend: "onnxruntime" });
	const [graph] = scopes;
	const given = graph?.nodes.flatMap((node) => node.outputs.filter((name) => name !== "")) ?? [];
	const known = graph === undefined ? undefined : types.get(graph);
	const counts = new Map<string, number>();
	for (const { op } of shaped.stopped) counts.set(op, (counts.get(op) ?? 0) + 1);
	return {
		tensors: given.length,
		shapes: given.filter((name) => shaped.shapes.has(name)).length,
		types: given.filter((name) => known?.has(name)).length,
		stoppedAt: [...counts]
			.map(([operator, count]) => ({ operator, count }))
			.sort((left, right) => right.count - left.count),
	};
}

function operatorCounts(scopes: readonly Scope[]) {
	const counts = new Map<string, { domain: string; operator: string; count: number }>();
	for (const scope of scopes) {
		for (const { domain, op } of scope.nodes) {
			const key = `${domain}\n${op}`;
			const entry = counts.get(key) ?? { domain: domain || standardDomain, operator: op, count: 0 };
			entry.count++;
			counts.set(key, entry);
		}
	}
	return [...counts.values()].sort(
		(left, right) => right.count - left.count || (left.operator < right.operator ? -1 : 1),
	);
}

function weightTotals(scopes: readonly Scope[]) {
	const totals = new Map<string, { dtype: string; tensors: number; bytes: number }>();
	for (const { dtype, bytes } of tensorsOf(scopes)) {
		const total = totals.get(dtype) ?? { dtype, tensors: 0, bytes: 0 };
		total.tensors++;
		total.bytes += bytes;
		totals.set(dtype, total);
	}
	return [...totals.values()].sort((left, right) => right.bytes - left.bytes);
}

// What a run of a model depends on, of its file: the ranks of its inputs, and its largest tensor at given sizes.

interface ModelFacts {
	inputRanks: ReadonlyMap<string, number>;
	largestTensor: { name: string; shape: string; bytes: number } | null;
}

interface ModelSizes {
	shapes: ReadonlyMap<string, readonly number[]>;
	minBits: number;
}

export function modelFacts(model: InspectedModel, { shapes, minBits }: ModelSizes): ModelFacts {
	const inputs = feeds(model.onnx.graph);
	const sizes = new Map(
		inputs.flatMap(({ name, dims }) =>
			(dims ?? [])
				.map((dim, axis) => [dim, shapes.get(name)?.[axis]] as const)
				.filter(([dim]) => typeof dim === "string"),
		),
	);
	const { static: inferred, scopes, types, constants } = subjectOf(model, { backend: "onnxruntime" });
	const [graph] = scopes;
	let largest: ModelFacts["largestTensor"] = null;
	for (const [name, symbolic] of inferred.shapes) {
		if (graph === undefined || constants.get(graph)?.has(name)) continue;
		const dims = symbolic.map((dim) => sizes.get(dim) ?? dim);
		const elements = elementsOf(dims);
		const bits = Math.min(elementBits(types.get(graph)?.get(name) ?? "float") ?? minBits, minBits);
		const bytes = elements === null ? 0 : (elements * bits) / 8;
		if (bytes > (largest?.bytes ?? 0)) largest = { name, shape: formatDims(dims), bytes };
	}
	return {
		inputRanks: new Map(
			inputs.flatMap(({ name, dims }) => (dims === null ? [] : [[name, dims.length] as const])),
		),
		largestTensor: largest,
	};
}

// Compares the inputs and outputs of two versions of a model: what a caller would notice.

type Side = InterfaceRow["side"];

const maxRows = 1000;

/** Empty where every caller of the base can call the head. Names of symbolic dimensions are no part of the interface. */
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

/** An input that takes any size where it took one is no change; of an output a file need not tell the size. */
function sizeDiffers(side: Side, base: OnnxDim, head: OnnxDim): boolean {
	if (typeof head !== "number") return false;
	return typeof base === "number" ? base !== head : side === "input";
}
