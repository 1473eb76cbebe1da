// Weights are found byte for byte wherever ONNX lets them lie.
import { expect, it } from "vitest";
import { memorySource } from "../../../src/formats/bytes/byte-source.ts";
import { findWeights } from "../../../src/formats/onnx/reader.ts";
import {
	bytesField as bytes,
	joinBytes as join,
	textField as text,
} from "../../../src/formats/onnx/write.ts";
import {
	externalTensor,
	floats,
	graph,
	int64s,
	model,
	nodes,
	packed,
	tensor,
} from "../../support/onnx-writer.ts";

const find = (file: Uint8Array) => findWeights(memorySource(file), "m.onnx");

function at(file: Uint8Array, place: { offset: number; bytes: number }): number[] {
	const copy = file.slice(place.offset, place.offset + place.bytes);
	return [...new Float32Array(copy.buffer)];
}

it("findWeights finds raw bytes and packed numbers, and passes integers by", () => {
	const typed = tensor({ name: "typed", dims: [2], more: bytes(4, floats(3, 4)) });
	const file = model({
		initializers: [
			tensor({ name: "raw", dims: [2], raw: floats(1, 2) }),
			typed,
			tensor({ name: "shape", dtype: 7, dims: [1], raw: int64s(5) }),
		],
	});
	const { places, unplaced } = find(file);
	expect(places.map(({ name, dtype, dims, file: where }) => [name, dtype, dims, where])).toEqual([
		["raw", "float32", [2], null],
		["typed", "float32", [2], null],
	]);
	expect(places.map((place) => at(file, place))).toEqual([
		[1, 2],
		[3, 4],
	]);
	expect(unplaced).toEqual([]);
});

it("findWeights finds half floats, and reports which cannot be changed in place", () => {
	const half = tensor({ name: "half", dtype: 10, dims: [2], raw: Uint8Array.of(0, 60, 0, 64) });
	const varints = tensor({ name: "varints", dtype: 10, dims: [2], more: packed(5, [15_360, 16_384]) });
	expect(find(model({ initializers: [half, varints] }))).toMatchObject({
		places: [{ name: "half", dtype: "float16", bytes: 4 }],
		unplaced: ["varints"],
	});
});

it("findWeights follows external data, constants and subgraphs", () => {
	const external = externalTensor("far", [4], { location: "w.bin", offset: "64", length: "16" });
	const large = tensor({ dims: [16], raw: floats(...Array.from({ length: 16 }, (_, index) => index)) });
	const small = tensor({ dims: [1], raw: floats(9) });
	const inner = graph({ initializers: [tensor({ name: "inner", dims: [1], raw: floats(7) })] });
	const file = model({
		nodes: nodes(
			"table = Constant<value=#0>(x); limit = Constant<value=#1>(x); y = If<then_branch=$2>(x)",
			large,
			small,
			inner,
		),
		initializers: [external],
	});
	expect(
		find(file)
			.places.map(({ name, file: where, offset }) => (where === null ? name : `${name} ${where} ${offset}`))
			.sort(),
	).toEqual(["far w.bin 64", "inner", "table"]);
});

it.each([
	["bytes that are not as many as the shape says", tensor({ name: "w", dims: [5], raw: floats(1, 2) })],
	["external data that is too short", externalTensor("w", [4], { location: "w.bin", length: "4" })],
])("findWeights places nothing for %s", (_, initializer) => {
	expect(find(model({ initializers: [initializer] })).places).toEqual([]);
});

it("findWeights refuses a truncated file", () => {
	const file = model({ initializers: [tensor({ name: "w", dims: [2], raw: floats(1, 2) })] });
	expect(() => find(file.subarray(0, 30))).toThrow(/truncated|damaged/);
	expect(join(text(1, "x")).length).toBe(3);
});
