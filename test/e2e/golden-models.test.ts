import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import type { GoldenManifest } from "../../generated/golden.ts";
import { floats, model, tensor, value } from "../support/onnx-writer.ts";
import { expectExit, expectRefusal, runCli, temporaryFolder, writeProject } from "../support/project.ts";

const examples = resolve("examples/quickstart/base/models");

function readGolden(cwd: string, name: string): GoldenManifest {
	return JSON.parse(readFileSync(join(cwd, "golden", name, "golden.json"), "utf8"));
}

const pitch = model({
	nodes: "a = Sub(fmin, most); y = Sqrt(a)",
	inputs: [value("fmin", ["batch"])],
	initializers: [tensor({ name: "most", dims: [1], raw: floats(100) })],
	outputs: [value("y", ["batch"])],
});

it("golden record without a name records all models, goes on after one fails, and keeps what is recorded", async () => {
	const cwd = writeProject(temporaryFolder(), {
		"segmenter.onnx": readFileSync(join(examples, "segmenter.onnx")),
		"classifier.onnx": readFileSync(join(examples, "classifier.onnx")),
		"pitch.onnx": pitch,
		"trtgate.yml": [
			"version: 1",
			"models:",
			"  pitch: { onnx: pitch.onnx, dims: { batch: 1 } }",
			"  segmenter: { onnx: segmenter.onnx }",
			"  classifier: { onnx: classifier.onnx, dims: { batch: 1 } }",
			"",
		].join("\n"),
	});
	const argv = ["golden", "record", "--time-limit", "10ms", "--quiet"];
	const first = await runCli(argv, { cwd });
	expectExit(first, 2);
	expect(first.stderr).toContain(
		'holds nothing but NaN or infinite values; "fmin" was drawn as noise. [golden-uninformative]\n  → Give values, as in --generator fmin=const:…',
	);
	expect(first.stdout).toMatch(/Model 3 of 3: classifier/);
	expect(first.stdout).toMatch(
		/2 of 3 models have a golden:\n {2}pitch {7}failed: Not recorded: .*\n {2}segmenter {3}segmenter@1 recorded, \d+ cases; not tested completely: run again\n {2}classifier/,
	);
	expect(readGolden(cwd, "segmenter").cases.length).toBeGreaterThan(1);

	const named = [...argv, "--time-limit", "10m", "--model", "classifier"];
	expectExit(await runCli(named, { cwd }), 0);
	expect(readGolden(cwd, "classifier").sensitivity?.state).toBe("complete");
	const again = await runCli(argv, { cwd });
	expect(again.stdout).toMatch(/ {2}classifier {2}classifier@1 is recorded already\n$/);
	expect(again.stderr).toContain("The recording of segmenter@1 continues where it stopped.");
});

it("golden record without a name refuses what is for one model, and names the missing config", async () => {
	const cwd = temporaryFolder();
	expectRefusal(
		await runCli(["golden", "record", "--inputs", "photos"], { cwd }),
		"--inputs is for one model",
	);
	expectRefusal(await runCli(["golden", "record"], { cwd }), "trtgate.yml");
});

it("golden record ends an inference that its time does not allow", async () => {
	const net = resolve("test/fixtures/onnxruntime/endless.onnx");
	const argv = ["golden", "record", net, "--out", "golden", "--timeout", "2s", "--quiet"];
	const ended = await runCli(argv, { cwd: temporaryFolder() });
	expectRefusal(ended, /finished 0 of 8 cases in 2 s.*nothing was recorded\. \[tool-timeout\]/, 3);
});

const quantised = model({
	nodes: "q, s, z = DynamicQuantizeLinear(x); d = DequantizeLinear(q, s, z); y = MatMul(d, w)",
	inputs: [value("x", [1, 64])],
	initializers: [
		tensor({
			name: "w",
			dims: [64, 32],
			raw: floats(...Array.from({ length: 2048 }, (_, at) => Math.sin(at * at))),
		}),
	],
	outputs: [value("y", [1, 32])],
});

it("golden record gives a quantised model at fp32 the limits of fp16 where no other build of ONNX Runtime runs, and says why", async () => {
	const cwd = writeProject(temporaryFolder(), { "net.onnx": quantised });
	const argv = "golden record net.onnx --time-limit 10m --notice fp32=0,fp16=0 --quiet".split(" ");
	const env = { npm_config_registry: "http://127.0.0.1:9", XDG_CACHE_HOME: join(cwd, "cache") };
	const why = "cannot be installed: npm ci ended with";
	const recorded = await runCli([...argv, "--out", "golden/net"], { cwd, env });
	expectExit(recorded, 0);
	expect(recorded.stderr).toContain(why);
	const { rounding, outputs, unfinished } = readGolden(cwd, "net");
	expect(unfinished).toBeUndefined();
	expect(rounding?.fp32?.by).toMatch(/^fp16, emulated, because /);
	expect(rounding?.fp32?.by).toContain(why);
	const tolerance = outputs["y"]?.comparators?.[0]?.tolerance as Record<string, number>;
	expect(tolerance["fp32"]).toBe(tolerance["fp16"]);
});
