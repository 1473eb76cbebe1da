import { expect, it } from "vitest";
import { memorySource } from "../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../src/formats/onnx/reader.ts";
import { generateCases, inputPorts } from "../../../src/golden/app/inputs.ts";
import type { RecordOptions } from "../../../src/golden/app/record-options.ts";
import { timedCases } from "../../../src/golden/app/timed-cases.ts";
import { maskedMean, steady } from "../../support/probe-models.ts";

const given = { dims: {}, inputs: {} };

/** Beside eight cases of one row. */
function added(bytes: Uint8Array, usual: Record<string, number[]>, asked: Partial<RecordOptions>) {
	const onnx = readOnnx(memorySource(bytes), "net.onnx");
	const generating = { model: onnx, seed: 1, generators: [] };
	const { cases } = generateCases(inputPorts(onnx, usual), 8, generating);
	const options = { configured: given, given, seed: 1, generators: [], ...asked } as unknown as RecordOptions;
	return timedCases({ options, model: { onnx } as never }, cases, new Map());
}

const row = { x: [1, 8] };
const batches = (...sizes: number[]) => sizes.map((batch) => ({ batch }));
const tokens = { input_ids: [1, 8], attention_mask: [1, 8] };

it.each<[string, Record<string, number>[], string[], RegExp | null]>([
	["each size once, without the size of the others", batches(4, 4, 1, 7), ["batch-4", "batch-7"], null],
	[
		"four times as much as the others",
		batches(16, 32, 16, 2),
		["batch-16", "batch-2"],
		/for batch-32: added/,
	],
	[
		"eight",
		batches(2, 3, 4, 5, 1, 6, 7, 32),
		["batch-2", "batch-3", "batch-4", "batch-5"],
		/batch-6|batch-32/,
	],
	["a size that no machine can hold", batches(2 ** 31), [], /for batch-2147483648/],
])("added cases: %s", (_, timed, ids, note) => {
	const { cases, notes } = added(steady, row, { timed });
	expect(cases.map(({ id }) => id).slice(0, ids.length)).toEqual(ids);
	if (note === null) expect(notes).toEqual([]);
	else expect(notes.join()).toMatch(note);
	expect(cases.length).toBeLessThanOrEqual(8);
	expect(added(steady, row, { timed }).cases).toEqual(cases);
});

it("names each dimension that differs, and keeps what the options give", () => {
	const timed = [
		{ batch: 1, seq: 12 },
		{ batch: 2, seq: 12 },
	];
	const ids = (options: Partial<RecordOptions>) =>
		added(maskedMean, tokens, { timed, ...options }).cases.map(({ id }) => id);
	expect(ids({})).toEqual(["seq-12", "batch-2-seq-12"]);
	expect(ids({ given: { dims: { seq: 8 }, inputs: {} } })).toEqual(["batch-2"]);
});
