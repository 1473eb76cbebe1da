// The part of a graph that no input reaches; and the nodes that round one tensor to a precision and give it back as float.
import { drawing } from "../findings/operators.ts";
import type { NewNode, OnnxModel, OnnxNode } from "../model.ts";
import { factsOf, type ModelFacts } from "../static-shapes/infer.ts";
import { textAttribute } from "../static-shapes/operator.ts";
import type { Scope } from "../walk.ts";

export type RoundedPrecision = "fp16" | "bf16" | "tf32";

export interface Rounding {
	precision: RoundedPrecision;
	opset: number;
	freshName(base: string): string;
}

const codes = { fp16: 10, bf16: 16 } as const;
const floatCode = 1;
const oldestBrainOpset = 13;
/** 2^s + 1, where s of binary32's 24 bits are dropped: Veltkamp's splitting, exact but for overflow and ties. */
const splitters = { bf16: 2 ** 16 + 1, tf32: 2 ** 13 + 1 } as const;

/** Values that would become 0 or infinite stay as they are; `unguarded` has 0, infinities and NaN there. */
export function roundingNodes(
	rounding: Rounding,
	from: string,
	to: string,
): { nodes: NewNode[]; unguarded: string } {
	const [unguarded, one, beyond] = ["unguarded", "one", "beyond"].map((name) =>
		rounding.freshName(`trtgate_${name}`),
	) as [string, string, string];
	const nodes: NewNode[] = [
		...plainNodes(rounding, from, unguarded),
		// ∞ ÷ ∞, NaN ÷ NaN and 0 ÷ 0 are NaN, all else is 1.
		{ op: "Div", inputs: [unguarded, unguarded], outputs: [one] },
		{ op: "IsNaN", inputs: [one], outputs: [beyond] },
		{ op: "Where", inputs: [beyond, from, unguarded], outputs: [to] },
	];
	return { nodes, unguarded };
}

function plainNodes({ precision, opset, freshName }: Rounding, from: string, to: string): NewNode[] {
	if (precision === "fp16" || (precision === "bf16" && opset >= oldestBrainOpset)) {
		const small = freshName("trtgate_small");
		return [
			{ op: "Cast", inputs: [from], outputs: [small], attributes: { to: codes[precision] } },
			{ op: "Cast", inputs: [small], outputs: [to], attributes: { to: floatCode } },
		];
	}
	const [splitter, large, rest] = [
		freshName("trtgate_splitter"),
		freshName("trtgate_large"),
		freshName("trtgate_rest"),
	];
	return [
		{
			op: "Constant",
			inputs: [],
			outputs: [splitter],
			attributes: { value: { dtype: "float", dims: [], values: [splitters[precision]] } },
		},
		{ op: "Mul", inputs: [from, splitter], outputs: [large] },
		{ op: "Sub", inputs: [large, from], outputs: [rest] },
		{ op: "Sub", inputs: [large, rest], outputs: [to] },
	];
}

const keeping = new Set(
	(
		"Identity Reshape Transpose Squeeze Unsqueeze Flatten Concat Slice Split Gather GatherElements GatherND Expand Tile Pad MaxPool " +
		"GlobalMaxPool Relu Max Min Clip Neg Abs Sign Floor Ceil Round DepthToSpace SpaceToDepth ReduceMax ReduceMin Dropout TopK Where " +
		"ScatterElements Scatter ScatterND ReverseSequence Trilu Compress Unique OneHot If Loop Scan"
	).split(" "),
);

export function keepsRounding(node: OnnxNode): boolean {
	if (/^(Resize|Upsample)$/.test(node.op)) return (textAttribute(node, "mode") ?? "nearest") === "nearest";
	return keeping.has(node.op) || quantises(node);
}

const settings: Readonly<Record<string, readonly number[]>> = {
	BatchNormalization: [1, 2, 3, 4],
	Resize: [1, 2, 3],
	Upsample: [1],
	NonMaxSuppression: [2, 3, 4],
	Range: [0, 1, 2],
	Dropout: [1, 2],
};

export function neverRounded(node: OnnxNode, slot: number): boolean {
	return settings[node.op]?.includes(slot) === true || quantises(node);
}

const integers: readonly unknown[] = [2, 3, 4, 5, 6, 7, 9, 12, 13];

export function quantises(node: OnnxNode): boolean {
	if (node.op === "Cast")
		return node.attributes.some(({ name, value }) => name === "to" && integers.includes(value));
	return /^(Q(uantize)?Linear|DequantizeLinear|DynamicQuantize|MatMulInteger|ConvInteger|QAttention|QGemm|QEmbed|QMoE)/.test(
		node.op,
	);
}

export const products: ReadonlySet<string> = new Set([
	"Conv",
	"ConvTranspose",
	"MatMul",
	"Gemm",
	"Einsum",
	"LSTM",
	"GRU",
	"RNN",
]);

/** Their results depend on shapes alone, which are known before any value is computed. */
const ofShapes = new Set(["Shape", "Size"]);
const quantising = new Set(["QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"]);

export interface FixedTensors {
	constants: ReadonlySet<string>;
	/** Also what is computed from shapes: engines compute it in full precision. */
	fixed: ReadonlySet<string>;
	dequantised: ReadonlySet<string>;
}

export function findFixed(scope: Scope, outer: FixedTensors | null): FixedTensors {
	const constants = new Set([...(outer?.constants ?? []), ...scope.initializers.map(({ name }) => name)]);
	const fixed = new Set([...(outer?.fixed ?? []), ...constants]);
	const dequantised = new Set(outer?.dequantised);
	const withBodies = new Set(scope.subgraphs.map(({ nodeIndex }) => nodeIndex));
	for (const [index, node] of scope.nodes.entries()) {
		if (withBodies.has(index) || drawing.has(node.op)) continue;
		if (isComputedFrom(constants, node)) addAll(constants, node.outputs);
		if (!isComputedFrom(fixed, node) && !ofShapes.has(node.op)) continue;
		addAll(fixed, node.outputs);
		if (quantising.has(node.op) || dequantised.has(node.inputs[0] ?? "")) addAll(dequantised, node.outputs);
	}
	return { constants, fixed, dequantised };
}

function addAll(to: Set<string>, names: readonly string[]) {
	for (const name of names) to.add(name);
}

function isComputedFrom(known: ReadonlySet<string>, { op, inputs }: OnnxNode) {
	const read = inputs.filter((name) => name !== "");
	return read.length > 0 ? read.every((name) => known.has(name)) : op === "Constant";
}

export interface RoundingFacts extends ModelFacts {
	readers: ReadonlyMap<string, number>;
	freshName(base: string): string;
}

export function roundingFacts(model: OnnxModel): RoundingFacts {
	const facts = factsOf(model);
	const readers = new Map<string, number>();
	const known = new Set<string>();
	for (const { inputs, initializers, nodes, outputs } of facts.scopes) {
		for (const name of [...outputs, ...nodes.flatMap((node) => node.inputs)])
			readers.set(name, (readers.get(name) ?? 0) + 1);
		addAll(known, inputs);
		for (const { name } of initializers) known.add(name);
		for (const node of nodes) addAll(known, node.outputs);
	}
	const freshName = (base: string) => {
		let name = base;
		for (let turn = 2; known.has(name); turn += 1) name = `${base}_${turn}`;
		known.add(name);
		return name;
	};
	return { ...facts, readers, freshName };
}
