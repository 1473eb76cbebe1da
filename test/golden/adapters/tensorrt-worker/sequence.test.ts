// The golden worker runs a decoder in steps: the stand-in for TensorRT computes, the worker carries the cache from step to step.
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runSteps, type Sequence } from "../../../../src/golden/core/sequence/sequence.ts";
import type { Tensor } from "../../../../src/golden/core/tensor/tensor.ts";
import { temporaryFolder } from "../../../support/project.ts";
import { type FakePlan, fakeWorker, float32, missing, writePlan } from "../../../support/tensorrt-worker.ts";

const suite = missing === null ? describe : describe.skip;

const tensor = (name: string, shape: number[]) => ({ name, dtype: "FLOAT", shape });
const range = (rows: number, from: number, to: number) =>
	[from, Math.min(from + 1, to), to].map((size) => [rows, size]);

/** `y` continues the sum of its row in the cache; a prefill's and a decode's profile. */
const decoder: FakePlan = {
	inputs: [tensor("x", [2, -1]), tensor("past", [2, -1]), tensor("shift", [1])],
	outputs: [
		{ ...tensor("present", [2, -1]), op: "append", from: "x", to: "past" },
		{ ...tensor("y", [2, -1]), op: "running", from: "x", to: "past" },
		{ ...tensor("same", [1]), op: "negate", from: "shift" },
	],
	profiles: [
		{ x: range(2, 1, 8), past: range(2, 0, 0), shift: [[1], [1], [1]] },
		{ x: range(2, 1, 1), past: range(2, 1, 9), shift: [[1], [1], [1]] },
	],
};

const sequence: Sequence = {
	steps: 3,
	each: { x: 1 },
	outputs: { y: 1 },
	state: { past: { output: "present", dtype: "float32", shape: [1, 0], axis: 1, batch: 0 } },
};

const x = float32([2, 5], [1, 2, 3, 4, 5, 10, 20, 30, 40, 50]);
const shift = float32([1], [4]);
const inputs = { x, shift };

async function run(plan: FakePlan, wanted: Sequence = sequence, cases = [{ id: "a", inputs }]) {
	const folder = temporaryFolder();
	const job = { cases, sequence: wanted, device: 0, plugins: [], timeoutMs: 600_000, isStripped: false };
	const paths = {
		enginePath: writePlan(folder, plan),
		onnxPath: "m.onnx",
		logPath: join(folder, "worker.log"),
	};
	const result = await fakeWorker().infer({ ...job, ...paths });
	if (result.state === "failed") throw new Error(result.failure.message);
	return result.cases.map((one) => (one.state === "done" ? one.outputs : one.message));
}

suite(
	missing === null
		? "a sequence in the golden worker"
		: `a sequence in the golden worker (skipped: ${missing})`,
	() => {
		const expected = {
			// After three positions of each row at once, then after each of the last two; outputs without positions follow each other.
			y: float32([2, 4], [3, 6, 10, 15, 30, 60, 100, 150]),
			same: float32([4], [-4, -4, -4, -4]),
		};

		it("feeds each step's cache to the next, through both profiles, case after case", async () => {
			const cases = ["a", "b"].map((id) => ({ id, inputs }));
			expect(await run(decoder, sequence, cases)).toEqual([expected, expected]);
		});

		it("gives what ONNX Runtime's loop over the steps gives", async () => {
			const numbers = ({ data }: Tensor) => [...new Float32Array(Uint8Array.from(data).buffer)];
			const once = async (feeds: Readonly<Record<string, Tensor>>) => {
				const [past, fed] = [feeds["past"]!, feeds["x"]!];
				const rows = [0, 1].map((row) => {
					const cut = (one: Tensor) => numbers(one).slice(row * one.shape[1]!, (row + 1) * one.shape[1]!);
					return [...cut(past), ...cut(fed)];
				});
				const sums = rows.map((row) =>
					row.map((_, at) => row.slice(0, at + 1).reduce((sum, one) => sum + one, 0)),
				);
				return {
					present: float32([2, rows[0]!.length], rows.flat()),
					y: float32(
						[2, fed.shape[1]!],
						sums.flatMap((row) => row.slice(past.shape[1])),
					),
					same: float32([1], [-4]),
				};
			};
			expect(await runSteps(sequence, inputs, once)).toEqual(expected);
		});

		it("carries a cache that lies in the memory of its input", async () => {
			const inPlace: FakePlan = {
				inputs: [tensor("x", [1, -1]), tensor("count", [1])],
				outputs: [
					{ ...tensor("counted", [1]), op: "increment", from: "count", alias: "count" },
					{ ...tensor("shown", [1]), op: "negate", from: "count" },
				],
				profiles: [{ x: range(1, 1, 8), count: [[1], [1], [1]] }],
			};
			const counting: Sequence = { steps: 3, each: { x: 1 }, state: { count: { output: "counted" } } };
			const given = { x: float32([1, 4], [1, 1, 1, 1]), count: float32([1], [10]) };
			expect(await run(inPlace, counting, [{ id: "a", inputs: given as unknown as typeof inputs }])).toEqual([
				{ shown: float32([4], [-11, -12, -13, -14]) },
			]);
		});

		it("says which step's sizes no profile holds, and which output cannot be fed back", async () => {
			const [prefill] = decoder.profiles!;
			expect(await run({ ...decoder, profiles: [prefill!] })).toEqual([
				expect.stringContaining(
					"input past has the shape [2, 2], the engine's profiles hold [2, 0] to [2, 0]",
				),
			]);
			const other = { ...sequence, state: { past: { ...sequence.state["past"]!, output: "gone" } } };
			expect(await run(decoder, other)).toEqual([
				expect.stringContaining("the engine has no input past that output gone could feed"),
			]);
		});
	},
);
