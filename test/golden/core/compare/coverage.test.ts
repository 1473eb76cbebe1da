// Batches hold every case once, in order, and keep their limits.
import fc from "fast-check";
import { expect, it } from "vitest";
import type { GoldenCase } from "../../../../generated/golden.ts";
import { cutBatches } from "../../../../src/golden/core/compare/checks.ts";

function caseOf(elements: number, id: string): GoldenCase {
	const file = { path: "y.raw", sha256: "b".repeat(64), dtype: "float32" as const, shape: [elements] };
	return { id, inputs: { x: file }, outputs: { y: file } };
}

const bytesOf = (cases: readonly GoldenCase[]): number =>
	cases.reduce((sum, { outputs }) => sum + 8 * (outputs["y"]?.shape[0] ?? 0), 0);

it("cutBatches keeps the order, loses nothing, and keeps its limits wherever a batch has more than one case", () => {
	fc.assert(
		fc.property(
			fc.array(fc.nat(40)),
			fc.integer({ min: 1, max: 400 }),
			fc.integer({ min: 1, max: 9 }),
			(sizes, bytes, cases) => {
				const all = sizes.map((size, index) => caseOf(size, String(index)));
				const batches = [...cutBatches(all, { bytes, cases })];
				expect(batches.flat()).toEqual(all);
				for (const batch of batches) {
					expect(batch.length).toBeGreaterThan(0);
					expect(batch.length).toBeLessThanOrEqual(cases);
					if (batch.length > 1) expect(bytesOf(batch)).toBeLessThanOrEqual(bytes);
				}
			},
		),
	);
});

it("cutBatches fills each batch before it begins the next", () => {
	const all = Array.from({ length: 5 }, (_, index) => caseOf(1, String(index)));
	expect([...cutBatches(all, { bytes: 16, cases: 10 })].map((batch) => batch.length)).toEqual([2, 2, 1]);
});
