// Changes of the rules by a head's config, as tables of two files.
import { expect, it } from "vitest";
import type { GateResult } from "../../../generated/result.ts";
import { judgeLimitChanges, judgeUnreadBase } from "../../../src/core/gates/limit-changes.ts";
import { engineSpecs } from "../../../src/core/plan/plan.ts";
import { loaded } from "../config/load.ts";

const net = "net: { onnx: net.onnx, dims: { batch: { min: 1, opt: 8, max: 32 } }";

function file({ model = "", rest = "" }: { model?: string; rest?: string }): string {
	return `version: 1\nmodels:\n  ${net}${model === "" ? "" : `, ${model}`} }\n${rest}`;
}

function judge(base: string, head: string, holds: "base" | "head" = "base"): GateResult[] {
	const sides = { base: loaded(base), head: loaded(head) };
	const [bases, heads] = [engineSpecs(sides.base), engineSpecs(sides.head)].map((specs) =>
		specs.map(({ id }) => id),
	);
	const counterparts = new Map(heads?.flatMap((id) => (bases?.includes(id) ? [[id, id] as const] : [])));
	return judgeLimitChanges({ ...sides, counterparts, holds });
}

const later = "It holds after the merge; this change was judged by the base's.";

interface Row {
	base?: string;
	head?: string;
	/** Edits the model instead of the whole file. */
	in?: "model";
	says: string;
	/** Neither value is stricter, so that the other way round needs a review too. */
	both?: true;
}

// Every rule is in the table of test/app/change-table.test.ts; these are one of each kind.
const looserGates = [
	["latency: { fail: 400% }", "latency.fail: 10 % → 400 %"],
	["latency: { warn: off }", "latency.warn: 2 % → off"],
	["build-time: { warn: off }", "build-time.warn: 50 % → off"],
	["limit-change: off", "limit-change: warn → off"],
	["probes: off", "probes: warn → off"],
	["coverage: off", "coverage: warn → off"],
	["golden: { relative-l2: 1000000000 }", "golden.relative-l2.fp32: 0.001 → 1000000000"],
	["golden: { error-growth: { fail: off } }", "golden.error-growth.fail: 10× → off"],
];

const rows: readonly Row[] = [
	...looserGates.map(([head, says]) => ({ head: `gates: { ${head} }`, says: `gates.${says}.` })),
	{ base: "gates: { max-latency: 5ms }", says: "gates.max-latency: 5.000 ms → off." },
	{
		base: "gates: { min-throughput: 900 }",
		head: "gates: { min-throughput: 800 }",
		says: "gates.min-throughput: 900 / s → 800 / s.",
	},
	{ base: "gates: { golden: { existing: fail } }", says: "gates.golden.existing: fail → warn." },
	{ base: "gates: { inconclusive: fail }", says: "gates.inconclusive: fail → neutral." },
	{ head: "probes: off", says: "probes: nightly → off." },
	{
		base: "probes: [determinism, padding]",
		head: "probes: [padding]",
		says: "probes.only: determinism, padding → padding.",
		both: true,
	},
	{
		in: "model",
		base: "golden-notice: { fp32: 0.9 }",
		head: "golden-notice: { fp32: 0.5 }",
		says: "golden-notice.fp32: 90 % → 50 %.",
	},
	{ head: "measure: { pairs: [5] }", says: "measure.pairs: 5, 8, 12, 16 → 5." },
	{ head: "measure: { duration: 100ms }", says: "measure.duration: at most 3.0 s → 100 ms." },
	{ base: "measure: { transfers: true }", says: "measure.transfers: true → false." },
	{ base: "preflight: { strict: true }", says: "preflight.strict: true → false." },
	{ base: "preflight: { tensorrt: 10.6 }", says: "preflight.tensorrt: 10.6 → not set." },
	{
		base: "backend: tensorrt",
		head: "backend: onnxruntime",
		says: "backend: tensorrt → onnxruntime.",
		both: true,
	},
	{
		base: "comparators: { lpips: { command: [python3, lpips.py] } }",
		head: "comparators: { lpips: { command: [echo, ok] } }",
		says: "comparators.lpips.command: python3, lpips.py → echo, ok.",
		both: true,
	},
	{
		base: "baseline: { from: pinned, ref: v1 }",
		head: "baseline: { from: pinned, ref: v0 }",
		says: "baseline.ref: v1 → v0.",
		both: true,
	},
	{
		base: "runners: [{ name: l4, labels: gpu }]",
		head: "runners: [{ name: l4, labels: gpu, engines: [other] }]",
		says: "runners.l4.engines: all → other.",
		both: true,
	},
	{
		in: "model",
		base: "workloads: [{ name: big, batch: 32, streams: 2 }]",
		head: "workloads: [{ name: big, batch: 1, streams: 2 }]",
		says: "workloads.dims.batch: 32 → 1.",
	},
	{
		in: "model",
		base: "workloads: [{ name: big, batch: 32, streams: 2 }]",
		head: "workloads: [{ name: big, batch: 32 }]",
		says: "workloads.streams: 2 → 1.",
	},
];

it.each(rows)(
	"looser rules of a head warn, hold only after the merge, and tighter ones are listed: $says",
	(row) => {
		const { base = "", head = "", in: where, says, both } = row;
		const [before = "", after = ""] = [base, head].map((text) =>
			file(where === "model" ? { model: text } : { rest: text }),
		);
		const [gate, ...others] = judge(before, after);
		expect(others).toEqual([]);
		expect(gate).toMatchObject({
			gate: "limit-change",
			status: "warn",
			message: `${says} ${later} It needs a review.`,
		});
		const [back, ...more] = judge(after, before);
		expect(more).toEqual([]);
		expect(back).toMatchObject({ gate: "limit-change", status: both === true ? "warn" : "pass" });
		expect(back?.message.endsWith(both === true ? "It needs a review." : later)).toBe(true);
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
		const [gate] = judge(gates(base, "10%"), gates(own, "400%")).filter(({ message }) =>
			message.includes("latency"),
		);
		expect(gate?.status).toBe(status);
	}
});

it("looser rules are reported once for all places, for what they have in common, at their line", () => {
	const many =
		"engines: { a: { precision: fp32 }, b: { precision: fp32 } }, workloads: [{ batch: 1 }, { batch: 8 }]";
	const [everywhere] = judge(
		file({ model: many }),
		file({ model: many, rest: "gates: { memory: { fail: off } }" }),
	);
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
	const gate = judgeUnreadBase("models is missing", loaded(file({})));
	expect(gate).toMatchObject({
		status: "warn",
		model: "trtgate.yml",
		message: expect.stringContaining("models is missing"),
	});
});

it("rules that hold already are listed without a word on the merge, if nothing is under review", () => {
	const [gate] = judge(file({}), file({ rest: "gates: { memory: { fail: off } }" }), "head");
	expect(gate).toMatchObject({ status: "warn", message: "gates.memory.fail: 5 % → off. It needs a review." });
});

it("a new runner or comparator is listed, and one that is removed warns", () => {
	const more = file({
		rest: "runners: [{ name: l4, labels: gpu }]\ncomparators: { lpips: { command: [python3, lpips.py] } }\n",
	});
	const shown = (gates: readonly GateResult[]) =>
		gates.map(({ status, message }) => `${status}: ${message.split(". ")[0]}`);
	expect(shown(judge(file({}), more))).toEqual([
		"pass: runners.l4.labels: not set → gpu",
		"pass: runners.l4.engines: not set → all",
		"pass: runners.l4.split: not set → none",
		"pass: comparators.lpips.command: not set → python3, lpips.py",
		"pass: comparators.lpips.timeout: not set → 1 min 00 s",
	]);
	expect(new Set(judge(more, file({})).map(({ status }) => status))).toEqual(new Set(["warn"]));
});

it("rules of an engine that only one side has are not a change: the head's keeps its own, and coverage reports the base's", () => {
	const loose = "gates: { latency: { fail: 900% } }";
	const more = file({ model: `engines: { fp32: { precision: fp32 }, new: { precision: fp16, ${loose} } }` });
	expect(judge(file({}), more)).toEqual([]);
	expect(judge(more, file({}))).toEqual([]);
	expect(judge(file({}), `${file({})}  other: { onnx: o.onnx, ${loose} }\n`)).toEqual([]);
});

it("the rules of a renamed engine are compared with those of its counterpart", () => {
	const [base, head] = ["old", "new: { precision: fp32, gates: { latency: { fail: 400% } } }, x"].map(
		(name) => loaded(file({ model: `engines: { ${name}: { precision: fp32 } }` })),
	);
	if (base === undefined || head === undefined) throw new Error("no config");
	const gates = judgeLimitChanges({
		base,
		head,
		counterparts: new Map([["net/new", "net/old"]]),
		holds: "base",
	});
	expect(gates).toMatchObject([
		{ engine: "new", status: "warn", message: expect.stringContaining("10 % → 400 %") },
	]);
});
