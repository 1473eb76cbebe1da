import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/core/config/parse.ts";
import { engineSpecs } from "../../../src/core/plan/plan.ts";
import { recipeText } from "../../../src/core/plan/recipe.ts";
import { parseRepro, reproConfig } from "../../../src/core/repro/config.ts";

function load(text: string) {
	const loaded = loadConfig(text, { path: "trtgate.yml" });
	if (loaded.state === "invalid") throw loaded.errors[0];
	const [spec] = engineSpecs(loaded.config);
	if (spec === undefined) throw new Error("no engine");
	return spec;
}

const packed = { backend: "tensorrt", onnx: "net.onnx", golden: "golden.json" } as const;
const pack = (text: string): string => JSON.stringify(reproConfig(text, load(text), packed));
const textOf = (model: string, rest = ""): string =>
	`version: 1\nmodels:\n  net: { onnx: models/net.onnx, workloads: [], golden: g/golden.json, ${model} }\n${rest}`;

describe("reproConfig", () => {
	it.each([
		["nothing but the file", "dims: { batch: 2 }"],
		[
			"ranges and shapes",
			"dims: { batch: { min: 1, opt: 4, max: 8 } }, inputs: { x: { shape: [batch, 3] } }",
		],
		["profiles", "dims: { batch: 4 }, profiles: [{ batch: 1 }, { batch: { min: 2, opt: 4, max: 8 } }]"],
		["a precision", "engines: { half: { precision: fp16, dims: { batch: 4 } } }"],
		[
			"TensorRT's settings",
			'engines: { a: { precision: int8, workspace: 2GiB, optimization-level: 5, dla: { core: 1 }, flags: ["--sparsity=enable"] } }',
		],
		[
			"settings of the model",
			'workspace: 512MiB, flags: ["--avgTiming=4", "--layerPrecisions=/a/Conv:fp32"]',
		],
	])("%s: the engine is built in the same way", (_, model) => {
		const text = textOf(model);
		const written = parseRepro(pack(text), "repro.json");
		const [was, is] = [load(text), load(JSON.stringify(written))];
		expect(recipeText({ spec: is })).toBe(recipeText({ spec: was }));
		expect(is.engine).toMatchObject({ onnx: "net.onnx", golden: "golden.json", workloads: [] });
	});

	it("nothing that is run or compared with goes along", () => {
		const rest =
			"comparators: { mine: { command: [evil] } }\nbase: { trtexec: other }\ngates: { work: { fail: 5% } }\n";
		const text = textOf(
			"prepare: make, engines: { a: { precision: fp32, gates: { latency: { fail: 3% } } }, b: { precision: fp16 } }",
			rest,
		);
		expect(pack(text)).not.toMatch(/prepare|evil|other|gates|fp16/);
	});
});

describe("parseRepro", () => {
	const plain = textOf("engines: { a: { precision: fp16 } }");

	it.each([
		["plugins", "plugins: [p.so]"],
		["a calibration cache", "engines: { a: { precision: int8, calibration: c.cache } }"],
		["a library", 'flags: ["--leanDLLPath=p.so"]'],
		["a network", 'flags: ["--remoteAutoTuningConfig=x"]'],
	])("an engine that needs %s is packed, and not replayed", (_, model) => {
		const text = pack(textOf(model));
		expect(() => parseRepro(text, "repro.json")).toThrow(/^repro\.json\/models\/net.*: expected/);
	});

	it.each([
		["3", /expected .*, got a number/],
		["[]", /got an empty list/],
		['{"models":', /^repro\.json: expected JSON, got text that is not JSON/],
		[pack(plain).replace('"net.onnx"', '"../net.onnx"'), /\/models\/net\/onnx: expected/],
		[pack(plain).replace('"golden.json"', '"/etc/golden.json"'), /\/models\/net\/golden: expected/],
		[pack(plain).replace('"probes"', '"history":{"branch":"x"},"probes"'), /history/],
	])("%j is refused", (text, message) => {
		expect(() => parseRepro(text, "repro.json")).toThrow(message);
	});
});
