import { expect, it } from "vitest";
import { judgeSparsity } from "../../../src/core/gates/precision.ts";
import { engineSpecs } from "../../../src/core/plan/plan.ts";
import { buildConfig } from "../../support/build-config.ts";
import { buildBuild } from "../../support/build-result.ts";

type Counts = readonly [eligible: number | null, picked: number | null] | null;

function judged(base: Counts, head: Counts, yaml = "") {
	const config = buildConfig(yaml);
	const built = (arm: "base" | "head", counts: Counts) =>
		buildBuild({ arm, ...(counts && { sparsity: { eligible: counts[0], picked: counts[1] } }) });
	return judgeSparsity(
		{ spec: engineSpecs(config)[0]!, base: built("base", base), head: built("head", head) },
		config,
	);
}

it.each<[base: Counts, head: Counts, status: string | undefined, yaml?: string]>([
	[[9, 5], [9, 5], "pass"],
	[[9, 5], [10, 6], "pass"],
	[[9, 5], [8, 5], "warn"],
	[[9, 5], [9, 4], "warn"],
	[[9, 5], [9, 4], "fail", "gates: { sparsity: fail }"],
	[[9, 5], [9, 4], undefined, "gates: { sparsity: off }"],
	[[9, 5], null, "warn"],
	[[9, null], [9, null], "pass"],
	[[null, null], [9, 5], undefined],
	[[9, 5], [null, null], "warn"],
	[null, [9, 5], undefined],
])("from %j to %j: %s", (base, head, status, yaml) => {
	expect(judged(base, head, yaml).map((gate) => gate.status)).toEqual(status === undefined ? [] : [status]);
});

it("says what became fewer, and that the head does not ask", () => {
	expect(judged([9, 5], [8, 5])[0]?.message).toBe("Layers for sparse kernels: 9 → 8 eligible, 5 → 5 picked.");
	expect(judged([9, 5], null)[0]?.message).toContain(
		"9 → unknown eligible, 5 → unknown picked. The head is not built",
	);
});
