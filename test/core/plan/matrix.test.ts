import fc from "fast-check";
import { expect, it } from "vitest";
import type { GateResult } from "../../../generated/result.ts";
import { keepSelected, parsePatterns } from "../../../src/core/config/select.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import {
	formatMatrix,
	formatReview,
	parseLabels,
	parseMatrix,
	parseReview,
	planMatrix,
} from "../../../src/core/plan/matrix.ts";
import { artifactName } from "../../../src/host/formats/github/names.ts";
import { loaded } from "../config/load.ts";

const artifactOf = (job: string) => artifactName("trtgate", { config: "trtgate.yml", job });

const modelLines = `models:
  resnet50: { onnx: a.onnx, engines: { fp16: { precision: fp16 }, int8: { precision: int8 } } }
  bert: { onnx: b.onnx }
`;

function plan(runners: string, name = "") {
	const config = loaded(`version: 1\n${modelLines}${runners === "" ? "" : `runners: ${runners}\n`}`);
	return planMatrix({ config, labels: ["ubuntu-latest"], artifactOf, name });
}

it("planMatrix makes a single job if the config names no runners", () => {
	expect(plan("")).toEqual([
		{ name: "all", runner: '["ubuntu-latest"]', only: "", device: "", artifact: "trtgate-all" },
	]);
});

it("planMatrix makes one job a runner, with its labels, device and engines", () => {
	const jobs = plan(
		'[{ name: l4, labels: gpu-l4 }, { name: "H200 big", labels: { group: gpu, labels: [h200] }, engines: ["*/int8"], device: 1 }]',
	);
	expect(jobs).toMatchObject([
		{ name: "l4", runner: '["gpu-l4"]', only: "", device: "", artifact: "trtgate-l4" },
		{ name: "H200 big", runner: '{"group":"gpu","labels":["h200"]}', only: "*/int8", device: "1" },
	]);
	expect(jobs[1]?.artifact).toBe("trtgate-H200-big");
});

it("planMatrix splits a runner's work by model or by engine", () => {
	const byModel = plan("[{ name: l4, labels: x, split: model, engines: [resnet50/int8, bert] }]");
	expect(byModel.map(({ name, only }) => [name, only])).toEqual([
		["l4 · resnet50", "resnet50/int8"],
		["l4 · bert", "bert"],
	]);
	const byEngine = plan("[{ name: l4, labels: x, split: engine }]");
	expect(byEngine.map(({ only }) => only)).toEqual(["resnet50/fp16", "resnet50/int8", "bert/fp32"]);
});

it("planMatrix keeps engines in one job that are timed against each other", () => {
	const engines = "a: { precision: fp32 }, b: { precision: int8, against: c }, c: { precision: fp16 }";
	const config = loaded(
		`version: 1\nmodels: { net: { onnx: a.onnx, engines: { ${engines} } } }\nrunners: [{ name: l4, labels: x, split: engine }]\n`,
	);
	const jobs = planMatrix({ config, labels: ["x"], artifactOf, name: "" });
	expect(jobs.map(({ name, only }) => [name, only])).toEqual([
		["l4 · net/a", "net/a"],
		["l4 · net/b+c", "net/b,net/c"],
	]);
});

it("planMatrix names an engine that is not there, and the one that was meant", () => {
	const refused = () => plan("[{ name: l4, labels: x, engines: [resnet5] }]");
	expect(refused).toThrow(ConfigError);
	expect(refused).toThrow(
		/runners of l4: engines\[0\] names no engine of this config: "resnet5".*Did you mean resnet50\?/,
	);
});

it("planMatrix refuses more jobs than GitHub runs", () => {
	const many = Array.from({ length: 90 }, (_, at) => `  m${at}: { onnx: a.onnx }`).join("\n");
	const runners = ["a", "b", "c"].map((name) => `  - { name: ${name}, labels: x, split: model }`).join("\n");
	const config = loaded(`version: 1\nmodels:\n${many}\nrunners:\n${runners}\n`);
	expect(() => planMatrix({ config, labels: ["x"], artifactOf, name: "" })).toThrow(
		/270 jobs; expected at most 256/,
	);
});

it("planMatrix gives every job a valid name of its own, and loses no engine, whatever runners are called", () => {
	const text = fc
		.string({ minLength: 1, maxLength: 20, unit: "grapheme" })
		.filter((name) => name.trim() !== "" && !/[\p{Cc}\p{Surrogate}\u2028\u2029]/u.test(name));
	const names = fc.uniqueArray(text, { minLength: 1, maxLength: 6, selector: (name) => name.toLowerCase() });
	const config = loaded(`version: 1\n${modelLines}`);
	const splits = fc.constantFrom("none" as const, "model" as const, "engine" as const);
	fc.assert(
		fc.property(names, splits, (list, split) => {
			const runners = list.map((name) => ({ name, labels: ["x"], engines: [], split, pointer: "" }));
			const jobs = planMatrix({ config: { ...config, runners }, labels: [], artifactOf, name: "" });
			expect(new Set(jobs.map((job) => job.artifact.toLowerCase())).size).toBe(jobs.length);
			for (const { artifact } of jobs) expect(artifact).toMatch(/^[A-Za-z0-9._-]{1,200}$/);
			const engines = jobs.flatMap(({ only }) =>
				keepSelected(config.models, parsePatterns(only)).flatMap((model) => model.engines),
			);
			expect(engines.length).toBe(3 * list.length);
			expect(parseMatrix(formatMatrix(jobs))).toEqual(jobs);
		}),
	);
});

const noMatrices = [
	...["{}", "[]", '{"include":[]}', '{"include":[7]}', '[{"name":"a"}]', '[{"artifact":7}]'],
	'[{"artifact":"a"}]',
	'[{"name":"a","artifact":"x"},{"name":"a","artifact":"y"}]',
	'[{"name":"a","artifact":"x"},{"name":"b","artifact":"x"}]',
];

it.each(["nonsense", "null", ...noMatrices])("parseMatrix refuses %s in one sentence", (text) => {
	expect(() => parseMatrix(text)).toThrow(/not a plan's matrix/);
});

it("parseLabels takes labels separated by commas or lines", () => {
	expect(parseLabels("self-hosted, gpu,\n l4\n")).toEqual(["self-hosted", "gpu", "l4"]);
});

it("planMatrix distinguishes several plans of one workflow by their name", () => {
	const [one, two] = [plan("", "one"), plan("", "two")];
	expect(one[0]?.artifact).not.toBe(two[0]?.artifact);
});

const lost: GateResult = {
	gate: "coverage",
	model: "net",
	engine: "fp16",
	workload: "batch 8",
	status: "fail",
	message: "The base checks this workload; the head no longer does.",
};

it("a review is the same after the way through an output, the worst first", () => {
	const change = { gate: "limit-change", model: "trtgate.yml" } as const;
	const listed: GateResult = { ...change, status: "pass", message: "20 % → 10 %." };
	const warned: GateResult = { ...listed, status: "warn", model: "net", message: "10 % → 400 %." };
	expect(parseReview(formatReview([listed, lost, warned]))).toEqual([lost, warned, listed]);
	expect(parseReview(formatReview([]))).toEqual([]);
});

it.each(["", " \n"])("a review that no plan made is none: %j", (text) => {
	expect(parseReview(text)).toEqual([]);
});

it("a review of any names and messages comes through", () => {
	const text = fc.string({ unit: "binary", maxLength: 300 });
	const gates = fc.constantFrom("coverage", "limit-change");
	const gate = fc.record({ gate: gates, model: text, status: fc.constant("warn"), message: text });
	fc.assert(
		fc.property(fc.array(gate, { maxLength: 20 }), (review) => {
			expect(parseReview(formatReview(review as GateResult[]))).toEqual(review);
		}),
	);
});

it("a review too long for an output keeps what fails, and cuts long messages", () => {
	const passed: GateResult[] = Array(1999).fill({ ...lost, status: "pass" });
	const many = [...passed, lost];
	const kept = parseReview(formatReview([...many, { ...lost, message: "x".repeat(100_000) }]));
	expect(kept).toHaveLength(500);
	expect(kept.slice(0, 2).map(({ status }) => status)).toEqual(["fail", "fail"]);
	expect(kept[1]?.message).toHaveLength(2000);
});

const changed = (changes: object) => JSON.stringify([{ ...lost, ...changes }]);

it.each([
	["no JSON", "{"],
	["no list", "{}"],
	["null", "null"],
	["a text", '"pass"'],
	["entries that are no mappings", "[null]"],
	["lists for entries", "[[]]"],
	["a gate that a plan does not judge", changed({ gate: "latency" })],
	["a gate named as a property of all objects", changed({ gate: "constructor" })],
	["an unknown status", changed({ status: "green" })],
	["no model", changed({ model: undefined })],
	["no message", changed({ message: undefined })],
	["a number for a name", changed({ engine: 1 })],
	["a message without end", changed({ message: "x".repeat(2001) })],
	["more than a plan writes", JSON.stringify(Array.from({ length: 501 }, () => lost))],
])("a review of %s is refused, with what to pass on", (_, text) => {
	expect(() => parseReview(text)).toThrow(
		expect.objectContaining({ code: "usage", fix: expect.stringContaining("`review`") }),
	);
});

it("a review copies only its own fields", () => {
	const text = `[${JSON.stringify({ ...lost, part: "l4", location: { path: "/etc/passwd" } }).slice(0, -1)},"__proto__":{"status":"pass"}}]`;
	expect(parseReview(text)).toEqual([lost]);
});
