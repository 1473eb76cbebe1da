import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Finding } from "../../generated/result.ts";
import { readModel, readPatterns } from "../../src/adapters/files/model-reader.ts";
import { type EngineSpec, engineSpecs } from "../../src/core/plan/plan.ts";
import { checkSparsity, type PreflightInput, preflight } from "../../src/stages/preflight.ts";
import { buildConfig } from "../support/build-config.ts";
import { silent } from "../support/fakes.ts";
import { externalTensor, model, tensor } from "../support/onnx-writer.ts";
import { temporaryFolder } from "../support/project.ts";

interface Judged extends Omit<PreflightInput, "models"> {
	modelChanged?: boolean;
}

async function judge(
	file: string,
	{ modelChanged = false, ...input }: Judged,
	spec: Partial<EngineSpec["engine"]> = {},
) {
	const [whole] = engineSpecs(buildConfig());
	const own = { ...whole!, engine: { ...whole!.engine, ...spec } };
	const model = await readModel(`test/fixtures/models/${file}.onnx`);
	const sha256 = modelChanged ? "other" : model.sha256;
	const models = [
		{ state: "ready", spec: own, arm: "base", model: { ...model, sha256 } } as const,
		{ state: "ready", spec: own, arm: "head", model } as const,
	];
	return preflight({ models, ...input }, { progress: silent });
}

const codes = (findings: readonly Finding[]) =>
	findings.map(({ arm, severity, code }) => `${arm} ${severity} ${code}`);
const on10 = { backend: "tensorrt", tensorrt: "10.6" } as const;
const on11 = { backend: "tensorrt", tensorrt: "11.1" } as const;
const batch = { batch: { min: 1, opt: 8, max: 32 } };
const half = { precision: "fp16", dims: batch } as const;

it("the stage preflight passes the engine's precision and sizes to the checks", async () => {
	const typed = await judge("classifier", on11, half);
	expect(codes(typed)).toEqual(["base error precision-typed", "head error precision-typed"]);
	expect(typed[0]?.fix).toMatch(
		/AutoCast .* under `models\.net\.engines\.plain\.onnx`, or ask for fp32\. For an upgrade, name both/,
	);
	const unbound = await judge("classifier", on10);
	expect(codes(unbound)).toEqual(["base error dims-unbound", "head error dims-unbound"]);
});

it("the stage preflight marks what only the head's TensorRT finds, if the base runs the same model on another", async () => {
	const found = await judge("classifier", { ...on11, baseTensorrt: "10.6" }, half);
	expect(found.map(({ arm, code, isNew }) => ({ arm, code, isNew }))).toEqual([
		{ arm: "head", code: "precision-typed", isNew: true },
	]);
	const edited = await judge("classifier", { ...on11, baseTensorrt: "10.6", modelChanged: true }, half);
	expect(edited.map(({ arm, isNew }) => ({ arm, isNew }))).toEqual([{ arm: "head", isNew: undefined }]);
	const known = await judge("classifier", { ...on11, baseTensorrt: "11.0" }, half);
	expect(known.map(({ isNew }) => isNew)).toEqual([undefined, undefined]);
});

it("the stage preflight says what an upgrade to 11 takes away, before anything is built", async () => {
	const flags = [
		"--layerPrecisions=*:fp16",
		"--calibProfile=0",
		"--weightless",
		"--tacticSources=-CUBLAS",
		"--preview=+profileSharing0806",
		"--inputIOFormats=fp16:chw",
		"--heuristic",
		"--tacticSources=-JIT_CONVOLUTIONS",
		"--inputIOFormats=chw",
		"--layerDeviceTypes=a:GPU",
	];
	const settings = {
		...{ plugins: [{ path: "det.so", dynamic: false, pointer: "" }], flags },
		dla: { core: 0, gpuFallback: true },
	};
	const spec = { dims: batch, tensorrt: settings };
	const own = async (tensorrt: string) =>
		codes(await judge("classifier", { backend: "tensorrt", tensorrt }, spec)).filter((code) =>
			code.startsWith("head"),
		);
	const gone = "head error setting-removed";
	const plugin = "head note plugin-deprecated";
	expect(await own("8.6")).toEqual([]);
	expect(await own("10.7")).toEqual([gone]);
	expect(await own("10.8")).toEqual([gone, "head warning dla-unsupported"]);
	expect(await own("11.0")).toEqual([
		...Array.from({ length: 7 }, () => gone),
		"head error dla-unsupported",
		plugin,
	]);
	expect(await own("11.4")).toEqual([...Array.from({ length: 7 }, () => gone), plugin]);
	const [first] = await judge("classifier", on11, spec);
	expect(first?.message).toBe("TensorRT 11.1 no longer takes `--layerPrecisions=*:fp16`.");
	expect(first?.fix).toContain("AutoCast");
});

it("findings of a converted file are new where only the head's TensorRT has that file", async () => {
	const changed = { ...on11, baseTensorrt: "10.6", modelChanged: true };
	const onnxByVersion = [{ range: "<11", from: 0, to: 10, path: "a.onnx" }];
	const found = await judge("classifier", changed, { ...half, onnxByVersion });
	expect(found.map(({ isNew }) => isNew)).toEqual([true]);
});

it("the stage preflight leaves operators that TensorRT lacks to the plugins that the engine loads, and INT8 to its calibration cache", async () => {
	const tensorrt = { plugins: [{ path: "det.so", dynamic: false, pointer: "" }], flags: [] };
	const found = await judge("bad-unsupported-op", on10, { tensorrt });
	expect(codes(found)).toEqual(["head note operator-unsupported"]);
	const int8 = { precision: "int8", dims: batch } as const;
	const ranges = { tensorrt: { plugins: [], flags: [], calibration: { path: "net.cache", pointer: "" } } };
	expect(codes(await judge("classifier", on10, int8))).toEqual(["head warning precision-uncalibrated"]);
	expect(await judge("classifier", on10, { ...int8, ...ranges })).toEqual([]);
	const removed = await judge("classifier", on11, { ...int8, ...ranges });
	expect(codes(removed)).toEqual(["base error calibration-unusable", "head error calibration-unusable"]);
	expect(removed[0]?.message).toBe("TensorRT 11.1 has no calibration, so `calibration` has no use.");
	expect(removed[0]?.fix).toContain("NVIDIA Model Optimizer");
	const unused = await judge("quantised", on10, { ...int8, ...ranges });
	expect(codes(unused)).toEqual(["head warning calibration-unusable"]);
});

it("the stage preflight foretells on ONNX Runtime what a declared TensorRT would refuse, and stops nothing", async () => {
	const found = await judge("bad-unsupported-op", { backend: "onnxruntime", tensorrt: "10.6" });
	expect(codes(found)).toEqual(["head warning operator-unsupported"]);
	expect(found[0]?.message).toBe(
		'On TensorRT (not run here): TensorRT 10.6 does not import Det "determinant": neither 10.1 nor 10.14 does.',
	);
	expect(await judge("bad-unsupported-op", { backend: "onnxruntime" })).toEqual([]);
});

const [rows, columns] = [1024, 1536];

/** Two weights of 6 MiB, one beside the file: every other row is zero. */
function netWith(broken: readonly number[]): string {
	const folder = temporaryFolder();
	const values = Float32Array.from({ length: rows * columns }, (_, at) => Math.floor(at / columns) % 2);
	writeFileSync(join(folder, "weights.bin"), new Uint8Array(values.buffer));
	for (const at of broken) values[at] = 1;
	const raw = new Uint8Array(values.buffer);
	const path = join(folder, "net.onnx");
	writeFileSync(
		path,
		model({
			nodes: "[inner] a = Gemm(x, own); [outer] y = Gemm(a, beside)",
			initializers: [
				tensor({ name: "own", dims: [rows, columns], raw }),
				externalTensor("beside", [rows, columns], { location: "weights.bin" }),
			],
		}),
	);
	return path;
}

async function found(flags: string, broken: readonly number[], base: readonly number[] = []) {
	const [spec] = engineSpecs(buildConfig("", `{ precision: fp16, flags: [${flags}] }`));
	const arms = [["base", base] as const, ["head", broken] as const];
	const models = await Promise.all(
		arms.map(async ([arm, which]) => {
			const read = await readModel(netWith(which));
			return { state: "ready", spec: spec!, arm, model: read } as const;
		}),
	);
	let reads = 0;
	const findings = await checkSparsity(models, {
		patterns: (one) => {
			reads += 1;
			return readPatterns(one);
		},
	});
	return {
		reads,
		codes: findings.map(({ code, node }) => [code, node]),
		text: findings.map(({ message }) => message).join(),
	};
}

/** The last group of the last column: beyond the first chunk. */
const lastGroup = [(rows - 2) * columns + columns - 1];

it("one broken group in one of two weights is found, with its tensor; weights beside the file are read too", async () => {
	const { codes, text } = await found('"--sparsity=enable"', lastGroup);
	expect(codes).toEqual([
		["sparsity-share", undefined],
		["sparsity-lost", "inner"],
	]);
	expect(text).toContain("1 of 2 weights (50.0 %");
	expect(text).toContain(
		`Weight "own" lost its 2:4 pattern: 1 of ${((rows / 4) * columns).toLocaleString("en")} groups`,
	);
});

it("a pattern that neither side has is no loss, and engines without the flag are not read", async () => {
	expect((await found('"--sparsity=enable"', lastGroup, [...lastGroup, 0])).codes).toHaveLength(1);
	expect(await found('"--sparsity=enable"', [])).toMatchObject({
		reads: 1,
		codes: [["sparsity-share", undefined]],
	});
	expect(await found("", lastGroup)).toMatchObject({ reads: 0, codes: [] });
});
