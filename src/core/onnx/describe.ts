// Describes a model, as a plain value and as text, and compares two.
import type { Finding, InterfaceRow } from "../../../generated/result.ts";
import { groupBy } from "../group.ts";
import { formatDims, quoteName } from "../text/escape.ts";
import { capitalize, counted, listNames } from "../text/labels.ts";
import { paint } from "../text/paint.ts";
import { formatBytes } from "../text/units.ts";
import {
	elementBits,
	feeds,
	type InspectedModel,
	type OnnxDim,
	type OnnxGraph,
	type OnnxInitializer,
	type OnnxModel,
	type OnnxValue,
	toDType,
} from "./model.ts";
import { factsOf } from "./static-shapes/infer.ts";
import { elementsOf } from "./static-shapes/operator.ts";
import { operatorKey, type Scope, tensorsOf } from "./walk.ts";

type ModelSummary = ReturnType<typeof describeModel>;

export function describeModel({ path, sha256, onnx, external }: InspectedModel) {
	const { scopes } = factsOf(onnx);
	const operators = operatorCounts(scopes);
	const count = (operator: string) =>
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
		domain: first.domain || standardDomain,
		operator: first.op,
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

interface RunFacts {
	inputRanks: ReadonlyMap<string, number>;
	largestTensor: { name: string; shape: string; bytes: number } | null;
}

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

type Side = InterfaceRow["side"];

const maxRows = 1000;

/** Names of symbolic dimensions are not part of the interface. */
export function interfaceRows(base: OnnxModel, head: OnnxModel): InterfaceRow[] {
	const inputs = rowsOf("input", feeds(base.graph), feeds(head.graph));
	const outputs = rowsOf("output", base.graph.outputs, head.graph.outputs);
	return [...inputs, ...outputs].slice(0, maxRows);
}

function rowsOf(side: Side, before: readonly OnnxValue[], after: readonly OnnxValue[]) {
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

function row(side: Side, base: OnnxValue | null, head: OnnxValue | null) {
	return { side, base: base && describe(base), head: head && describe(head) };
}

function describe({ name, kind, dtype, dims }: OnnxValue) {
	const type = toDType(dtype) ?? dtype;
	return { name, dtype: kind === "tensor" ? type : kind, shape: dims === null ? "?" : formatDims(dims) };
}

function differs(side: Side, base: OnnxValue, head: OnnxValue) {
	if (base.kind !== head.kind) return true;
	const known = [base, head].every(({ dtype }) => dtype !== "undefined" && dtype !== "unknown");
	if (known && base.dtype !== head.dtype) return true;
	if (base.dims === null || head.dims === null) return false;
	return (
		base.dims.length !== head.dims.length ||
		base.dims.some((dim, axis) => sizeDiffers(side, dim, head.dims?.[axis] ?? null))
	);
}

function sizeDiffers(side: Side, base: OnnxDim, head: OnnxDim) {
	if (typeof head !== "number") return false;
	return typeof base === "number" ? base !== head : side === "input";
}

type Network = Pick<OnnxModel, "graph" | "functions">;

/** Ignores weight values, node names and metadata, so that a retrained network counts as the same. */
export function isSameGraph(left: Network, right: Network): boolean {
	const text = ({ graph, functions }: Network) => wiringOf(graph) + JSON.stringify(functions);
	return left.graph.nodes.length === right.graph.nodes.length && text(left) === text(right);
}

function wiringOf(graph: OnnxGraph): string {
	const weight = ({ name, dtype, dims }: OnnxInitializer) => [name, dtype, dims];
	const byName = (one: OnnxInitializer, other: OnnxInitializer) => (one.name < other.name ? -1 : 1);
	return JSON.stringify([
		graph.inputs,
		graph.outputs,
		[...graph.initializers].sort(byName).map(weight),
		graph.nodes.map(({ domain, op, inputs, outputs, attributes }) => [
			domain,
			op,
			inputs,
			outputs,
			attributes.map(({ name, value, tensor }) => [
				name,
				value,
				tensor === undefined ? null : weight(tensor),
			]),
		]),
		graph.subgraphs.map((inner) => wiringOf(inner.graph)),
	]);
}

const severities = {
	error: { style: "red", mark: "✗ error" },
	warning: { style: "yellow", mark: "! warning" },
	note: { style: "cyan", mark: "· note" },
} as const;
const maxOperators = 12;

export function renderPreflight(
	summary: ModelSummary,
	findings: readonly Finding[],
	options: { color?: boolean; tensorRt?: { version: string; findings: readonly Finding[] } } = {},
): string {
	const { color = false, tensorRt } = options;
	const lines = summaryRows(summary).map(([label, text]) => `${label.padEnd(10)} ${text}`);
	lines.push("");
	for (const { severity, code, message, fix } of findings) {
		const { mark, style } = severities[severity];
		lines.push(`${paint(mark, style, color)} ${paint(code, "dim", color)}`, `  ${message}`);
		if (fix !== undefined) lines.push(paint(`  → ${fix}`, "dim", color));
	}
	lines.push(`${capitalize(countsOf(findings))}.`);
	if (tensorRt !== undefined) {
		const { version, findings: others } = tensorRt;
		const list = others.length === 0 ? "" : `; trtgate preflight MODEL --tensorrt ${version} lists them`;
		lines.push(`This is for ONNX Runtime. For TensorRT ${version}: ${countsOf(others)}${list}.`);
	}
	return `${lines.join("\n")}\n`;
}

function countsOf(findings: readonly Finding[]) {
	const counts = Object.keys(severities).map((severity) =>
		counted(findings.filter((finding) => finding.severity === severity).length, severity),
	);
	return findings.length === 0 ? "nothing found" : counts.join(", ");
}

function summaryRows(summary: ModelSummary) {
	const { opsets, operators, weights, quantisation, nodes, subgraphs, functions } = summary;
	const { quantizeLinear, dequantizeLinear } = quantisation;
	const values = opsets.map(({ domain, version }) => `${plain(domain)} ${version}`);
	const named = operators.map(
		({ domain, operator, count }) =>
			`${plain(domain === "ai.onnx" ? operator : `${domain}.${operator}`)} ${count}`,
	);
	const stored = weights.map(({ dtype, tensors, bytes }) => `${tensors} × ${dtype} (${formatBytes(bytes)})`);
	const inner = [
		...(subgraphs > 0 ? [`${subgraphs} subgraphs`] : []),
		...(functions > 0 ? [`${functions} functions`] : []),
	];
	return [
		["model", `${plain(summary.path)} (${formatBytes(summary.bytes)})`],
		["made by", plain(`${summary.producer} ${summary.producerVersion}`.trim()) || "unknown"],
		["opset", [...values, `IR ${summary.irVersion}`].join(", ")],
		...summary.inputs.map((value) => ["input", valueText(value)] as const),
		...summary.outputs.map((value) => ["output", valueText(value)] as const),
		["nodes", [nodes, ...inner].join(", ")],
		["operators", listNames(named, maxOperators) || "none"],
		["weights", stored.join(", ") || "none"],
		...(quantizeLinear + dequantizeLinear === 0
			? []
			: [["quantised", `${quantizeLinear} QuantizeLinear, ${dequantizeLinear} DequantizeLinear`] as const]),
		["checked", inferredText(summary)],
		...summary.external.map(({ location, neededBytes, problem }) => {
			const size = `${plain(location)} (${formatBytes(neededBytes)})`;
			return ["data", problem === null ? size : `${size}: ${problem}`] as const;
		}),
	];
}

function valueText({ name, kind, dtype, dims }: ModelSummary["inputs"][number]) {
	const type = kind === "tensor" ? dtype : `${kind} of ${dtype}`;
	return `${plain(name)}: ${type} ${dims === null ? "of unknown shape" : formatDims(dims)}`;
}

function inferredText({ inferred: { tensors, shapes, types, stoppedAt } }: ModelSummary) {
	const text = `shapes of ${shapes} and types of ${types} of ${tensors} tensors inside`;
	if (shapes === tensors) return text;
	const named = stoppedAt.map(({ operator, count }) => `${plain(operator)} ${count}`);
	return `${text}; shapes not checked behind ${listNames(named) || "inputs without a shape"}`;
}

function plain(text: string) {
	return quoteName(text, "");
}
