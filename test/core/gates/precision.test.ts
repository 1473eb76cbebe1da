import { expect, it } from "vitest";
import { judgePrecision } from "../../../src/core/gates/precision.ts";
import { engineSpecs } from "../../../src/core/plan/plan.ts";
import { buildConfig } from "../../support/build-config.ts";
import { buildBuild, buildResult } from "../../support/build-result.ts";
import { inEveryFormat } from "../../support/every-format.ts";

const built = (arm: "base" | "head", share: number | null | undefined) =>
	buildBuild({
		arm,
		precision: "int8",
		...(share !== undefined && {
			precisionCoverage: {
				precision: "int8",
				multiplyAdds: share,
				outsideCount: 2,
				outside: [{ layer: "conv1", precision: "fp32", share: 0.7, cause: "qdq-before-add", at: "add1" }],
			},
		}),
	});

function judged(base: number | null | undefined, head: number | null | undefined, yaml = "") {
	const config = buildConfig(yaml, "{ precision: int8 }");
	const spec = engineSpecs(config)[0]!;
	const sides = { spec, head: built("head", head), ...(base !== undefined && { base: built("base", base) }) };
	return judgePrecision(sides, config);
}

it.each<
	[
		base: number | null | undefined,
		head: number | null | undefined,
		status: string | undefined,
		yaml?: string,
	]
>([
	[undefined, 1, "pass"],
	[undefined, 0.5, "pass"],
	[undefined, 0.499, "warn"],
	[undefined, 0.1, "warn"],
	[undefined, 0.099, "fail"],
	[1, 0, "fail"],
	[0.05, 0, "warn"],
	[1, 0.96, "pass"],
	[1, 0.94, "warn"],
	[1, 0.7, "fail", "gates: { precision-drop: { fail: 25% } }"],
	[1, 0.7, "pass", "gates: { precision-drop: { warn: off } }"],
	[0.7, 1, "pass"],
	[undefined, 0.7, "fail", "gates: { precision-coverage: { fail: 80% } }"],
	[undefined, 0, "pass", "gates: { precision-coverage: { warn: off, fail: off } }"],
	[1, null, "inconclusive"],
	[1, null, "fail", "gates: { inconclusive: fail }"],
	[undefined, null, undefined],
	[undefined, undefined, undefined],
])("from %s to %s: %s", (base, head, status, yaml) => {
	expect(judged(base, head, yaml).map((gate) => gate.status)).toEqual(status === undefined ? [] : [status]);
});

it("says where the limit that decides stands", () => {
	const [gate] = judged(1, 0.7, "gates: { precision-drop: { fail: 25% } }");
	expect(gate?.message).toBe("70.0 % of the multiply-adds run in int8; in the base 100 %.");
	expect(gate?.location).toMatchObject({ line: 4 });
});

it("an int8 engine that runs in fp32 is a highlight with its layers, causes and a fix in every format", () => {
	const gates = judged(1, 0);
	const builds = [built("base", 1), built("head", 0)].map((build) => ({
		...build,
		model: "net",
		engine: "plain",
	}));
	const texts = inEveryFormat(buildResult({ builds, gates, outcome: "fail" }));
	for (const text of Object.values(texts)) {
		for (const part of [
			"is declared int8, and 0.0 % of its multiply-adds run so",
			"conv1 in fp32",
			"Q/DQ stand before the Add add1",
			"1 more layer",
		])
			expect(text).toContain(part);
	}
	expect(texts.markdown).toContain("Put Q and DQ behind the residual Add too");
	expect(texts.markdown).toMatch(
		/^- conv1 in fp32 \(70\.0 %; Q\/DQ stand before the Add add1, not behind it\)$/m,
	);
	expect(texts.markdown).toContain("Precision: 0 of 1 engine runs");
});
