import fc from "fast-check";
import { expect, it } from "vitest";
import { ruleChanges, underRulesOf } from "../../../src/core/config/rules.ts";
import { engineSpecs } from "../../../src/core/plan/plan.ts";
import { loaded } from "./load.ts";

const same = new Map([["net/e", "net/e"]]);

function config({ model = "", engine = "precision: fp32", rest = "" } = {}) {
	const dims = "dims: { batch: { min: 1, opt: 8, max: 32 } }";
	return loaded(
		`version: 1\nmodels:\n  net: { onnx: net.onnx, ${dims}, engines: { e: { ${engine} } }${model && `, ${model}`} }\n${rest}`,
	);
}

it("underRulesOf takes the limits of each engine and workload from the base", () => {
	const gates = (fail: string) =>
		`gates: { latency: { fail: ${fail} }, golden: { relative-l2: ${fail === "5%" ? 0.001 : 1} } }`;
	const workloads = (fail: string) => `workloads: [{ name: w, batch: 8, gates: { p99: { fail: ${fail} } } }]`;
	const of = (fail: string) => config({ engine: `precision: fp16, ${gates(fail)}, ${workloads(fail)}` });
	const rules = of("5%");
	const [spec] = engineSpecs(underRulesOf(rules, of("90%"), same));
	const [own] = engineSpecs(rules);
	expect(spec?.engine.gates).toEqual(own?.engine.gates);
	const { gates: ofWorkload } = own!.engine.workloads[0]!;
	expect(spec?.engine.workloads).toMatchObject([{ name: "w", ofBase: true, gates: ofWorkload }]);
});

it("underRulesOf takes from the base which probes run when, and what a golden must notice", () => {
	const rules = config({ model: "probes: [determinism, padding], golden-notice: { fp32: 0.9 }" });
	const head = config({ model: "probes: { when: off, mask: m }, golden-notice: { fp32: 0.1 }" });
	const [model] = underRulesOf(rules, head, same).models;
	expect(model).toMatchObject({
		probes: { when: "on", only: ["determinism", "padding"], mask: "m" },
		notice: { fp32: 0.9 },
	});
});

it("underRulesOf takes the base's sizes of workloads, and keeps those that only the head has", () => {
	const of = (workloads: string) => config({ model: `workloads: [${workloads}]` });
	const rules = of("{ name: big, batch: 32, streams: 2 }, { name: small, batch: 1 }");
	const head = of("{ name: big, batch: 1 }, { name: mid, batch: 8 }, { name: renamed, batch: 1 }");
	const [engine] = underRulesOf(rules, head, same).models[0]!.engines;
	const texts = engine?.workloads.map(
		(one) => `${one.name} ${one.dims["batch"]} ${one.streams} ${one.ofBase}`,
	);
	expect(texts).toEqual(["big 32 2 true", "small 1 1 true", "mid 8 1 undefined"]);
});

it("underRulesOf leaves to the head which engine is built from which model", () => {
	const engine =
		"precision: int8, onnx: other.onnx, workspace: 1GiB, flags: ['--refit'], calibration: c.cache, golden: g.json";
	const head = config({ engine, model: "prepare: python export.py, inputs: { x: { fill: ones } }" });
	const [model] = underRulesOf(config(), head, same).models;
	const [own] = head.models;
	const { gates: _, workloads: __, ...recipe } = own!.engines[0]!;
	expect(model?.engines[0]).toMatchObject(recipe);
	expect(model).toMatchObject({ prepare: own?.prepare, inputs: own?.inputs, onnx: "net.onnx" });
});

it("underRulesOf judges a renamed engine by the rules of its counterpart", () => {
	const rules = config({ engine: "precision: fp32, gates: { latency: { fail: 5% } }" });
	const engines = "engines: { new: { precision: fp32 } }";
	const head = loaded(`version: 1\nmodels: { renamed: { onnx: net.onnx, ${engines} } }`);
	const [spec] = engineSpecs(underRulesOf(rules, head, new Map([["renamed/new", "net/e"]])));
	expect(spec).toMatchObject({ id: "renamed/new", engine: { gates: { latency: { fail: 0.05 } } } });
});

const text = fc.record({
	latency: fc.constantFrom("5%", "10%", "90%", "off"),
	coverage: fc.constantFrom("warn", "fail", "off"),
	existing: fc.constantFrom("warn", "fail"),
	pairs: fc.constantFrom("[5]", "[5, 16]"),
	strict: fc.boolean(),
	probes: fc.constantFrom("on", "off", "nightly"),
	level: fc.constantFrom(0, 3, 5),
	rest: fc.subarray([
		"onnxruntime: native",
		"device: 0",
		"base: { trtexec: /opt/old/trtexec }",
		"runners: [{ name: l4, labels: gpu }]",
		"baseline: { from: tag }",
		"history: { branch: trends }",
		"comparators: { c: { command: [cmp] } }",
	]),
});
const configs = text.map(({ latency, coverage, existing, pairs, strict, probes, level, rest }) =>
	config({
		engine: `precision: fp32, optimization-level: ${level}`,
		model: `probes: ${probes}`,
		rest: `gates: { latency: { warn: 1%, fail: ${latency} }, coverage: ${coverage}, golden: { existing: ${existing} } }\nmeasure: { pairs: ${pairs} }\npreflight: { strict: ${strict} }\n${rest.join("\n")}\n`,
	}),
);

it("underRulesOf leaves no rule of the head, and every recipe", () => {
	fc.assert(
		fc.property(configs, configs, (base, head) => {
			const ruled = underRulesOf(base, head, same);
			expect(ruleChanges(base, ruled, same)).toEqual([]);
			const { runners, commands, history } = base;
			expect(ruled).toMatchObject({ runners, commands, history });
			expect(ruled.models[0]?.engines[0]?.tensorrt).toEqual(head.models[0]?.engines[0]?.tensorrt);
			expect(underRulesOf(base, ruled, same)).toEqual(ruled);
		}),
	);
});

it("ruleChanges finds nothing between a config and itself, and the same in both directions", () => {
	fc.assert(
		fc.property(configs, configs, (base, head) => {
			expect(ruleChanges(base, base, same)).toEqual([]);
			const [there, back] = [ruleChanges(base, head, same), ruleChanges(head, base, same)];
			const said = there.map((change) => JSON.stringify([change.key, change.base, change.head]));
			expect(said.sort()).toEqual(
				back.map((change) => JSON.stringify([change.key, change.head, change.base])).sort(),
			);
			for (const change of there) {
				const other = back.find((one) => one.key === change.key);
				expect([change.isLooser, other?.isLooser]).toContain(true);
			}
		}),
	);
});
