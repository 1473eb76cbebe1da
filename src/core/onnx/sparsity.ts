// The 2:4 pattern of weights: of four values along the reduction axis at least two are zero (NVIDIA's structured sparsity).
import type { Finding } from "../../../generated/result.ts";
import { quoteName } from "../text/escape.ts";
import { counted } from "../text/labels.ts";
import { formatCount, formatPercent } from "../text/units.ts";
import { finding } from "./findings/subject.ts";
import type { OnnxGraph, OnnxNode } from "./model.ts";
import { integerAttribute } from "./static-shapes/operator.ts";

interface PrunableWeight {
	name: string;
	node: OnnxNode;
	/** Of the initialiser; the input channels of a convolution, K of a product. */
	axis: number;
}

const passes = new Set(["Cast", "DequantizeLinear", "Identity", "QuantizeLinear"]);

/** Weights of Conv, Gemm and MatMul with at least four values on the reduction axis: depthwise ones have fewer. */
export function prunableWeights({ nodes, initializers }: OnnxGraph): PrunableWeight[] {
	const writers = new Map(nodes.flatMap((node) => node.outputs.map((output) => [output, node] as const)));
	const sizes = new Map(initializers.map(({ name, dims }) => [name, dims]));
	const found = nodes.flatMap((node) => {
		let name = node.inputs[1] ?? "";
		const seen = new Set<string>();
		for (let from = writers.get(name); from !== undefined && passes.has(from.op) && !seen.has(name); ) {
			seen.add(name);
			name = from.inputs[0] ?? "";
			from = writers.get(name);
		}
		const dims = sizes.get(name) ?? [];
		const axes: Record<string, number> = {
			Conv: 1,
			Gemm: node.op === "Gemm" ? integerAttribute(node, "transB", 0) : 0,
			MatMul: dims.length - 2,
		};
		const axis = axes[node.op];
		return axis !== undefined && (dims[axis] ?? 0) >= 4 ? [{ name, node, axis }] : [];
	});
	return [...new Map(found.map((one) => [one.name, one])).values()];
}

/** Bit patterns of one type, without the sign. */
const words = {
	float32: [Uint32Array, 0x7fffffff],
	float16: [Uint16Array, 0x7fff],
	bfloat16: [Uint16Array, 0x7fff],
	int8: [Uint8Array, 0xff],
} as const;
const maxColumns = 2 ** 24;

/** Counts groups in bytes fed in order, in whole elements; null: a type without the pattern, or rows too long. */
export function countGroups(dims: readonly number[], axis: number, dtype: string) {
	const size = dims[axis] ?? 1;
	const inner = dims.slice(axis + 1).reduce((product, each) => product * each, 1);
	const known = words[dtype as keyof typeof words];
	if (known === undefined || inner > maxColumns) return null;
	const [Words, mask] = known;
	const filled = new Uint8Array(inner);
	let [column, place, groups, broken] = [0, 0, 0, 0];
	let isLast = size === 1;
	const close = () => {
		groups += 1;
		if ((filled[column] ?? 0) > 2) broken += 1;
		filled[column] = 0;
	};
	const enterRow = () => {
		[column, place] = [0, (place + 1) % size];
		isLast = place % 4 === 3 || place === size - 1;
	};
	/** Within one row; a closed loop, since models have billions of weights. */
	const count = (values: ArrayLike<number>, from: number, to: number) => {
		for (let at = from; at < to; at += 1, column += 1) {
			if (((values[at] ?? 0) & mask) !== 0) filled[column] = (filled[column] ?? 0) + 1;
			if (isLast) close();
		}
	};
	const feed = (bytes: Uint8Array) => {
		// A copy is aligned.
		const values = new Words(bytes.slice().buffer);
		for (let at = 0; at < values.length; ) {
			const end = Math.min(values.length, at + inner - column);
			count(values, at, end);
			at = end;
			if (column === inner) enterRow();
		}
	};
	return { feed, result: () => ({ groups, broken }) };
}

export interface WeightPattern extends PrunableWeight {
	elements: number;
	groups: number;
	broken: number;
}

/** What `--sparsity=enable` finds in the head's weights; a pattern that the base has is not to be lost. */
export function sparsityFindings(
	base: readonly WeightPattern[] | null,
	head: readonly WeightPattern[],
): Finding[] {
	const sum = (some: readonly WeightPattern[]) => some.reduce((total, one) => total + one.elements, 0);
	const fit = head.filter(({ broken }) => broken === 0);
	const share = head.length === 0 ? 0 : sum(fit) / sum(head);
	const text = `--sparsity=enable: ${fit.length} of ${counted(head.length, "weight")} (${formatPercent(share)} of their values) have two zeros in every four along the reduction axis.`;
	const lost = head.filter((one) => {
		// Exporters number weights anew, or nodes.
		const same = (base ?? []).filter(
			({ name, node, groups }) =>
				groups === one.groups && (name === one.name || (node.name !== "" && node.name === one.node.name)),
		);
		return one.broken > 0 && same.length > 0 && same.every(({ broken }) => broken === 0);
	});
	return [
		finding("sparsity-share", text),
		...lost.map(({ name, node, axis, groups, broken }) =>
			finding(
				"sparsity-lost",
				`Weight ${quoteName(name)} lost its 2:4 pattern: ${formatCount(broken)} of ${counted(groups, "group")} of four along axis ${axis} ${broken === 1 ? "has" : "have"} fewer than two zeros; in the base none.`,
				{ node },
			),
		),
	];
}
