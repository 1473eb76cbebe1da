// TensorRT 10.15 and 11.2 recorded no golden run: their builders lacked this GPU's kernels.
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { GoldenManifest, GoldenOutput, Precision } from "../../../generated/golden.ts";
import type { GoldenVerdict } from "../../../generated/result.ts";
import { readModel } from "../../../src/adapters/files/model-reader.ts";
import { fileStore } from "../../../src/adapters/files/store.ts";
import { fileTensorReader } from "../../../src/adapters/files/tensor-reader.ts";
import { trtexecBackend } from "../../../src/adapters/trtexec/backend.ts";
import { judgeGolden } from "../../../src/core/gates/goldens.ts";
import { inputKinds } from "../../../src/core/input-kind.ts";
import { engineSpecs } from "../../../src/core/plan/plan.ts";
import { parseVersionText } from "../../../src/formats/trtexec/banner.ts";
import { checkLine } from "../../../src/golden/app/check.ts";
import { parseManifest } from "../../../src/golden/core/manifest/parse-manifest.ts";
import { loadGoldens } from "../../../src/golden/stages/load-goldens.ts";
import { verify } from "../../../src/golden/stages/verify.ts";
import type { BuiltEngine } from "../../../src/ports/backend.ts";
import type { ModelOnDisk } from "../../../src/ports/world.ts";
import { loaded } from "../../core/config/load.ts";
import { recordedCases, recordedVersions } from "../../formats/trtexec/recorded.ts";
import { silent } from "../../support/fakes.ts";
import { collect } from "../../support/golden-stream.ts";
import { type AtEnd, temporaryFolder, writeProject } from "../../support/project.ts";
import { recordedRuns, replayGoldenRuns, writeRecordedGolden } from "../../support/recorded-goldens.ts";

interface Recorded {
	runs: string;
	model: string;
	precision: Precision;
	goldenModel?: string;
	outputs?: Record<string, GoldenOutput>;
	says: string[][];
}

const mask: Record<string, GoldenOutput> = {
	mask: { semantic: "mask", comparators: [{ kind: "pixel-disagreement" }] },
};
const in10 = "trtexec-10.6/golden-";
const partLabels =
	'The shape of output "y" depends on the data, and trtexec\'s raw file holds only its first values. [raw-dump-truncated] ' +
	"Install TensorRT's Python package: golden cases then run in it and read such outputs completely.";
const otherWords =
	"The golden was recorded from a different model (732b2b5…, this one is 3cc971a…): fix the change, or record the golden again.";

const l2 = (output: string, got: string, limit: string) =>
	`${Number(got) <= Number(limit) ? "✓" : "✗"} ${output}: relative-l2 ${got} (≤ ${limit})`;
const nan =
	"✗ y: non-finite 16 (≤ 0); 16 NaN or infinite in the engine's output, 16 in the golden, but none are allowed: record it again, or set nonFinite: must-match";
const limits: Partial<Record<Precision, string>> = { fp32: "1e-3", fp16: "5e-3", int8: "5e-2", tf32: "5e-3" };
const logits = (got: string, limit = "1e-3") => l2("logits_out", got, limit);
const pixels = (got: string) => `✓ mask: pixel-disagreement ${got} (≤ 1e-2)`;
const movedPixel = "✗ mask: allclose 2.4e-4 (≤ 0); 1 of 4096 elements are out of tolerance";

function runs(model: string, precision: Precision, checks: string[], name?: string) {
	const prefix = `${in10}${name ?? `${model}-${precision}-`}`;
	return { runs: prefix, model, precision, says: checks.map((check) => [check]) };
}

function segmenter(precision: Precision, got: string[], differ: string[]) {
	const says = got.map((one, at) => [logits(one, limits[precision]), pixels(differ[at]!)]);
	return { ...runs("segmenter", precision, []), outputs: mask, says };
}

const each = (output: string, limit: string, ...got: string[]) => got.map((one) => l2(output, one, limit));
const classifier = (precision: Precision, got: string[], name?: string) =>
	runs("classifier", precision, each("probabilities", limits[precision]!, ...got), name);
const table: Recorded[] = [
	classifier("fp32", ["3.3e-7", "1e-6"]),
	classifier("fp16", ["1.2e-3", "2.4e-3"]),
	// Never calibrated.
	classifier("int8", ["0.7673", "0.7915"]),
	// --best takes int8 too, and nothing was calibrated here either.
	classifier("int8", ["0.7673", "0.7915"], "classifier-best-"),
	// Built without --noTF32, at --builderOptimizationLevel=0: it computed in TF32, and one case is just beyond what fp32 allows.
	classifier("fp32", ["4.2e-4", "1.2e-3"], "classifier-level0-"),
	// The same engine, called what it is.
	classifier("tf32", ["4.2e-4", "1.2e-3"], "classifier-level0-"),
	classifier("fp32", ["3.3e-7"], "dump-output"),
	...(["fp32", "fp16"] as const).flatMap((precision) => {
		const limit = limits[precision]!;
		const hidden = precision === "fp32" ? ["6.5e-4", "5.9e-4"] : ["1.1e-3", "1e-3"];
		return [
			{
				...runs("detector", precision, []),
				says: [
					[l2("boxes", "5.1e-4", limit), l2("scores", "2.5e-4", limit)],
					[l2("boxes", "5.4e-4", limit), l2("scores", "2.3e-4", limit)],
				],
			},
			runs("encoder", precision, each("hidden", limit, ...hidden)),
			// TensorRT kept what overflows in fp32.
			runs("fp16-overflow", precision, each("y", limit, "7e-8", "1.8e-8")),
			runs("nan-output", precision, [nan, nan]),
		];
	}),
	// A network in half precision with half outputs.
	runs("half", "fp32", each("y", "1e-3", "0", "0")),
	runs("data-dependent", "fp32", [partLabels, partLabels]),
	segmenter("fp32", ["3e-7", "3e-7"], ["0", "0"]),
	segmenter("fp16", ["9e-4", "9.1e-4"], ["2.4e-4", "2.4e-4"]),
	{
		// Without comparators integers must be equal, and fp16 moves a pixel.
		...runs("segmenter", "fp16", []),
		says: [
			[logits("9e-4", "5e-3"), movedPixel],
			[logits("9.1e-4", "5e-3"), movedPixel],
		],
	},
	{ ...segmenter("fp32", ["3e-7", "3.1e-7"], ["0", "0"]), runs: "comparisons/wrong-head/0" },
	{
		// One weight tensor is 4 % off.
		...{ runs: "comparisons/wrong-head/0", model: "head-segmenter-wrong", precision: "fp32", outputs: mask },
		goldenModel: "segmenter",
		says: [
			["2.2e-2", 89],
			["1.9e-2", 78],
		].map(([got, count]) => [
			otherWords,
			logits("3.3e-2"),
			`✗ mask: pixel-disagreement ${got} (≤ 1e-2); ${count} of 4096 pixels differ`,
		]),
	},
];

function runsOf({ runs, model }: Recorded) {
	const arm = model.startsWith("head-") ? "head" : "base";
	return Object.keys(recordedRuns).filter(
		(name) => name.startsWith(runs) && (!name.startsWith("comparisons/") || name.includes(`-${arm}-`)),
	);
}

interface Bed {
	recorded: Recorded;
	folder: string;
	manifest: GoldenManifest;
	model: ModelOnDisk;
	config: ReturnType<typeof loaded>;
	spec: BuiltEngine["spec"];
}

const ports = { files: fileStore(), tensors: fileTensorReader() };
const modelPath = (name: string) => resolve("test/fixtures/models", `${name}.onnx`);
const ends: (() => void | Promise<void>)[] = [];
const atEnd: AtEnd = (clean) => void ends.push(clean);

async function bed(recorded: Recorded) {
	const { model: name, goldenModel, precision, outputs } = recorded;
	const folder = temporaryFolder(atEnd);
	mkdirSync(join(folder, "logs"));
	writeRecordedGolden(folder, runsOf(recorded), {
		modelPath: modelPath(goldenModel ?? name),
		...(outputs ? { outputs } : {}),
	});
	const engine = `engines: { ${precision}: { precision: ${precision} } }`;
	const config = loaded(
		`version: 1\nbackend: tensorrt\nmodels:\n  ${name}: { onnx: model.onnx, ${engine}, golden: golden.json }\n`,
	);
	const [spec] = engineSpecs(config);
	if (spec === undefined) throw new Error("no engine");
	const text = await ports.files.readText(join(folder, "golden.json"), inputKinds.golden);
	const manifest = parseManifest(text, "golden.json");
	return { recorded, folder, manifest, model: await readModel(modelPath(name)), config, spec };
}

function load({ spec, model, folder }: Bed, progress = silent) {
	const models = [{ state: "ready", spec, arm: "head", model }] as const;
	const input = { models, changed: new Set<string>(), headFolder: folder, limitsOfBase: false };
	return loadGoldens(input, { ...ports, progress });
}

async function judge({ recorded, folder, manifest, model, spec }: Bed) {
	const version = parseVersionText("10.6.0");
	if (version === null) throw new Error("no version");
	const backend = trtexecBackend({
		...{ trtexec: { program: "trtexec", version }, gpu: null, processes: replayGoldenRuns(runsOf(recorded)) },
		timing: { cudaGraph: true, spinWait: true, transfers: false },
	});
	const place = { model: spec.model.name, engine: spec.engine.name, arm: "head" } as const;
	const record: BuiltEngine["record"] = { ...place, state: "built", durationMs: 1, warnings: [] };
	const engine: BuiltEngine = { spec, arm: "head", record, path: join(folder, "engine.plan"), model };
	const input = {
		engines: [engine],
		goldens: new Map([[spec.id, { manifest, folder }]]),
		modelSha256: new Map([[spec.model.name, model.sha256]]),
		...{ outFolder: folder, threads: 1, timeoutMs: 1000 },
	};
	return (await collect(verify(input, { backend, ...ports, progress: silent }))).map((verified) => {
		if (verified.state === "failed") throw new Error(verified.error.message);
		return verified.verdict;
	});
}

const judged = new Map<Recorded, { bed: Bed; verdicts: GoldenVerdict[] }>();
beforeAll(async () => {
	for (const recorded of table) {
		const made = await bed(recorded);
		judged.set(recorded, { bed: made, verdicts: await judge(made) });
	}
});
afterAll(async () => {
	for (const clean of ends) await clean();
});

it.each(table)("are judged so: $runs* at $precision", (recorded) => {
	const verdicts = judged.get(recorded)?.verdicts ?? [];
	expect(
		verdicts.map(({ message, checks }) => [
			...(message === undefined ? [] : [message]),
			...checks.map((check) => checkLine(check).trim()),
		]),
	).toEqual(recorded.says);
	for (const { state, checks } of verdicts)
		expect(state === "match").toBe(checks.length > 0 && checks.every(({ pass }) => pass));
	expect(verdicts.map((verdict) => verdict.case)).toEqual(runsOf(recorded));
});

it("are all in this table, and no version has others", () => {
	expect(new Set(table.flatMap(runsOf))).toEqual(new Set(Object.keys(recordedRuns)));
	const folders = recordedVersions.flatMap((version) =>
		recordedCases(version).map((name) => `trtexec-${version}/${name}`),
	);
	const golden = folders.filter((name) => name.includes("/golden-"));
	expect(golden.length).toBe(35);
	expect(golden.filter((name) => !Object.hasOwn(recordedRuns, name))).toEqual([]);
});

const gateOf = (recorded: Recorded) => {
	const { bed: made, verdicts } = judged.get(recorded) ?? {};
	const [engine] = made?.config.models[0]?.engines ?? [];
	if (made === undefined || engine === undefined) throw new Error("not judged");
	return (verdicts ?? [])
		.flatMap((verdict) => judgeGolden(verdict, made.config, engine))
		.map(({ status, message }) => `${status}: ${message}`);
};
it.each([
	[`${in10}classifier-int8-`, "fail: relative-l2 of probabilities is 0.767; allowed at most 0.05."],
	[`${in10}nan-output-fp32-`, "fail: non-finite of y is 16; allowed at most 0."],
	[`${in10}data-dependent-fp32-`, `fail: ${partLabels}`],
	[`${in10}half-fp32-`, "pass: 1 check agrees with the golden."],
])("go through the gate with a sentence: %s", (runs, sentence) => {
	const recorded = table.find((one) => one.runs === runs);
	expect(recorded === undefined ? [] : gateOf(recorded)[0]).toBe(sentence);
});

it("fail a head with a wrong weight by both of its outputs, in the gate's one sentence", () => {
	const recorded = table.find(({ model }) => model === "head-segmenter-wrong");
	expect(recorded === undefined ? [] : gateOf(recorded)).toEqual([
		`fail: relative-l2 of logits_out is 0.0331; allowed at most 0.001. Also failing: mask. ${otherWords}`,
		`fail: relative-l2 of logits_out is 0.0332; allowed at most 0.001. Also failing: mask. ${otherWords}`,
	]);
});

it("are taken as goldens before any engine runs, but for those of NaN", async () => {
	for (const { bed: made } of judged.values()) {
		const isNan = made.recorded.model === "nan-output";
		const { sets, faults } = await load(made);
		expect([sets.size, faults.size]).toEqual(isNan ? [0, 1] : [1, 0]);
		if (!isNan) continue;
		const message = /cannot fail: output "y" of case "[^"]+" holds nothing but NaN or infinite values/;
		expect([...faults.values()]).toMatchObject([
			{ code: "golden-uninformative", message: expect.stringMatching(message) },
		]);
	}
});

it("goldens of 1 GiB show which case is read, and small ones nothing", async () => {
	const made = await bed(table[0] as Recorded);
	const { folder, manifest } = made;
	const shown: string[] = [];
	const note = (text: string) => void shown.push(text);
	const progress = { ...silent, stage: note, detail: note };
	expect((await load(made, progress)).faults.size).toBe(0);
	expect(shown).toEqual([]);
	for (const file of Object.values(manifest.cases[0]?.outputs ?? {})) file.shape = [2 ** 28];
	writeProject(folder, { "golden.json": JSON.stringify(manifest) });
	expect((await load(made, progress)).faults.size).toBe(1);
	expect(shown).toEqual(["goldens", `case 1 of ${manifest.cases.length}`]);
});
