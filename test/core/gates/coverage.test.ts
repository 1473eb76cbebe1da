import { expect, it } from "vitest";
import type { GateResult } from "../../../generated/result.ts";
import {
	type CoverageFacts,
	judgeCoverage,
	judgeLimitChanges,
	judgeUnreadBase,
} from "../../../src/core/gates/change.ts";
import { engineSpecs, findCounterparts } from "../../../src/core/plan/plan.ts";
import { buildConfig } from "../../support/build-config.ts";
import { loaded } from "../config/load.ts";

const engines = (engine?: string, rest?: string) => engineSpecs(buildConfig(rest, engine));
const two = "{ precision: fp32, workloads: [{ name: one }, { name: two }] }";
const counterparts = new Map([["net/plain", "net/plain"]]);
const covered = (facts: Partial<CoverageFacts>) =>
	judgeCoverage({ base: engines(two), head: engines(), counterparts, ...facts });

it("the coverage gate names workloads that vanished, and nothing else", () => {
	expect(covered({})).toMatchObject([
		{ gate: "coverage", status: "warn", model: "net", engine: "plain", workload: "two" },
	]);
	expect(covered({ base: engines(), head: engines(two) })).toEqual([]);
});

it("the coverage gate reports what a renamed engine lacks, not the engine", () => {
	const head = engines().map((spec) => ({ ...spec, id: "net/new", engine: { ...spec.engine, name: "new" } }));
	const gates = covered({ head, counterparts: new Map([["net/new", "net/plain"]]) });
	expect(gates.map(({ engine, workload }) => [engine, workload])).toEqual([["plain", "two"]]);
});

it("the coverage gate names goldens that are no longer checked, and cases that the head lacks", () => {
	const base = engines("{ precision: fp32, golden: golden.json }");
	expect(covered({ base })).toMatchObject([{ message: expect.stringContaining("outputs against a golden") }]);
	const dropped = (...cases: string[]) =>
		covered({ base, head: base, droppedCases: new Map([["net/plain", cases]]) });
	const message = "The base checks 2 golden cases more (cat, dog); the head no longer does.";
	expect(dropped("cat", "dog")).toMatchObject([{ message }]);
	expect(dropped()).toEqual([]);
});

it.each(["warn", "fail", "off"])(
	"the coverage gate does what the base says, %s, whatever the head says",
	(setting) => {
		const base = engines(two, `gates: { coverage: ${setting} }\n`);
		for (const own of ["warn", "fail", "off"]) {
			const gates = covered({ base, head: engines(undefined, `gates: { coverage: ${own} }\n`) });
			expect(gates.map(({ status }) => status)).toEqual(setting === "off" ? [] : [setting]);
		}
	},
);

it("the coverage gate names an engine that is gone, also one that times nothing", () => {
	const base = engines("{ precision: fp32, workloads: [] }");
	const gone = [{ gate: "coverage", status: "warn", model: "net", engine: "plain" }];
	expect(covered({ base, head: [] })).toMatchObject(gone);
	expect(covered({ base })).toEqual([]);
	expect(covered({ base, counterparts: new Map() })).toMatchObject(gone);
});

const net = "net: { onnx: net.onnx, dims: { batch: { min: 1, opt: 8, max: 32 } }";

function file({ model = "", rest = "" } = {}) {
	return `version: 1\nmodels:\n  ${net}${model === "" ? "" : `, ${model}`} }\n${rest}`;
}

function judge(base: string, head: string, holds: "base" | "head" = "base") {
	const sides = { base: loaded(base), head: loaded(head) };
	const counterparts = findCounterparts(engineSpecs(sides.base), engineSpecs(sides.head), () => false);
	return judgeLimitChanges({ ...sides, counterparts, holds });
}

const memoryOff = "gates: { memory: { fail: off } }";
const later = "It holds after the merge; this change was judged by the base's.";

// Every rule is in the table of test/app/change-table.test.ts; these are one of each kind.
const big = (sizes: string) => `model workloads: [{ name: big, ${sizes} }]`;
const lpips = (command: string) => `comparators: { lpips: { command: [${command}] } }`;
const pinned = (ref: string) => `baseline: { from: pinned, ref: ${ref} }`;
const runner = (more: string) => `runners: [{ name: l4, labels: gpu${more} }]`;

/** Text below `model` goes inside the model; `both` if neither is stricter. */
type Row = readonly [base: string, head: string, says: string, both?: "both"];

const rows: readonly Row[] = [
	["", "gates: { latency: { fail: 400% } }", "gates.latency.fail: 10 % → 400 %"],
	["gates: { max-latency: 5ms }", "", "gates.max-latency: 5.000 ms → off"],
	[
		"gates: { min-throughput: 900 }",
		"gates: { min-throughput: 800 }",
		"gates.min-throughput: 900 / s → 800 / s",
	],
	["gates: { golden: { existing: fail } }", "", "gates.golden.existing: fail → warn"],
	[
		"probes: [determinism, padding]",
		"probes: [padding]",
		"probes.only: determinism, padding → padding",
		"both",
	],
	[
		"model golden-notice: { fp32: 0.9 }",
		"model golden-notice: { fp32: 0.5 }",
		"golden-notice.fp32: 90 % → 50 %",
	],
	["", "measure: { pairs: [5] }", "measure.pairs: 5, 8, 12, 16 → 5"],
	["preflight: { tensorrt: 10.6 }", "", "preflight.tensorrt: 10.6 → not set"],
	["backend: tensorrt", "backend: onnxruntime", "backend: tensorrt → onnxruntime", "both"],
	[
		lpips("python3, lpips.py"),
		lpips("echo, ok"),
		"comparators.lpips.command: python3, lpips.py → echo, ok",
		"both",
	],
	[pinned("v1"), pinned("v0"), "baseline.ref: v1 → v0", "both"],
	[runner(""), runner(", engines: [other]"), "runners.l4.engines: all → other", "both"],
	[big("batch: 32, streams: 2"), big("batch: 1, streams: 2"), "workloads.dims.batch: 32 → 1"],
	[big("batch: 32, streams: 2"), big("batch: 32"), "workloads.streams: 2 → 1"],
];

it.each(rows)(
	"looser rules warn and hold after the merge, tighter ones are listed: %s to %s",
	(base, head, says, both) => {
		const [before = "", after = ""] = [base, head].map((text = "") =>
			file(text.startsWith("model ") ? { model: text.slice("model ".length) } : { rest: text }),
		);
		const review = `${later} It needs a review.`;
		expect(judge(before, after)).toEqual([
			expect.objectContaining({ gate: "limit-change", status: "warn", message: `${says}. ${review}` }),
		]);
		const [back, ...more] = judge(after, before);
		expect(more).toEqual([]);
		expect(back).toMatchObject({ gate: "limit-change", status: both ? "warn" : "pass" });
		expect(back?.message.endsWith(both ? review : later)).toBe(true);
		for (const text of [before, after]) expect(judge(text, text)).toEqual([]);
	},
);

it.each([
	["warn", "warn"],
	["fail", "fail"],
	["off", undefined],
])("looser rules do what the base says, %s, whatever the head says itself", (base, status) => {
	for (const own of ["off", "warn", "fail"]) {
		const gates = (limitChange: string, fail: string) =>
			file({ rest: `gates: { limit-change: ${limitChange}, latency: { fail: ${fail} } }` });
		const found = judge(gates(base, "10%"), gates(own, "400%"));
		expect(found.find(({ message }) => message.includes("latency"))?.status).toBe(status);
	}
});

it("looser rules are reported once for all places, at their line", () => {
	const many =
		"engines: { a: { precision: fp32 }, b: { precision: fp32 } }, workloads: [{ batch: 1 }, { batch: 8 }]";
	const [everywhere] = judge(file({ model: many }), file({ model: many, rest: memoryOff }));
	expect(everywhere).toMatchObject({
		model: "net",
		message: `gates.memory.fail: 5 % → off, in 4 workloads. ${later} It needs a review.`,
	});
	expect(everywhere?.engine).toBeUndefined();
	expect(everywhere?.location).toMatchObject({ path: "trtgate.yml", line: 4 });
	const one = many
		.replace("{ batch: 8 }", "{ batch: 8, gates: { latency: { fail: off } } }")
		.replace(", b: { precision: fp32 }", "");
	const [place] = judge(file({ model: many }), file({ model: one }));
	expect(place).toMatchObject({ model: "net", engine: "a", workload: "batch 8" });
});

it("rules are unknown if the base's config cannot be read, which is reported", () => {
	const gate = judgeUnreadBase("models is missing", loaded(file()));
	expect(gate).toMatchObject({ status: "warn", model: "trtgate.yml" });
	expect(gate.message).toContain("models is missing");
});

it("rules that hold already are listed without a word on the merge", () => {
	const [gate] = judge(file(), file({ rest: memoryOff }), "head");
	expect(gate).toMatchObject({ status: "warn", message: "gates.memory.fail: 5 % → off. It needs a review." });
});

it("a new runner or comparator is listed, and one that is removed warns", () => {
	const more = file({ rest: `${runner("")}\n${lpips("python3, lpips.py")}\n` });
	const shown = (gates: readonly GateResult[]) =>
		gates.map(({ status, message }) => `${status}: ${message.split(". ")[0]}`);
	expect(shown(judge(file(), more))).toEqual([
		"pass: runners.l4.labels: not set → gpu",
		"pass: runners.l4.engines: not set → all",
		"pass: runners.l4.split: not set → none",
		"pass: comparators.lpips.command: not set → python3, lpips.py",
		"pass: comparators.lpips.timeout: not set → 1 min 00 s",
	]);
	expect(new Set(judge(more, file()).map(({ status }) => status))).toEqual(new Set(["warn"]));
});

it("rules of an engine that only one side has are not a change", () => {
	const loose = "gates: { latency: { fail: 900% } }";
	const more = file({ model: `engines: { fp32: { precision: fp32 }, new: { precision: fp16, ${loose} } }` });
	expect(judge(file(), more)).toEqual([]);
	expect(judge(more, file())).toEqual([]);
	expect(judge(file(), `${file()}  other: { onnx: o.onnx, ${loose} }\n`)).toEqual([]);
});

it("the rules of a renamed engine are compared with those of its counterpart", () => {
	const fileOf = (engine: string) => loaded(file({ model: `engines: { ${engine} }` }));
	const base = fileOf("old: { precision: fp32 }");
	const head = fileOf("new: { precision: fp32, gates: { latency: { fail: 400% } } }");
	const counterparts = new Map([["net/new", "net/old"]]);
	const gates = judgeLimitChanges({ base, head, counterparts, holds: "base" });
	expect(gates).toMatchObject([
		{ engine: "new", status: "warn", message: expect.stringContaining("10 % → 400 %") },
	]);
});
