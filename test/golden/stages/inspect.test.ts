import { expect, it } from "vitest";
import { inspect } from "../../../src/golden/stages/inspect.ts";
import { allFiles } from "../../support/golden-stream.ts";
import { float32, manifestOfCases } from "../../support/golden-tensors.ts";

const cases = [float32([1, 2, 3, 4], [1, 4]), float32([4, 1, 2, 3], [1, 4])].map((y) => ({ y }));
const tolerance = { fp32: 1e-3, tf32: 0.02, bf16: 0.9 };
const manifest = {
	...manifestOfCases(cases, { y: { comparators: [{ kind: "relative-l2", tolerance }] } }),
	rounding: { bf16: { cases: 2, tensors: 1, outputs: { y: { relativeL2: 0.3, maxAbs: 1 } } } },
};
const reads = cases.map(({ y }) => y);
const tensors = { read: async () => reads.shift()! };
const found = await inspect({ manifest, folder: "/golden" }, { files: allFiles as never, tensors });

it("inspect counts a defect below the recorded rounding as none that a golden could notice, as the recording does", () => {
	const { bf16, fp32 } = found.sensitivity.precisions;
	expect(fp32?.kinds["output-scale-up"]).toEqual({ tried: 1, moving: 1, noticed: 1 });
	expect(bf16?.kinds["output-scale-up"]).toEqual({ tried: 1, moving: 0, noticed: 0 });
	expect(bf16?.missed).toEqual([]);
});

it("inspect shows the limit of accuracy by the golden's labels", async () => {
	const labelled = manifestOfCases(cases, { y: { comparators: [{ kind: "accuracy" }] } });
	for (const one of labelled.cases) Object.assign(one, { labels: { y: [3] } });
	const again = [...cases.map(({ y }) => y)];
	const ports = { files: allFiles as never, tensors: { read: async () => again.shift()! } };
	const { outputs } = await inspect({ manifest: labelled, folder: "/golden" }, ports);
	expect(outputs[0]?.limits[0]?.allowed).toContainEqual({ precision: "fp32", limit: 0.99 });
});

it("inspect shows the limit of TF32, which has its own", () => {
	expect(found.outputs[0]?.limits[0]?.allowed).toContainEqual({ precision: "tf32", limit: 0.02 });
});
