import { expect, it } from "vitest";
import { readModel } from "../../src/adapters/files/model-reader.ts";
import { engineSpecs, makePlan } from "../../src/core/plan/plan.ts";
import { graphCosts } from "../../src/stages/graph-costs.ts";
import type { PreparedModel } from "../../src/stages/prepared.ts";
import { shapeWorkloads } from "../../src/stages/workloads.ts";
import { loaded } from "../core/config/load.ts";

async function costs(models: string, files: { base?: string; head: string }) {
	const config = loaded(`version: 1\nmodels:\n${models}`);
	const arms = files.base === undefined ? (["head"] as const) : (["base", "head"] as const);
	const plan = makePlan({ config, arms, cases: new Map(), seed: "s" });
	const reader = { read: readModel };
	const prepared: PreparedModel[] = [];
	for (const spec of engineSpecs(config))
		for (const arm of arms) {
			const model = await reader.read(`test/fixtures/models/${files[arm]}.onnx`);
			prepared.push({ state: "ready", spec, arm, model });
		}
	return graphCosts(plan, prepared, shapeWorkloads(plan, prepared, config).shapes);
}

const twoSizes = `  net:
    onnx: m.onnx
    engines: { fp32: { precision: fp32 }, fp16: { precision: fp16 } }
    dims: { batch: { min: 1, opt: 8, max: 8 } }
    workloads: [{ name: one, dims: { batch: 1 } }, { name: eight, dims: { batch: 8 } }]
`;

it("a model has one record for each of its sizes, however many engines it has", async () => {
	const found = await costs(twoSizes, { base: "classifier", head: "head-classifier-wider" });
	expect(found.map(({ workloads, shapes }) => [workloads, shapes])).toEqual([
		[["net/fp32/one", "net/fp16/one"], { images: [1, 3, 32, 32] }],
		[["net/fp32/eight", "net/fp16/eight"], { images: [8, 3, 32, 32] }],
	]);
	expect(found.map(({ base, head }) => [base?.multiplyAdds, head.multiplyAdds])).toEqual([
		[2_212_160, 7_078_208],
		[8 * 2_212_160, 8 * 7_078_208],
	]);
	expect(found[0]?.changes.map(({ node }) => node)).toEqual(["block1", "stem"]);
});

it("the same model on both sides has no change", async () => {
	const [cost] = await costs(twoSizes, { base: "classifier", head: "classifier" });
	expect(cost).toMatchObject({ changes: [], changed: 0 });
	expect(cost?.base).toEqual(cost?.head);
});

it("without a base there is only the head's figure", async () => {
	const [cost] = await costs(twoSizes, { head: "classifier" });
	expect(cost).toMatchObject({ base: null, changes: [], head: { multiplyAdds: 2_212_160, unknownNodes: 0 } });
});

it("a base with other inputs is counted at its own sizes", async () => {
	const [cost] = await costs("  net: { onnx: m.onnx, engines: { fp32: { precision: fp32 } } }\n", {
		base: "segmenter",
		head: "superres",
	});
	expect(cost?.base?.multiplyAdds).toBe(17_104_896);
});
