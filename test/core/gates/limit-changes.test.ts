// What a head's config demands less than its base's, by tables of two files.
import { expect, it } from "vitest";
import { judgeLimitChanges, judgeUnreadBase } from "../../../src/core/gates/limit-changes.ts";
import type { GateResult } from "../../../src/core/schema/result.ts";
import { loaded } from "../config/load.ts";

const net = "net: { onnx: net.onnx, dims: { batch: { min: 1, opt: 8, max: 32 } }";

function file({ model = "", rest = "" }: { model?: string; rest?: string }): string {
	return `version: 1\nmodels:\n  ${net}${model === "" ? "" : `, ${model}`} }\n${rest}`;
}

function judge(base: string, head: string): GateResult[] {
	return judgeLimitChanges(loaded(base), loaded(head));
}

interface Row {
	base?: string;
	head?: string;
	/** Of the model rather than of the file. */
	in?: "model";
	says: string;
	/** The other way round is none: nobody is asked about a limit that became tighter. */
	both?: true;
}

const rows: readonly Row[] = [
	{ head: "gates: { latency: { fail: 400% } }", says: "gates.latency.fail is looser: 10 % → 400 %." },
	{ head: "gates: { latency: { warn: off } }", says: "gates.latency.warn is looser: 2 % → off." },
	{ head: "gates: { p99: { fail: off } }", says: "gates.p99.fail is looser: 20 % → off." },
	{ head: "gates: { memory: { fail: 6% } }", says: "gates.memory.fail is looser: 5 % → 6 %." },
	{ head: "gates: { engine-size: { fail: 50% } }", says: "gates.engine-size.fail is looser: 10 % → 50 %." },
	{ head: "gates: { build-time: { warn: off } }", says: "gates.build-time.warn is looser: 50 % → off." },
	{ base: "gates: { max-latency: 5ms }", says: "gates.max-latency is looser: 5.000 ms → off." },
	{
		base: "gates: { max-latency: 5ms }",
		head: "gates: { max-latency: 1s }",
		says: "gates.max-latency is looser: 5.000 ms → 1.000 s.",
	},
	{ head: "gates: { golden: { relative-l2: 1000000000 } }", says: "gates.golden.relative-l2 is looser: 1e-3 (fp32) → 1e+9 (fp32)." },
	{ head: "gates: { golden-change: off }", says: "gates.golden-change is looser: warn → off." },
	{ head: "gates: { limit-change: off }", says: "gates.limit-change is looser: warn → off." },
	{ head: "gates: { probes: off }", says: "gates.probes is looser: warn → off." },
	{ base: "gates: { inconclusive: fail }", says: "gates.inconclusive is looser: fail → neutral." },
	{ base: "gates: { work: { fail: 5% } }", says: "gates.work.fail is looser: 5 % → off." },
	{ head: "probes: off", says: "probes is looser: nightly → off." },
	{ base: "probes: [determinism, padding]", head: "probes: [padding]", says: "probe determinism was removed; in the base: enabled." },
	{ head: "measure: { pairs: [5] }", says: "measure.pairs is lower: at most 16 → at most 5." },
	{ head: "measure: { duration: 100ms }", says: "measure.duration is lower: 3.0 s → 100 ms." },
	{ base: "measure: { transfers: true }", says: "measure.transfers is looser: true → false." },
	{ base: "preflight: { strict: true }", says: "preflight.strict is looser: true → false." },
	{ base: "preflight: { tensorrt: 10.6 }", says: "preflight.tensorrt was removed; in the base: 10.6." },
	{ base: "backend: tensorrt", head: "backend: onnxruntime", says: "backend is looser: tensorrt → onnxruntime." },
	{
		base: "comparators: { lpips: { command: [python3, lpips.py] } }",
		head: "comparators: { lpips: { command: [echo, ok] } }",
		says: "comparators.lpips changed: python3 lpips.py → echo ok.",
		both: true,
	},
	{
		base: "comparators: { lpips: { command: [python3, lpips.py] } }",
		says: "comparators.lpips was removed; in the base: python3 lpips.py.",
	},
	{
		head: "baseline: { from: pinned, ref: v0 }",
		says: "baseline changed: base-ref → pinned v0.",
		both: true,
	},
	{
		head: "base: { trtexec: /opt/trt/bin/trtexec }",
		says: "base changed: on the head's TensorRT → trtexec /opt/trt/bin/trtexec.",
		both: true,
	},
	{
		base: "runners: [{ name: l4, labels: gpu }]",
		head: "runners: [{ name: h100, labels: gpu }]",
		says: "net/fp32 on runner l4 was removed; in the base: measured there.",
		both: true,
	},
	{ in: "model", head: "gates: { latency: { fail: 400% } }", says: "gates.latency.fail is looser: 10 % → 400 %." },
	{
		in: "model",
		base: "workloads: [{ name: big, batch: 32, streams: 2 }]",
		head: "workloads: [{ name: big, batch: 1, streams: 2 }]",
		says: "workloads.dims.batch is lower: 32 → 1.",
	},
	{
		in: "model",
		base: "workloads: [{ name: big, batch: 32, streams: 2 }]",
		head: "workloads: [{ name: big, batch: 32 }]",
		says: "workloads.streams is lower: 2 → 1.",
	},
	{
		in: "model",
		base: "engines: { fp32: { precision: fp32 } }",
		head: "engines: { fp32: { precision: int8 } }",
		says: "gates.golden.relative-l2 is looser: 1e-3 (fp32) → 5e-2 (int8).",
	},
];

it.each(rows)("a head that demands less warns: $says", ({ base = "", head = "", in: where, says, both }) => {
	const [before, after] = [base, head].map((text) => file(where === "model" ? { model: text } : { rest: text }));
	const [gate, ...others] = judge(before ?? "", after ?? "");
	expect(others).toEqual([]);
	expect(gate).toMatchObject({ gate: "limit-change", status: "warn", message: `${says} It needs a review.` });
	if (both !== true) expect(judge(after ?? "", before ?? "")).toEqual([]);
	for (const text of [before, after]) expect(judge(text ?? "", text ?? "")).toEqual([]);
});

it.each([
	["warn", "warn"],
	["fail", "fail"],
	["off", undefined],
])("a head that demands less does what the base says, %s, whatever it says itself", (base, status) => {
	for (const own of ["off", "warn", "fail"]) {
		const gates = (limitChange: string, fail: string) =>
			file({ rest: `gates: { limit-change: ${limitChange}, latency: { fail: ${fail} } }` });
		const [gate] = judge(gates(base, "10%"), gates(own, "400%")).filter(({ message }) => message.includes("latency"));
		expect(gate?.status).toBe(status);
	}
});

it("a head that demands less is reported once for all places, for what they have in common, at its line", () => {
	const many = "engines: { a: { precision: fp32 }, b: { precision: fp32 } }, workloads: [{ batch: 1 }, { batch: 8 }]";
	const [everywhere] = judge(file({ model: many }), file({ model: many, rest: "gates: { memory: { fail: off } }" }));
	expect(everywhere).toMatchObject({ model: "net", message: expect.stringContaining("Applies to 4 workloads. It needs a review.") });
	expect(everywhere?.engine).toBeUndefined();
	expect(everywhere?.location).toMatchObject({ path: "trtgate.yml", line: 4 });
	const one = many.replace("{ batch: 8 }", "{ batch: 8, gates: { latency: { fail: off } } }").replace(", b: { precision: fp32 }", "");
	const [place] = judge(file({ model: many }), file({ model: one }));
	expect(place).toMatchObject({ model: "net", engine: "a", workload: "batch 8" });
});

it("a head that demands less is none where only the head has the model, engine or workload, or where the base's is gone", () => {
	const loose = "gates: { latency: { fail: 900% } }";
	const more = file({ model: `engines: { fp32: { precision: fp32 }, new: { precision: fp16, ${loose} } }` });
	expect(judge(file({}), more)).toEqual([]);
	expect(judge(more, file({}))).toEqual([]);
	expect(judge(file({}), `${file({})}  other: { onnx: o.onnx, ${loose} }\n`)).toEqual([]);
});

it("a head that demands less is unknown if the base's config cannot be read, which is reported", () => {
	const gate = judgeUnreadBase("models is missing", loaded(file({})));
	expect(gate).toMatchObject({ status: "warn", model: "trtgate.yml", message: expect.stringContaining("models is missing") });
});
