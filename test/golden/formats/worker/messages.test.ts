import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Tensor } from "../../../../src/golden/core/tensor/tensor.ts";
import {
	createFrameDecoder,
	encodeHeader,
	type Header,
	longestHeaderBytes,
	type RawFrame,
} from "../../../../src/golden/formats/worker/frames.ts";
import {
	encodeCase,
	parseMessage,
	type WorkerMessage,
} from "../../../../src/golden/formats/worker/messages.ts";
import { int64 } from "../../../support/tensorrt-worker.ts";

const folder = "test/fixtures/tensorrt-worker/10.6";

function encode(header: Header, payload: Uint8Array): Uint8Array {
	return Buffer.concat([encodeHeader(header, payload.length), payload]);
}

function decode(chunks: Uint8Array[]): { frames: RawFrame[]; broken: string | null } {
	const decoder = createFrameDecoder({ payloadBytes: 1_000_000 });
	const frames = chunks.flatMap((chunk) => decoder.push(chunk));
	return {
		frames: frames.map(({ header, payload }) => ({ header, payload: new Uint8Array(payload) })),
		broken: decoder.broken(),
	};
}

function prefix({ magic = "TGWF", version = 1, zero = 0, header = 2, payload = 0n } = {}): Uint8Array {
	const bytes = Buffer.alloc(20);
	bytes.write(magic, 0, "latin1");
	bytes.writeUInt16LE(version, 4);
	bytes.writeUInt16LE(zero, 6);
	bytes.writeUInt32LE(header, 8);
	bytes.writeBigUInt64LE(payload, 12);
	return bytes;
}

function recorded(name: string): (WorkerMessage | string)[] {
	const { frames, broken } = decode([readFileSync(join(folder, `${name}.out`))]);
	expect(broken).toBeNull();
	return frames.map(parseMessage);
}

function parse(header: Header, payload = new Uint8Array()): WorkerMessage | string {
	return parseMessage({ header, payload });
}

it.each(readdirSync(folder).filter((name) => name.endsWith(".out")))(
	"a real worker are all understood: %s",
	(name) => {
		const messages = recorded(name.slice(0, -4));
		expect(messages.filter((message) => typeof message === "string")).toEqual([]);
		expect(messages.at(-1)).toMatchObject(
			name === "not-a-plan.out" ? { kind: "error", fatal: true, code: "plan" } : { kind: "end" },
		);
	},
);

it("a real worker begin with its version and the engine's inputs", () => {
	expect(recorded("data-dependent")[0]).toEqual({
		kind: "hello",
		tensorrt: "10.6.0",
		device: "NVIDIA H200",
		engine: { inputs: [expect.objectContaining({ name: "x", dtype: "float32" })] },
	});
});

it("a real worker hold outputs of shapes that the data decides", () => {
	const [, three, none] = recorded("data-dependent");
	expect(three).toMatchObject({ id: "three", outputs: { y: int64([2, 4], [0, 1, 2, 3, 0, 1, 2, 3]) } });
	expect(none).toMatchObject({ id: "none", outputs: { y: int64([2, 0], []) } });
});

it("a real worker name the case that failed", () => {
	const error = { kind: "error", fatal: false };
	expect(recorded("conditional")[3]).toMatchObject({ ...error, id: "without", code: "input" });
	expect(recorded("shape-tensor")[2]).toMatchObject({ ...error, id: "outside", code: "shape" });
});

it("a real worker carry FP8 under the name that goldens have for it", () => {
	expect(recorded("fp8")[1]).toMatchObject({ kind: "result", outputs: { y: { dtype: "float8e4m3fn" } } });
});

it("messages to a worker match those that the real one accepted, byte for byte", () => {
	const x = (values: number[]): Record<string, Tensor> => ({ x: int64([values.length], values) });
	const pieces = [
		...encodeCase("a", x([1, -2, 3, 2 ** 40])),
		...encodeCase("short", x([1, 2])),
		encodeHeader({ kind: "end" }),
	];
	expect(Buffer.concat(pieces).equals(readFileSync(join(folder, "int64.in")))).toBe(true);
});

it("messages to a worker do not copy tensors and have no piece for an empty one", () => {
	const [x, empty] = [int64([1], [7]), int64([0], [])];
	const pieces = encodeCase("a", { x, empty });
	expect(pieces).toHaveLength(2);
	expect(pieces[1]).toBe(x.data);
});

const tensor = { name: "y", dtype: "int8", shape: [2], bytes: 2 };
const half = { ...tensor, shape: [1], bytes: 1 };
const result = (tensors: unknown, payload = Uint8Array.of(1, 2)): WorkerMessage | string =>
	parse({ kind: "result", id: "a", tensors }, payload);

it.each<[string, unknown, string]>([
	["no list", {}, "a result without a case"],
	["a tensor without a name", [{ ...tensor, name: 1 }], "a result with an unreadable tensor"],
	["a negative size", [{ ...tensor, shape: [-2] }], "a result with an unreadable tensor"],
	["a size that is no integer", [{ ...tensor, shape: [0.5] }], "a result with an unreadable tensor"],
	["fewer bytes than its shape", [{ ...tensor, shape: [3] }], "output y has 2 bytes, expected 3"],
	["more bytes than came", [{ ...tensor, shape: [3], bytes: 3 }], "output y has 2 bytes, expected 3"],
	["bytes of nobody", [], "a result with 2 bytes of tensors, expected 0"],
	["one output twice", [half, half], "output y twice in one result"],
	[
		"bytes of an unknown type beyond its end",
		[{ ...tensor, dtype: "float8_e8m0", bytes: 9 }],
		"a result with 2 bytes of tensors, expected 9",
	],
])("hostile messages are refused with %s", (_, tensors, reason) => {
	expect(result(tensors)).toBe(reason);
});

it("hostile messages may call an output __proto__, or its type constructor", () => {
	const message = result([{ ...tensor, name: "__proto__" }]);
	expect(typeof message !== "string" && message.kind === "result" && Object.entries(message.outputs)).toEqual(
		[["__proto__", { dtype: "int8", shape: [2], data: Uint8Array.of(1, 2) }]],
	);
	expect(result([{ ...tensor, dtype: "constructor" }])).toMatchObject({ code: "unsupported-output" });
});

const start = { parts: { read: 1.5, first: 2 }, runs: [1, 1], cold: false };
const soak = {
	phase: "reloads",
	steps: 2,
	shapes: 1,
	samples: [
		[1, 2],
		[1, 2, 3, 4],
	],
};

it.each<[string, Record<string, unknown>, boolean]>([
	["a start", start, true],
	["a soak", soak, true],
	["parts that are no times", { ...start, parts: { read: "1" } }, false],
	["no runs", { ...start, runs: [] }, false],
	["a sample that is no list", { ...soak, samples: [1] }, false],
	["steps that are no number", { ...soak, steps: null }, false],
	["nothing", {}, false],
])("figures with %s are read: %s", (_, figures, isRead) => {
	const message = parse({ kind: "figures", id: "a", ...figures }, new Uint8Array());
	expect(message).toEqual(
		isRead ? expect.objectContaining({ kind: "result", id: "a" }) : "figures that cannot be read",
	);
	if (typeof message !== "string" && message.kind === "result")
		expect(message.figures).toMatchObject(figures);
});

it("hostile messages never make the reader throw", () => {
	const words = "kind id tensors code message fatal engine device tensorrt inputs";
	const word = fc.constantFrom(...words.split(" "));
	const kind = fc.constantFrom("hello", "result", "error", "end", "case", 7, null);
	fc.assert(
		fc.property(fc.dictionary(word, fc.jsonValue()), kind, fc.uint8Array(), (header, said, payload) => {
			expect(() => parse({ ...header, kind: said }, payload)).not.toThrow();
		}),
	);
});

const anyFrame = fc.record({
	header: fc
		.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue())
		.map((header): Header => JSON.parse(JSON.stringify(header))),
	payload: fc.uint8Array({ maxLength: 300 }),
});

it("frames come back as they were, any frames in any pieces", () => {
	fc.assert(
		fc.property(
			fc.array(anyFrame, { maxLength: 6 }),
			fc.array(fc.nat(2_000), { maxLength: 12 }),
			(sent, cuts) => {
				const stream = Buffer.concat(sent.map(({ header, payload }) => encode(header, payload)));
				const inner = cuts.map((cut) => Math.min(cut, stream.length)).sort((a, b) => a - b);
				const places = [0, ...inner, stream.length];
				const chunks = places.slice(1).map((end, index) => stream.subarray(places[index], end));
				const whole = { frames: sent, broken: null };
				expect(decode(chunks)).toEqual(whole);
				expect(decode(Array.from(stream, (byte) => Uint8Array.of(byte)))).toEqual(whole);
			},
		),
	);
});

it("frames never throw on noise, and report nothing once they are broken", () => {
	fc.assert(
		fc.property(fc.uint8Array({ minLength: 20, maxLength: 200 }), (noise) => {
			const { frames, broken } = decode([noise, encode({ kind: "end" }, new Uint8Array())]);
			expect(frames).toEqual([]);
			expect(broken).toBe("the output is not made of frames");
		}),
	);
});

it.each<[string, Uint8Array, string]>([
	["other magic", prefix({ magic: "GET " }), "the output is not made of frames"],
	["another version", prefix({ version: 2 }), "protocol version 2, expected 1"],
	["set reserved bytes", prefix({ zero: 1 }), "the output is not made of frames"],
	[
		"a long header",
		prefix({ header: 0xffff_ffff }),
		`a header of 4294967295 bytes; at most ${longestHeaderBytes} are allowed`,
	],
	[
		"a long payload",
		prefix({ payload: 1_000_001n }),
		"a payload of 1000001 bytes; at most 1000000 are allowed",
	],
	[
		"an absurd payload",
		prefix({ payload: 0xffff_ffff_ffff_ffffn }),
		"a payload of 18446744073709551615 bytes; at most 1000000 are allowed",
	],
	["no header", prefix({ header: 0 }), "a header is not JSON"],
	["a header that is a list", Buffer.concat([prefix(), Buffer.from("[]")]), "a header is not an object"],
	["a header that is not UTF-8", Buffer.concat([prefix(), Buffer.of(0xff, 0xfe)]), "a header is not JSON"],
])("frames are refused with %s", (_, bytes, reason) => {
	expect(decode([bytes])).toEqual({ frames: [], broken: reason });
});

it("frames allocate no memory for a payload that is announced and does not arrive", () => {
	const decoders = Array.from({ length: 200 }, () => createFrameDecoder({ payloadBytes: 2 ** 31 }));
	const before = process.memoryUsage().arrayBuffers;
	for (const decoder of decoders)
		decoder.push(Buffer.concat([prefix({ payload: 2n ** 31n }), Buffer.from("{}")]));
	expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(200 * 200_000);
});
