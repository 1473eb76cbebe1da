// PP-OCRv4 detection and a YOLOv8n, each with planted changes, built, profiled and timed on an H200 with TensorRT 10.6.
import { describe, expect, it } from "vitest";
import { diffOf, h200Engine } from "../../support/recorded-engines.ts";

function explain(model: string, change: string) {
	const [base, head] = [h200Engine(`${model}-base`), h200Engine(`${model}-${change}`)];
	return diffOf(base, head, { gpu: "NVIDIA H200", enginesMs: { base: base.medianMs, head: head.medianMs } });
}

describe("engines of an H200", () => {
	it.each([
		["det", "block", /added\.0\.Conv/, "added", 0],
		["yolo", "block", /added\.0\.Conv/, "added", 0],
		["det", "consumer", /probe\.\d\.ReduceMean/, "added", 1],
		["yolo", "consumer", /probe\.\d\.ReduceMean/, "added", 1],
		["det", "island", /p2o\./, "precision", 1],
		["yolo", "island", /model\.4/, "precision", 1],
	] as const)(
		"%s with a planted %s: its cause comes first, and the account holds",
		(model, change, culprit, cause, warnings) => {
			const { rows, account, warnings: found } = explain(model, change);
			expect(rows[0]?.label).toMatch(culprit);
			expect(rows[0]?.causes[0]?.kind).toBe(cause);
			const share = (account?.attributedMs ?? 0) / (account?.measuredMs ?? Number.NaN);
			expect(share).toBeGreaterThan(0.75);
			expect(share).toBeLessThan(1.15);
			expect((account?.attributedMs ?? 0) + (account?.restMs ?? 0)).toBeCloseTo(
				account?.measuredMs ?? Number.NaN,
				9,
			);
			expect(found).toHaveLength(warnings);
		},
	);

	it.each(["det", "yolo"])(
		"%s names the fusions that a second consumer broke, and who reads their tensors",
		(model) => {
			const { rows, warnings } = explain(model, "consumer");
			expect(warnings[0]).toMatch(/^3 fusions skipped only in the head/);
			const fusions = rows.flatMap(({ causes }) => causes.filter(({ kind }) => kind === "fusion"));
			expect(fusions.flatMap(({ evidence }) => evidence).join()).toMatch(
				/is now written to memory; [^,]*`probe\.\d\.ReduceMean` needs it too/,
			);
		},
	);

	it.each(["det", "yolo"])("%s built again has no cause", (model) => {
		const { isSameStructure, isSameTactics, rows } = explain(model, "rebuild");
		expect([isSameStructure, isSameTactics, rows.flatMap(({ causes }) => causes)]).toEqual([true, true, []]);
	});
});
