// What another build's last operator may do to small scores.
import { expect, it } from "vitest";
import { measureNoise } from "../../../../src/core/golden/record/noise-floor.ts";
import { unitRun } from "../../../../src/core/golden/record/unit-run.ts";
import type { Tensor } from "../../../../src/core/golden/tensor/tensor.ts";

const floats = (...values: number[]): Tensor => ({
	dtype: "float32",
	shape: [1, values.length],
	data: new Uint8Array(Float32Array.from(values).buffer),
});

it("the unit run moves scores by one rounding of 1, which counts where they are small", () => {
	const reference = [{ score: floats(0.0038) }, { score: floats(0.99) }];
	const run = unitRun(reference);
	expect(run).not.toBeNull();
	const noise = run === null ? null : measureNoise(reference, [run]);
	expect(noise?.outputs["score"]?.relativeL2).toBeCloseTo(2 ** -24 / 0.0038, 7);
});

it.each([
	["logits", [{ y: floats(-1, 3) }]],
	["what never comes near 1", [{ y: floats(1e-5, 2e-5) }]],
	["integers", [{ y: { dtype: "int32", shape: [1], data: new Uint8Array(4) } satisfies Tensor }]],
])("the unit run leaves %s alone", (_, reference) => {
	expect(unitRun(reference)).toBeNull();
});
