// A decoder through the built bundle: recorded in steps, judged in steps, and planted faults found.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Result } from "../../generated/result.ts";
import { decodeNpy, encodeNpy } from "../../src/formats/tensor/npy.ts";
import { parseManifest } from "../../src/golden/core/manifest/parse-manifest.ts";
import oracle from "../oracles/decoder.json" with { type: "json" };
import { expectSchema } from "../support/expect-schema.ts";
import { int64 } from "../support/golden-tensors.ts";
import { expectExit, readResult, runCli, temporaryFolder, writeProject } from "../support/project.ts";

const model = (name: string) => readFileSync(resolve(`test/fixtures/decoder/${name}.onnx`));

const modelOf = (name: string, onnx = name) => `  ${name}:
    onnx: ${onnx}.onnx
    dims: { batch: { min: 1, opt: 1, max: 2 } }
    profiles:
      - { seq: { min: 1, opt: 8, max: 64 }, past: { min: 0, opt: 1, max: 1 }, past + seq: { min: 1, opt: 9, max: 65 } }
      - { seq: 1, past: { min: 1, opt: 16, max: 64 }, past + seq: { min: 2, opt: 17, max: 65 } }
    engines: { fp32: { precision: fp32 }, fp16: { precision: fp16 } }
    workloads: ${onnx === "base" ? "[{ prefill: 8 }, { decode: 16 }]" : "[]"}
    golden: golden/llm/golden.json
`;
const faults = ["scale", "rope", "kv-head"] as const;
const config = `version: 1
backend: onnxruntime
onnxruntime: wasm
models:
${modelOf("llm", "base")}${faults.map((name) => modelOf(name)).join("")}`;

let cwd: string;
let recorded: Awaited<ReturnType<typeof runCli>>;
beforeAll(async () => {
	const tokens = int64(oracle.tokens.map(BigInt), oracle.shape);
	cwd = writeProject(temporaryFolder(afterAll), {
		"trtgate.yml": config,
		"tokens.npy": encodeNpy(tokens),
		...Object.fromEntries(["base", ...faults].map((name) => [`${name}.onnx`, model(name)])),
	});
	const record = `golden record --model llm --inputs tokens.npy --steps ${oracle.steps} --quiet --time-limit 10ms`;
	recorded = await runCli(record.split(" "), { cwd });
});

const manifest = () =>
	parseManifest(readFileSync(join(cwd, "golden/llm/golden.json"), "utf8"), "golden.json");

it("golden record runs a decoder step by step as ONNX Runtime's Python does, and stores the answers only", () => {
	expectExit(recorded, 0);
	const { sequence, cases, outputs } = manifest();
	expect(sequence).toMatchObject({
		steps: oracle.steps,
		each: { input_ids: 1, position_ids: 1 },
		all: { attention_mask: 1 },
		state: {
			"past_key_values.0.value": { output: "present.0.value", shape: [1, 2, 0, 16], axis: 2, batch: 0 },
		},
	});
	const [only] = cases;
	expect(Object.keys(only.inputs).sort()).toEqual(["attention_mask", "input_ids", "position_ids"]);
	const file = only.outputs["logits"]!;
	const tensor = decodeNpy(readFileSync(join(cwd, "golden/llm", file.path)), file);
	expect(tensor.shape).toEqual([2, oracle.steps + 1, 32]);
	const logits = new Float32Array(Uint8Array.from(tensor.data).buffer);
	const largest = oracle.logits.reduce((most, value, at) => Math.max(most, Math.abs(value - logits[at]!)), 0);
	expect(largest).toBeLessThan(1e-4);
	expect(outputs["logits"]).toMatchObject({
		batchAxis: 1,
		comparators: [{ kind: "relative-l2" }, { kind: "top-k", k: 1 }, { kind: "kl" }],
	});
});

it("a rebuild at another optimisation level matches, and the report names the first token and each further one; a planted fault fails at every precision, with the first position that is wrong", async () => {
	const run = await runCli(["run", "--out", "out"], { cwd });
	expectExit(run, 1);
	const result = expectSchema(readResult(join(cwd, "out")), "result") as Result;
	const statesOf = (name: string) =>
		result.golden.filter(({ model }) => model === name).map(({ engine, state }) => [engine, state]);
	expect(statesOf("llm")).toEqual([
		["fp32", "match"],
		["fp16", "match"],
	]);
	const shapes = { input_ids: [1, 1], attention_mask: [1, 17], "past_key_values.0.key": [1, 2, 16, 16] };
	expect(result.workloads.slice(0, 2)).toMatchObject([
		{ workload: "first token · prefill 8", shapes: { "past_key_values.0.key": [1, 2, 0, 16] } },
		{ workload: "per token · decode 16", shapes },
	]);
	for (const name of faults)
		expect(statesOf(name), name).toEqual([
			["fp32", "mismatch"],
			["fp16", "mismatch"],
		]);
	const begin = oracle.shape[1]! - oracle.steps;
	for (const { checks } of result.golden)
		for (const { pass, position } of checks) if (!pass) expect(position).toBeGreaterThanOrEqual(begin - 1);
	const report = readFileSync(join(cwd, "out/report.md"), "utf8");
	expect(report).toContain("per token · decode 16");
	expect(report).toMatch(/first at position \d+/);
});

it("golden record again keeps the sequence, and --steps 0 records single inferences of the same file", async () => {
	const again = await runCli(
		"golden record --model llm --quiet --time-limit 10ms --reason Again. --author Ann".split(" "),
		{
			cwd,
		},
	);
	expectExit(again, 0);
	expect(again.stdout).toContain("Nothing was written");
	const single =
		"golden record base.onnx --out single --steps 0 --cases 2 --dims past=3,seq=2,batch=1 --shape attention_mask=1,5 --quiet --time-limit 10ms";
	const run = await runCli(single.split(" "), { cwd });
	expectExit(run, 0);
	const golden = parseManifest(readFileSync(join(cwd, "single/golden.json"), "utf8"), "golden.json");
	expect(golden.sequence).toBeUndefined();
	expect(Object.keys(golden.cases[0].inputs)).toContain("past_key_values.0.key");
});
