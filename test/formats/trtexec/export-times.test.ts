import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createTimesParser, type TimesResult } from "../../../src/formats/trtexec/export-times.ts";

const recorded = gunzipSync(
	readFileSync(new URL("../../fixtures/trtexec-exports/times-encoder.json.gz", import.meta.url)),
);

type Entry = Record<string, number>;

function parse(data: Uint8Array, chunkBytes = 65_536) {
	const parser = createTimesParser();
	for (let at = 0; at < data.length; at += chunkBytes) parser.push(data.subarray(at, at + chunkBytes));
	return parser.end();
}

const parseText = (text: string, chunkBytes?: number) => parse(new TextEncoder().encode(text), chunkBytes);

function columns(result: TimesResult) {
	if (result.state !== "ok") throw new Error(result.fault);
	return result.times;
}

const entries = JSON.parse(recorded.toString("utf8")) as Entry[];
const keys = Object.keys(entries[0] ?? {});
const entryOf = (value: string) =>
	`{ ${keys.map((key, index) => `"${key}" : ${index === 9 ? value : index}`).join(", ")} }`;

it("createTimesParser agrees with JSON.parse on a recorded file", () => {
	const times = columns(parse(recorded));
	const column = (of: (entry: Entry) => number) => Float64Array.from(entries, of);
	expect(times).toEqual({
		iterations: entries.length,
		computeMs: column((entry) => entry["computeMs"]!),
		latencyMs: column((entry) => entry["latencyMs"]!),
		enqueueMs: column((entry) => entry["endEnqMs"]! - entry["startEnqMs"]!),
		startMs: column((entry) => entry["startComputeMs"]! - entries[0]!["startComputeMs"]!),
		wallMs: entries.at(-1)!["endD2hMs"]! - entries[0]!["startH2dMs"]!,
	});
});

it("createTimesParser gives the same however the bytes are cut", () => {
	const whole = columns(parse(recorded));
	for (const chunkBytes of [1, 7, 100, 271, 513, 4099])
		expect(columns(parse(recorded, chunkBytes))).toEqual(whole);
});

it("createTimesParser reads any way to write the same numbers", () => {
	const number = fc.oneof(
		fc.double({ min: 0, max: 1e6, noNaN: true }),
		fc.integer({ min: 0, max: 1e9 }),
		fc.constantFrom(0.1, 1e-7, 123456789.125, 5e-324),
	);
	fc.assert(
		fc.property(
			fc.array(fc.array(number, { minLength: 12, maxLength: 12 }), { minLength: 1, maxLength: 8 }),
			fc.boolean(),
			(rows, dense) => {
				const entries = rows.map((row) =>
					Object.fromEntries(keys.map((key, index) => [key, row[index] ?? 0])),
				);
				const text = JSON.stringify(entries, null, dense ? 0 : 2);
				expect([...columns(parseText(text)).computeMs]).toEqual(entries.map((entry) => entry["computeMs"]));
			},
		),
		{ numRuns: 100 },
	);
});

it("createTimesParser names a file that ends too early, wherever it is cut", () => {
	for (const bytes of [0, 1, 40, 300, 600, 50_000, recorded.length - 3])
		expect(parse(recorded.subarray(0, bytes))).toMatchObject({ state: "broken", fault: "truncated" });
});

it("createTimesParser refuses values that are no numbers", () => {
	for (const value of ["nan", "-nan", "inf", "-inf", "NaN", "Infinity", "1e999"])
		expect(parseText(`[ ${entryOf(value)} ]`)).toMatchObject({ state: "broken", fault: "not-finite" });
});

it("createTimesParser refuses files that trtexec does not write", () => {
	const good = entryOf("1");
	for (const text of [
		"{}",
		"[1]",
		`[${good}${good}]`,
		`[,${good}]`,
		`[${good},]`,
		`[${good}]]`,
		`[${good}] x`,
		'[{"computeMs":1}]',
		`[${entryOf('"1"')}]`,
		`[${entryOf("-1")}]`,
		`[${entryOf("1.")}]`,
		`[${entryOf(".5")}]`,
		`[${entryOf("{}")}]`,
		`[{${"x".repeat(10_000)}`,
	]) {
		expect(parseText(text), text.slice(0, 40)).toMatchObject({ state: "broken", fault: "malformed" });
	}
});

it("createTimesParser holds no more than one entry, however long the file is", () => {
	const parser = createTimesParser();
	parser.push(new TextEncoder().encode("[{"));
	for (let index = 0; index < 100; index++) parser.push(new Uint8Array(65_536).fill(0x20));
	expect(parser.end()).toMatchObject({ state: "broken", fault: "malformed" });
});
