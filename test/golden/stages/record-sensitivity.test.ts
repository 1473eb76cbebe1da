import { expect, it } from "vitest";
import type { SensitivityRecord } from "../../../generated/golden.ts";
import { testSensitivity } from "../../../src/golden/stages/record-sensitivity.ts";
import type { DefectJob } from "../../../src/ports/reference.ts";
import { float32, manifestOf } from "../../support/golden-tensors.ts";

const place = { name: "w", dtype: "float32", dims: [4, 4] };
const verdict = { states: { fp32: "noticed" }, change: 1 } as const;

const nothing = () => {};

/** Time runs out after this many verdicts. */
async function testedWith(mostVerdicts: number) {
	const y = float32([1, 2, 3, 4], [1, 4]);
	const notes: string[] = [];
	const saved: SensitivityRecord[] = [];
	const reference = {
		weights: async () => ({ places: [place], unplaced: [] }),
		parallelRuns: () => 1,
		async tryDefects({ defects, onVerdict }: DefectJob) {
			for (const { number } of defects.slice(0, mostVerdicts)) onVerdict(number, verdict);
			return { state: "time" };
		},
	};
	const input = {
		...{ model: {}, cases: [], variant: {}, budget: {}, scratchFolder: "", unfinished: [] },
		...{ timeoutMs: 1, limitMs: 60_000, seed: 1, known: null, notes },
		trial: {
			manifest: manifestOf({ y }, { y: { comparators: [{ kind: "relative-l2" }] } }),
			...{ reference: [{ y }], relativeL2: { fp32: 1e-6 }, rounding: {} },
		},
		save: async (one: SensitivityRecord) => void saved.push(one),
	};
	const progress = { stage: nothing, detail: nothing, done: nothing, item: nothing };
	const ports = { reference, clock: { now: () => 0 }, progress };
	const record = await testSensitivity(input as never, ports as never);
	expect(saved.at(-1)).toEqual(record);
	return { state: record.state, tested: record.tested, planned: record.planned, notes };
}

it("a test whose time runs out after its last verdict is complete", async () => {
	const { state, tested, planned, notes } = await testedWith(Infinity);
	expect({ state, tested, notes }).toEqual({ state: "complete", tested: planned, notes: [] });
});

it("a test whose time runs out before names how much was tried", async () => {
	const { state, planned, notes } = await testedWith(1);
	expect(state).toBe("unfinished");
	expect(notes).toEqual([expect.stringContaining(`reached: 1 of ${planned} defects were tried. The same`)]);
});
