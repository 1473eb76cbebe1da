import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { type ByteSource, memorySource } from "../../../src/formats/bytes/byte-source.ts";
import { findWeights, readOnnx } from "../../../src/formats/onnx/reader.ts";
import {
	bytesField as bytes,
	fieldHeader as header,
	integerField as integer,
	joinBytes as join,
	textField as text,
} from "../../../src/formats/onnx/write.ts";
import {
	attribute,
	externalTensor,
	floats,
	graph,
	int64s,
	model,
	modelOf,
	node,
	nodes,
	packed,
	type TensorInit,
	tensor,
	value,
} from "../../support/onnx-writer.ts";

function read(file: Uint8Array) {
	return readOnnx(memorySource(file), "m.onnx");
}

const refusal = (message: RegExp, fix = /./) =>
	expect.objectContaining({
		...{ code: "model-unreadable", location: { path: "m.onnx" } },
		...{ message: expect.stringMatching(message), fix: expect.stringMatching(fix) },
	});

const ascii = (words: string) => new TextEncoder().encode(words);
const fixture = (name: string) => readFileSync(`test/fixtures/models/${name}.onnx`);
const weightOf = (init: Uint8Array) => modelOf({ initializers: [init] }).graph.initializers[0];
const valuesOf = (...attributes: Uint8Array[]) =>
	modelOf({ nodes: [node({ op: "A", attributes })] }).graph.nodes[0]?.attributes.map((each) => each.value);

it.each<[what: string, file: Uint8Array, message: RegExp, fix?: RegExp]>([
	["an empty file", fixture("bad-empty"), /m\.onnx is empty \(0 bytes\)/, /failed export/],
	["a Git LFS pointer", fixture("bad-not-onnx"), /Git LFS pointer of 134 bytes/, /git lfs pull/],
	[
		"a truncated model",
		fixture("bad-truncated"),
		/truncated at byte 29967: what begins at byte 19 needs bytes up to 59928/,
		/size/,
	],
	[
		"an error page",
		ascii("<!DOCTYPE html>\n<title>404</title>"),
		/is a text file, .*<!DOCTYPE html>/,
		/error page/,
	],
	["a model without graph", join(integer(1, 8), text(2, "someone")), /contains no graph/, /exporter/],
	[
		"a damaged field",
		join(integer(1, 8), Uint8Array.of(0x6b)),
		/m\.onnx has a field of wire type 3, which ONNX does not use, at byte 3/,
	],
	["a wrong wire type", join(integer(1, 8), integer(7, 5)), /wire type 0 where 2 belongs/],
	[
		"a field that leaves its message",
		join(integer(1, 8), bytes(7, join(header(1, 50), ascii("short")))),
		/longer than the message that holds it/,
	],
	[
		"too many dimensions",
		model({ initializers: [tensor({ dims: Array.from({ length: 300 }, () => 1) })] }),
		/more than 255 dimensions/,
	],
	["a negative dimension", model({ initializers: [tensor({ dims: [-1] })] }), /negative dimension \(-1\)/],
	["a long name", model({ name: "n".repeat(1_100_000) }), /a name of 1100000 bytes/, /1048576/],
	[
		"an offset that is no number",
		model({ initializers: [externalTensor("w", [1], { location: "w.bin", offset: "-4" })] }),
		/gives "-4" as offset .* tensor "w"/,
	],
])("refuses %s", (...[, file, message, fix = /checker/]) => {
	expect(() => read(file)).toThrow(refusal(message, fix));
});

it("refuses subgraphs nested without end", () => {
	let inner = graph();
	for (let depth = 0; depth < 60; depth++)
		inner = graph({ nodes: nodes("y = If<then_branch=$0>(x)", inner) });
	const file = join(integer(1, 8), bytes(7, inner));
	expect(() => read(file)).toThrow(refusal(/nested too deep \(more than 100 messages\)/));
});

it("refuses more nodes than any model has, before they fill the memory", () => {
	const emptyNodes = Buffer.alloc(2_200_000, Uint8Array.of(0x0a, 0));
	const file = join(integer(1, 8), bytes(7, emptyNodes));
	expect(() => read(file)).toThrow(refusal(/contains more nodes, tensors and names than any model/));
});

it("reads fields in any order, unknown fields, and a graph in two pieces", () => {
	const first = graph({ outputs: [] });
	const second = bytes(12, value("y"));
	const unknown = [integer(99, 3), text(1000, "new")];
	const file = join(bytes(7, first), ...unknown, bytes(7, second), bytes(8, integer(2, 17)), integer(1, 8));
	const { irVersion, opsets, graph: whole } = read(file);
	expect([irVersion, { ...opsets }, whole.nodes.length, whole.outputs.length]).toEqual([8, { "": 17 }, 1, 1]);
});

it("reads numbers packed and unpacked", () => {
	const dims = (written: Uint8Array) => weightOf(join(written, integer(2, 1), text(8, "w")))?.dims;
	expect(dims(packed(1, [2, 3, 400]))).toEqual([2, 3, 400]);
	expect(dims(join(integer(1, 2), integer(1, 3), integer(1, 400)))).toEqual([2, 3, 400]);
	const ints = (written: Uint8Array) => valuesOf(join(text(1, "a"), written, integer(20, 7)))?.[0];
	expect(ints(packed(8, [1, 300, -2]))).toEqual([1, 300, -2]);
	expect(ints(join(integer(8, 1), integer(8, 300), integer(8, -2)))).toEqual([1, 300, -2]);
});

it("reads values in raw bytes and in typed fields, of at most 64 elements", () => {
	const values = (init: TensorInit) => weightOf(tensor(init))?.values;
	expect(values({ dims: [2], raw: floats(1.5, -2) })).toEqual([1.5, -2]);
	expect(values({ dims: [2], dtype: 7, raw: int64s(5, -6) })).toEqual([5, -6]);
	expect(values({ dims: [2], dtype: 7, more: packed(7, [5, -6]) })).toEqual([5, -6]);
	expect(values({ dims: [64], raw: new Uint8Array(256) })).toHaveLength(64);
	expect(values({ dims: [65], raw: new Uint8Array(260) })).toBeUndefined();
	expect(values({ dims: [2], raw: floats(1) })).toBeUndefined();
	expect(values({ dims: [], raw: floats(3) })).toEqual([3]);
});

it("reads the default of an attribute whose zero was left out", () => {
	const attributes = [1, 2, 3, 6, 7, 8].map((type) => join(text(1, `t${type}`), integer(20, type)));
	expect(valuesOf(...attributes)).toEqual([0, 0, "", [], [], []]);
});

it("reads long attributes only as far as they matter", () => {
	const engine = join(text(1, "engine"), bytes(4, new Uint8Array(5000)), integer(20, 3));
	expect(valuesOf(engine, attribute.integers("many", Array<number>(2000).fill(1)))).toEqual([null, null]);
});

it("reads where weights outside of the file lie", () => {
	const entries = { location: "w.bin", offset: "4096", length: "16", checksum: "x" };
	expect(weightOf(externalTensor("w", [4], entries))).toEqual({
		...{ name: "w", dtype: "float", dims: [4], bytes: 16, storage: "external" },
		external: { location: "w.bin", offset: 4096, length: 16 },
	});
	const whole = weightOf(externalTensor("w", [4], { location: "w.bin" }));
	expect(whole?.external).toEqual({ location: "w.bin", offset: 0, length: null });
});

it("reads negative sizes and nameless symbols as unknown dimensions, both spellings of the standard domain", () => {
	const { graph: whole, opsets } = modelOf({
		inputs: [value("x", [-1, "", 0, "n"])],
		nodes: "y = ai.onnx.Relu(x)",
		opsets: { "ai.onnx": 13 },
	});
	expect(whole.inputs[0]?.dims).toEqual([null, null, 0, "n"]);
	expect([whole.nodes[0]?.domain, { ...opsets }]).toEqual(["", { "": 13 }]);
});

function hugeSource(weightBytes: number): ByteSource & { bytesRead: number } {
	const before = join(integer(1, 8), bytes(8, integer(2, 17)));
	const rest = graph();
	const weightHead = join(integer(1, weightBytes / 4), integer(2, 1), text(8, "w"), header(9, weightBytes));
	const inGraph = join(header(5, weightHead.length + weightBytes), weightHead);
	const start = join(before, header(7, inGraph.length + weightBytes + rest.length), inGraph);
	const size = start.length + weightBytes + rest.length;
	const source = {
		size,
		bytesRead: 0,
		read(offset: number, length: number) {
			const result = new Uint8Array(Math.min(length, size - offset));
			source.bytesRead += result.length;
			result.set(start.subarray(offset, offset + length));
			const restAt = start.length + weightBytes - offset;
			if (restAt < result.length)
				result.set(rest.subarray(Math.max(0, -restAt), result.length - restAt), Math.max(0, restAt));
			return result;
		},
	};
	return source;
}

it("steps over a weight of 3 TiB and reads on behind it", () => {
	const source = hugeSource(3 * 2 ** 40);
	const read3 = readOnnx(source, "m.onnx");
	expect(read3.graph.initializers[0]).toMatchObject({ name: "w", bytes: 3 * 2 ** 40, dims: [3 * 2 ** 38] });
	expect(read3.graph.nodes[0]?.op).toBe("Relu");
	expect(read3.bytes).toBe(source.size);
	expect(source.bytesRead).toBeLessThan(64 * 1024);
});

it("refuses types nested without end", () => {
	let type = bytes(1, integer(1, 1));
	for (let depth = 0; depth < 200; depth++) type = bytes(4, bytes(1, type));
	const file = model({ inputs: [join(text(1, "x"), bytes(2, type))] });
	expect(() => read(file)).toThrow(refusal(/nested too deep/));
});

const find = (file: Uint8Array) => findWeights(memorySource(file), "m.onnx");

const floatsAt = (file: Uint8Array, { offset, bytes }: { offset: number; bytes: number }) => [
	...new Float32Array(file.slice(offset, offset + bytes).buffer),
];

it("findWeights finds raw bytes and packed numbers, and passes integers by", () => {
	const file = model({
		initializers: [
			tensor({ name: "raw", dims: [2], raw: floats(1, 2) }),
			tensor({ name: "typed", dims: [2], more: bytes(4, floats(3, 4)) }),
			tensor({ name: "shape", dtype: 7, dims: [1], raw: int64s(5) }),
		],
	});
	const { places, unplaced } = find(file);
	expect(places.map(({ name, dtype, dims, file: where }) => [name, dtype, dims, where])).toEqual([
		["raw", "float32", [2], null],
		["typed", "float32", [2], null],
	]);
	expect(places.map((place) => floatsAt(file, place))).toEqual([
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
	const constants = "table = Constant<value=#0>(); limit = Constant<value=#1>()";
	const inner = graph({ initializers: [tensor({ name: "inner", dims: [1], raw: floats(7) })] });
	const file = model({
		nodes: nodes(`${constants}; y = If<then_branch=$2>(x)`, large, small, inner),
		initializers: [external],
	});
	const { places } = find(file);
	expect(places.map(({ name, file: where }) => [name, where])).toEqual([
		["table", null],
		["inner", null],
		["far", "w.bin"],
	]);
	expect(places[2]?.offset).toBe(64);
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
});
