import fc from "fast-check";
import { expect, it } from "vitest";
import {
	countGroups,
	prunableWeights,
	sparsityFindings,
	type WeightPattern,
} from "../../../src/core/onnx/sparsity.ts";
import { modelOf, tensor } from "../../support/onnx-writer.ts";

interface Pruned {
	dims: readonly number[];
	axis: number;
	values: Float32Array;
	/** A group of four: its first index, and the step between its values. */
	groups: readonly (readonly number[])[];
}

/** Pruned exactly: two random places of every four along the axis are zero, of either sign. */
const pruned = fc
	.record({
		outer: fc.integer({ min: 1, max: 3 }),
		size: fc.integer({ min: 4, max: 13 }),
		inner: fc.integer({ min: 1, max: 5 }),
		seed: fc.infiniteStream(fc.nat(2 ** 16)),
	})
	.map(({ outer, size, inner, seed }): Pruned => {
		const draw = () => Number(seed.next().value);
		const values = Float32Array.from({ length: outer * size * inner }, () => 1 + draw());
		const groups: number[][] = [];
		for (let row = 0; row < outer; row += 1)
			for (let column = 0; column < inner; column += 1)
				for (let from = 0; from < size; from += 4) {
					const places = Array.from(
						{ length: Math.min(4, size - from) },
						(_, at) => (row * size + from + at) * inner + column,
					);
					groups.push(places);
					const first = draw() % places.length;
					const second = (first + 1 + (draw() % 3)) % places.length;
					for (const at of [first, second]) values[places[at]!] = draw() % 2 === 0 ? 0 : -0;
				}
		return { dims: [outer, size, inner], axis: 1, values, groups };
	});

function counted({ dims, axis, values }: Pruned, chunk = 4 * values.length) {
	const counter = countGroups(dims, axis, "float32")!;
	const bytes = new Uint8Array(values.buffer);
	for (let at = 0; at < bytes.length; at += chunk) counter.feed(bytes.slice(at, at + chunk));
	return counter.result();
}

it("a pruned tensor has no broken group, and one filled group is found, in chunks of any size", () => {
	fc.assert(
		fc.property(pruned, fc.nat(), fc.integer({ min: 1, max: 9 }), (one, which, words) => {
			expect(counted(one, 4 * words)).toEqual({ groups: one.groups.length, broken: 0 });
			const full = one.groups.filter(({ length }) => length >= 3);
			const group = full[which % full.length]!;
			for (const at of group) one.values[at] = 7;
			expect(counted(one, 4 * words)).toEqual({ groups: one.groups.length, broken: 1 });
		}),
		{ numRuns: 1000 },
	);
});

it.each([
	["float16", [0x3c00, 0x8000, 0, 0xbc00], 0],
	["bfloat16", [0x3f80, 0x8000, 0x3f80, 0x3f80], 1],
	["int8", [0x80, 0, 1, 0], 0],
	["int8", [0x80, 1, 1, 0], 1],
] as const)("%s values %j have %d broken groups", (dtype, values, broken) => {
	const counter = countGroups([4], 0, dtype)!;
	counter.feed(dtype === "int8" ? Uint8Array.from(values) : new Uint8Array(Uint16Array.from(values).buffer));
	expect(counter.result()).toEqual({ groups: 1, broken });
});

it("types without the pattern and rows beyond all measure are not counted", () => {
	expect(countGroups([4], 0, "float64")).toBeNull();
	expect(countGroups([4, 2 ** 25], 0, "float32")).toBeNull();
});

const weight = (name: string, ...dims: number[]) => tensor({ name, dims });

it("weights of products count along their reduction axis, through Q/DQ; depthwise convolutions do not", () => {
	const { graph } = modelOf({
		nodes:
			"a = Conv(x, c); b = Conv<group=8>(a, depthwise); q = QuantizeLinear(w, s); d = DequantizeLinear(q, s); e = MatMul(b, d); f = Gemm(e, g); h = Gemm<transB=1>(f, t); y = Gemm(h, t)",
		initializers: [
			weight("c", 8, 4, 3, 3),
			weight("depthwise", 8, 1, 3, 3),
			weight("w", 2, 8, 5),
			weight("g", 6, 5),
			weight("t", 5, 6),
		],
	});
	expect(prunableWeights(graph).map(({ name, axis }) => [name, axis])).toEqual([
		["c", 1],
		["w", 1],
		["g", 0],
		["t", 0],
	]);
	const loop = modelOf({ nodes: "a = Identity(b); b = Identity(a); y = MatMul(x, a)" });
	expect(prunableWeights(loop.graph)).toEqual([]);
});

it("only a weight that had the pattern in the base is a warning, with its tensor and its node", () => {
	const [one, two] = prunableWeights(
		modelOf({
			nodes: "[first] a = MatMul(x, w); [second] y = MatMul(a, v)",
			initializers: [weight("w", 8, 8), weight("v", 8, 24)],
		}).graph,
	).map((found, at) => ({ ...found, elements: 64 + 128 * at, groups: 16 + 32 * at, broken: 0 }));
	const found = sparsityFindings(
		[one!, { ...two!, broken: 3 }],
		[
			{ ...one!, broken: 1 },
			{ ...two!, broken: 4 },
		],
	);
	expect(found.map(({ code, severity, node }) => [code, severity, node])).toEqual([
		["sparsity-share", "note", undefined],
		["sparsity-lost", "warning", "first"],
	]);
	expect(found[1]?.message).toBe(
		'Weight "w" lost its 2:4 pattern: 1 of 16 groups of four along axis 0 has fewer than two zeros; in the base none.',
	);
	const again = { ...one!, name: "onnx::MatMul_7", broken: 2048 };
	const lostIn = (base: WeightPattern[], head: WeightPattern) =>
		sparsityFindings(base, [head]).flatMap(({ code, message }) =>
			code === "sparsity-lost" ? [message] : [],
		);
	// The export numbers its weights anew: the node tells which is which, and another one of that name does not.
	expect(lostIn([one!], again)[0]).toMatch(/^Weight "onnx::MatMul_7" lost its 2:4 pattern: 2,048 of 16/);
	expect(lostIn([{ ...two!, name: again.name }], again)).toEqual([]);
	expect(
		lostIn(
			[
				{ ...one!, broken: 1 },
				{ ...two!, name: again.name, groups: 16 },
			],
			again,
		),
	).toEqual([]);
	expect(sparsityFindings(null, [one!, { ...two!, broken: 4 }])[0]?.message).toContain(
		"1 of 2 weights (25.0 % of",
	);
});
