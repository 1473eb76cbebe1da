import { describe, expect, it } from "vitest";
import type { ErrorRecord, GoldenVerdict, Result } from "../../../generated/result.ts";
import { loadConfig } from "../../../src/core/config/parse.ts";
import { engineSpecs } from "../../../src/core/plan/plan.ts";
import { recipeText } from "../../../src/core/plan/recipe.ts";
import {
	chooseFailure,
	compareReplay,
	failuresOf,
	nameOf,
	parseRepro,
	reproConfig,
} from "../../../src/core/repro/failures.ts";
import { buildBuild, buildCheck, buildGolden, buildResult } from "../../support/build-result.ts";

type Facts = Pick<Result, "builds" | "findings" | "errors" | "golden">;

const model = "net";
const engine = "fp16";
const built = buildBuild({ model, engine, arm: "head" });
const failure = { code: "operator-unsupported", title: "No such operator.", fix: "", excerpt: [] };
const refused = { ...built, state: "refused" as const, failure };
const crash: ErrorRecord = {
	kind: "runner",
	code: "tool-crashed",
	message: "Died.",
	model,
	engine,
	arm: "head",
};
const check = (overrides: Parameters<typeof buildCheck>[0] = {}) =>
	buildCheck({
		output: "y",
		metric: "relative-l2",
		got: 0.5,
		allowed: 0.1,
		bound: "at-most",
		pass: false,
		...overrides,
	});
const verdict = (overrides: Partial<GoldenVerdict> = {}) =>
	buildGolden({ model, engine, case: "one", state: "mismatch", checks: [check()], ...overrides });
const unanswered = verdict({ state: "error", checks: [], message: "No answer." });
const facts = (overrides: Partial<Facts> = {}): Facts =>
	buildResult({ builds: [built], findings: [], errors: [], golden: [], ...overrides });

describe("failuresOf", () => {
	it.each<[string, Partial<Facts>, string[]]>([
		["a refused build", { builds: [refused] }, ["net/fp16 operator-unsupported"]],
		["a build command", { builds: [{ ...refused, failure: { ...failure, code: "plan-failed" } }] }, []],
		["a base's build", { builds: [{ ...refused, arm: "base" }] }, []],
		[
			"a build that preflight refuses",
			{
				builds: [{ ...built, state: "skipped" }],
				findings: [
					{ code: "calibration-unusable", severity: "error", message: "", model, engine: "int8" },
					{ code: "unknown-operator", severity: "error", message: "", model },
				],
			},
			["net/fp16 unknown-operator"],
		],
		["an engine that fails on its golden", { errors: [crash] }, ["net/fp16 tool-crashed"]],
		["an engine that fails while it is timed", { errors: [{ ...crash, workload: "w" }] }, []],
		["wrong outputs", { golden: [verdict()] }, ["net/fp16/one mismatch"]],
		[
			"outputs that the base gets wrong too",
			{ golden: [verdict({ state: "existing" })] },
			["net/fp16/one existing"],
		],
		["a match", { golden: [verdict({ state: "match", checks: [check({ pass: true })] })] }, []],
		[
			"what only a command calls wrong",
			{ golden: [verdict({ checks: [check({ metric: "custom mine" })] })] },
			[],
		],
		[
			"an error that only grew since the base",
			{ golden: [verdict({ state: "match", checks: [check({ metric: "error-growth" })] })] },
			[],
		],
		["no answer", { golden: [unanswered] }, ["net/fp16/one error"]],
		[
			"a golden that cannot be used",
			{ golden: [{ ...unanswered, fault: { code: "golden-invalid", fix: "" } }] },
			[],
		],
		["a composed batch", { golden: [verdict({ scope: "batch" })] }, []],
	])("%s", (_, given, expected) => {
		expect(failuresOf(facts(given)).map((one) => `${nameOf(one)} ${one.code}`)).toEqual(expected);
	});
});

describe("chooseFailure", () => {
	const failures = failuresOf(
		facts({ golden: [verdict(), verdict({ case: "two" }), verdict({ engine: "int8" })] }),
	);

	it.each([
		[undefined, "net/fp16/one"],
		["two", "net/fp16/two"],
		["net/int8", "net/int8/one"],
		["net/fp16/two", "net/fp16/two"],
	])("%s is %s", (wanted, name) => {
		expect(nameOf(chooseFailure(failures, wanted))).toBe(name);
	});

	it("another name is refused with those that failed", () => {
		expect(() => chooseFailure(failures, "three")).toThrow('called "three"');
	});
});

describe("compareReplay", () => {
	const limits = { allowed: null, got: null };
	it.each<[string, Partial<Facts>, Partial<Facts>, boolean]>([
		["the same refusal", { builds: [refused] }, { builds: [refused] }, true],
		[
			"another refusal",
			{ builds: [refused] },
			{ builds: [{ ...refused, failure: { ...failure, code: "no-gpu" } }] },
			false,
		],
		["a build that succeeds", { builds: [refused] }, {}, false],
		["the same crash", { errors: [crash] }, { errors: [crash] }, true],
		["no crash", { errors: [crash] }, { golden: [verdict({ state: "match", checks: [] })] }, false],
		["the same error", { golden: [verdict()] }, { golden: [verdict()] }, true],
		[
			"an error under the recorded limit",
			{ golden: [verdict()] },
			{ golden: [verdict({ checks: [check({ got: 0.1 })] })] },
			false,
		],
		[
			"an error beyond it, under another limit",
			{ golden: [verdict()] },
			{ golden: [verdict({ checks: [check({ got: 0.2, pass: true })] })] },
			true,
		],
		["NaN", { golden: [verdict()] }, { golden: [verdict({ checks: [check({ got: "NaN" })] })] }, true],
		[
			"a cosine that is too small",
			{ golden: [verdict({ checks: [check({ bound: "at-least", allowed: 0.9 })] })] },
			{ golden: [verdict({ checks: [check({ bound: "at-least", got: 0.8 })] })] },
			true,
		],
		[
			"one of two outputs",
			{ golden: [verdict({ checks: [check(), check({ output: "z" })] })] },
			{ golden: [verdict({ checks: [check({ got: 0 }), check({ output: "z" })] })] },
			true,
		],
		[
			"another slice",
			{ golden: [verdict()] },
			{ golden: [verdict({ checks: [check({ slice: { axis: 0, to: 1 } })] })] },
			false,
		],
		[
			"a wrong shape",
			{ golden: [verdict({ checks: [check({ metric: "shape", ...limits })] })] },
			{ golden: [verdict({ checks: [check({ metric: "shape", ...limits })] })] },
			true,
		],
		[
			"a shape that is right again",
			{ golden: [verdict({ checks: [check({ metric: "shape", ...limits })] })] },
			{ golden: [verdict({ checks: [check({ got: 0 })] })] },
			false,
		],
		["outputs from an engine that is not built", { golden: [verdict()] }, { builds: [refused] }, false],
		["no answer again", { golden: [unanswered] }, { golden: [unanswered] }, true],
		["an answer", { golden: [unanswered] }, { golden: [verdict()] }, false],
		["no verdict", { golden: [verdict()] }, {}, false],
	])("%s", (_, recorded, now, isReproduced) => {
		const was = chooseFailure(failuresOf(facts(recorded)), undefined);
		expect(compareReplay(was, facts(now))).toMatchObject({ isReproduced });
	});
});

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
