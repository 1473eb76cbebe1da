// Frames of the golden worker: whatever way they are cut, whatever a stranger sends.
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import {
	createFrameDecoder,
	encodeHeader,
	type Header,
	longestHeaderBytes,
	type RawFrame,
} from "../../../../src/golden/formats/worker/frames.ts";

const limits = { payloadBytes: 1_000_000 };

function encode(header: Header, payload: Uint8Array): Uint8Array {
	return Buffer.concat([encodeHeader(header, payload.length), payload]);
}

function decode(chunks: readonly Uint8Array[]): { frames: RawFrame[]; broken: string | null } {
	const decoder = createFrameDecoder(limits);
	const frames = chunks.flatMap((chunk) => decoder.push(chunk));
	return {
		frames: frames.map(({ header, payload }) => ({ header, payload: new Uint8Array(payload) })),
		broken: decoder.broken(),
	};
}

function prefix(fields: {
	magic?: string;
	version?: number;
	zero?: number;
	header?: number;
	payload?: bigint;
}): Uint8Array {
	const bytes = Buffer.alloc(20);
	bytes.write(fields.magic ?? "TGWF", 0, "latin1");
	bytes.writeUInt16LE(fields.version ?? 1, 4);
	bytes.writeUInt16LE(fields.zero ?? 0, 6);
	bytes.writeUInt32LE(fields.header ?? 2, 8);
	bytes.writeBigUInt64LE(fields.payload ?? 0n, 12);
	return bytes;
}

const anyFrame = fc.record({
	header: fc
		.dictionary(fc.string(), fc.jsonValue())
		.map((header): Header => JSON.parse(JSON.stringify(header))),
	payload: fc.uint8Array({ maxLength: 300 }),
});

it("frames come back as they were, cut at every byte", () => {
	const stream = Buffer.concat([
		encode({ kind: "a", text: "ÄÖ\u{1F600}" }, Uint8Array.of(1, 2, 3)),
		encode({}, new Uint8Array()),
		encode({ kind: "b" }, Uint8Array.of(9)),
	]);
	const whole = decode([stream]);
	expect(whole.frames.map(({ header }) => header)).toEqual([
		{ kind: "a", text: "ÄÖ\u{1F600}" },
		{},
		{ kind: "b" },
	]);
	for (let at = 0; at <= stream.length; at += 1)
		expect(decode([stream.subarray(0, at), stream.subarray(at)])).toEqual(whole);
	expect(decode(Array.from(stream, (byte) => Uint8Array.of(byte)))).toEqual(whole);
});

it("frames come back as they were, any frames in any pieces", () => {
	fc.assert(
		fc.property(
			fc.array(anyFrame, { maxLength: 6 }),
			fc.array(fc.nat(2_000), { maxLength: 12 }),
			(sent, cuts) => {
				const stream = Buffer.concat(sent.map(({ header, payload }) => encode(header, payload)));
				const places = [
					0,
					...cuts.map((cut) => Math.min(cut, stream.length)).sort((a, b) => a - b),
					stream.length,
				];
				const chunks = places.slice(1).map((end, index) => stream.subarray(places[index], end));
				expect(decode(chunks)).toEqual({ frames: sent, broken: null });
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
	["no header", Buffer.concat([prefix({ header: 0 })]), "a header is not JSON"],
	["a header that is a list", Buffer.concat([prefix({}), Buffer.from("[]")]), "a header is not an object"],
	["a header that is not UTF-8", Buffer.concat([prefix({}), Buffer.of(0xff, 0xfe)]), "a header is not JSON"],
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

it("frames of a real worker are read", () => {
	const stream = readFileSync("test/fixtures/tensorrt-worker/10.6/data-dependent.out");
	const { frames, broken } = decode([stream]);
	expect({ broken, kinds: frames.map(({ header }) => header["kind"]) }).toEqual({
		broken: null,
		kinds: ["hello", "result", "result", "result", "end"],
	});
});
