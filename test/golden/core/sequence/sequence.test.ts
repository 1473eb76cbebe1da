import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { judgeCase } from "../../../../src/golden/core/compare/judge.ts";
import {
	firstStep,
	overSteps,
	positionAfter,
	runSteps,
	type Sequence,
	sequenceMisfit,
	stepShapes,
} from "../../../../src/golden/core/sequence/sequence.ts";
import type { Tensor } from "../../../../src/golden/core/tensor/tensor.ts";
import { emptyModel } from "../../../support/fakes.ts";
import { caseInput, float32 } from "../../../support/golden-tensors.ts";
import "../../../support/properties.ts";

type Tensors = Readonly<Record<string, Tensor>>;

const numbers = ({ data }: Tensor) => [...new Float32Array(Uint8Array.from(data).buffer)];

/** Of a decoder that sums what it has read: the cache holds the tokens, [rows, 1, past]. */
const sums: Sequence = {
	steps: 3,
	each: { ids: 1 },
	all: { mask: 1 },
	outputs: { scores: 1 },
	state: { past: { output: "present", dtype: "float32", shape: [1, 1, 0], axis: 2, batch: 0 } },
};

interface Fed {
	shapes: Record<string, readonly number[]>[];
}

/** Scores [rows, seq, 2]: the sum of all tokens up to each that the mask counts, and the number of cached ones. */
function summing(fed: Fed = { shapes: [] }) {
	return async ({ ids, mask, past }: Tensors): Promise<Tensors> => {
		if (!ids || !mask || !past) throw new Error("an input is missing");
		fed.shapes.push({ ids: ids.shape, mask: mask.shape, past: past.shape });
		const [rows = 0, seq = 0] = ids.shape;
		const cached = past.shape[2] ?? 0;
		const total = cached + seq;
		expect(mask.shape).toEqual([rows, total]);
		const present: number[] = [];
		const scores: number[] = [];
		for (let row = 0; row < rows; row += 1) {
			const known = numbers(past).slice(row * cached, (row + 1) * cached);
			const all = [...known, ...numbers(ids).slice(row * seq, (row + 1) * seq)];
			const counts = numbers(mask).slice(row * total, (row + 1) * total);
			present.push(...all);
			for (let at = cached; at < total; at += 1)
				scores.push(
					all.slice(0, at + 1).reduce((sum, token, index) => sum + token * (counts[index] ?? 0), 0),
					at,
				);
		}
		return { scores: float32(scores, [rows, seq, 2]), present: float32(present, [rows, 1, total]) };
	};
}

const sequences = fc
	.record({
		rows: fc.integer({ min: 1, max: 3 }),
		length: fc.integer({ min: 1, max: 9 }),
		steps: fc.integer({ min: 1, max: 9 }),
	})
	.chain(({ rows, length, steps }) => {
		const values = fc.array(fc.integer({ min: 0, max: 50 }), {
			minLength: rows * length,
			maxLength: rows * length,
		});
		const counted = fc.array(fc.integer({ min: 0, max: 1 }), {
			minLength: rows * length,
			maxLength: rows * length,
		});
		return fc.record({
			rows: fc.constant(rows),
			length: fc.constant(length),
			steps: fc.constant(steps),
			values,
			counted,
		});
	});

describe("a sequence", () => {
	it("gives in steps what the model gives at once, whatever the number of rows, positions and steps", async () => {
		await fc.assert(
			fc.asyncProperty(sequences, async ({ rows, length, steps, values, counted }) => {
				const inputs = { ids: float32(values, [rows, length]), mask: float32(counted, [rows, length]) };
				const sequence = { ...sums, steps };
				const fed: Fed = { shapes: [] };
				const got = await runSteps(sequence, inputs, summing(fed));
				const past = float32([], [rows, 1, 0]);
				const whole = numbers((await summing()({ ...inputs, past }))["scores"]!);
				const singles = Math.min(steps, length - 1);
				const first = length - singles - 1;
				const expected = Array.from({ length: rows }, (_, row) =>
					whole.slice((row * length + first) * 2, (row + 1) * length * 2),
				).flat();
				expect(Object.keys(got)).toEqual(["scores"]);
				expect(got["scores"]?.shape).toEqual([rows, singles + 1, 2]);
				expect(numbers(got["scores"]!)).toEqual(expected);
				const shapes = stepShapes(sequence, inputs).map((step) =>
					Object.fromEntries(Object.entries(step).map(([name, { shape }]) => [name, shape])),
				);
				expect(fed.shapes).toEqual(shapes);
				expect(positionAfter(sequence, inputs, 0)).toBe(first);
				expect(positionAfter(sequence, inputs, singles)).toBe(length - 1);
			}),
		);
	});

	const inputs = { ids: float32([1, 2, 3, 4], [1, 4]), mask: float32([1, 1, 1, 1], [1, 4]) };

	it("begins with empty state, and a state without a shape begins with what the case has", async () => {
		expect(firstStep({ ...sums, steps: 2 }, inputs)).toMatchObject({
			ids: { shape: [1, 2] },
			mask: { shape: [1, 2] },
			past: { shape: [1, 1, 0] },
		});
		const seen: number[][] = [];
		const carrying = { ...sums, all: {}, outputs: {}, state: { hidden: { output: "next" } } };
		const got = await runSteps(carrying, { ids: inputs.ids, hidden: float32([7]) }, async ({ hidden }) => {
			seen.push(numbers(hidden!));
			return { scores: float32([0], []), next: float32([(numbers(hidden!)[0] ?? 0) + 1]) };
		});
		expect(seen).toEqual([[7], [8], [9], [10]]);
		// A scalar output becomes a list.
		expect(got["scores"]?.shape).toEqual([4]);
	});

	it("refuses an output that has another shape in each step", async () => {
		const growing = async (feeds: Tensors) => ({ ...(await summing()(feeds)), seen: float32([1], [1, 1]) });
		await expect(runSteps({ ...sums, outputs: {} }, inputs, growing)).resolves.toMatchObject({
			seen: { shape: [4, 1] },
		});
		const step = async (feeds: Tensors): Promise<Tensors> => {
			const { present, ...others } = await summing()(feeds);
			return { ...others, present: present!, copy: present! };
		};
		await expect(runSteps(sums, inputs, step)).rejects.toThrow("Output copy has another shape in each step");
	});

	it("shows the model over all steps: without what only goes from one to the next", () => {
		const value = (name: string, dims: (string | number)[]) =>
			({ name, kind: "tensor", dtype: "float", dims }) as const;
		const graph = {
			...emptyModel.graph,
			inputs: [value("ids", ["b", "seq"]), value("mask", ["b", "total"]), value("past", ["b", 1, "past"])],
			outputs: [value("scores", ["b", "seq", 2]), value("present", ["b", 1, "total"])],
		};
		const file = { ...emptyModel, graph };
		const { inputs: ins, outputs } = overSteps(file, sums).graph;
		expect(ins.map(({ name, dims }) => [name, dims])).toEqual([
			["ids", ["b", "seq"]],
			["mask", ["b", "seq"]],
		]);
		expect(outputs.map(({ name }) => name)).toEqual(["scores"]);
		expect(overSteps(file, undefined)).toBe(file);
		const { manifest } = caseInput({}, {});
		expect(sequenceMisfit({ ...manifest, sequence: sums }, file)).toBeNull();
		const other = { ...sums, state: { past: { ...sums.state["past"]!, output: "later" } } };
		expect(sequenceMisfit({ ...manifest, sequence: other }, file)).toContain('no output "later"');
		expect(sequenceMisfit({ ...manifest, sequence: sums }, emptyModel)).toContain('no input "past"');
	});

	it("names the first position that fails, of distances and of agreement", () => {
		const rows = (second: number[]) => float32([5, 1, 1, ...second, 1, 1, 5], [1, 3, 3]);
		const specs = {
			scores: {
				batchAxis: 1,
				comparators: [{ kind: "kl" }, { kind: "top-k", k: 1 }, { kind: "relative-l2", tolerance: 9 }],
			},
		} as const;
		const input = caseInput(
			{ scores: rows([1, 5, 1]) },
			{ scores: rows([5, 1, 1]) },
			{ specs: structuredClone(specs) as never },
		);
		const file = { path: "i", sha256: "b".repeat(64), dtype: "float32" as const, shape: [1, 6] };
		const sequence = { ...sums, steps: 2 };
		const golden = { ...input.manifest.cases[0], inputs: { ids: file } };
		const manifest = { ...input.manifest, sequence, cases: [golden] as [typeof golden] };
		const { checks } = judgeCase({ ...input, manifest });
		expect(checks.map(({ metric, pass, position }) => [metric, pass, position])).toEqual([
			["kl", false, 4],
			["top-k", false, 4],
			["relative-l2", true, undefined],
		]);
	});
});
