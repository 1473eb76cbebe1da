// Every golden run that TensorRT recorded, judged by the product's own line: the manifest on disk, trtexec's log and dumps, the default
// comparators and limits of the precision. The recordings of TensorRT 10.15 and 11.2 hold none: their builders lacked this GPU's kernels.
import { mkdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GoldenManifest, GoldenOutput, Precision } from "../../../generated/golden.ts";
import type { GoldenVerdict } from "../../../generated/result.ts";
import { fileModelReader } from "../../../src/adapters/files/model-reader.ts";
import { fileStore } from "../../../src/adapters/files/store.ts";
import { fileTensorReader } from "../../../src/adapters/files/tensor-reader.ts";
import { trtexecBackend } from "../../../src/adapters/trtexec/backend.ts";
import { judgeGolden } from "../../../src/core/gates/goldens.ts";
import { inputKinds } from "../../../src/core/input-kind.ts";
import { engineSpecs } from "../../../src/core/plan/plan.ts";
import { parseVersionText } from "../../../src/formats/trtexec/banner.ts";
import { checkLine, headOf } from "../../../src/golden/app/check.ts";
import { parseManifest } from "../../../src/golden/core/manifest/parse-manifest.ts";
import { loadGoldens } from "../../../src/golden/stages/load-goldens.ts";
import { verify } from "../../../src/golden/stages/verify.ts";
import type { BuiltEngine } from "../../../src/ports/backend.ts";
import type { ModelOnDisk } from "../../../src/ports/world.ts";
import { loaded } from "../../core/config/load.ts";
import { recordedCases, recordedVersions } from "../../formats/trtexec/recorded.ts";
import { silent } from "../../support/fakes.ts";
import { type AtEnd, temporaryFolder } from "../../support/project.ts";
import { recordedRuns, replayGoldenRuns, writeRecordedGolden } from "../../support/recorded-goldens.ts";

interface Recorded {
	/** Prefix of its runs' names. */
	runs: string;
	model: string;
	precision: Precision;
	/** Model of the golden, if it differs from the head's. */
	goldenModel?: string;
	outputs?: Readonly<Record<string, GoldenOutput>>;
	/** Notes as `golden check` writes them. */
	says: string;
}

/** As `golden record` proposes for an integer for each pixel, without a limit of its own. */
const mask: Record<string, GoldenOutput> = {
	mask: { semantic: "mask", comparators: [{ kind: "pixel-disagreement" }] },
};
const in10 = "trtexec-10.6/golden-";
const nanLabels =
	"16 NaN or infinite in the engine's output, 16 in the golden, but none are allowed: record it again, or set nonFinite: must-match";
const partLabels =
	'The shape of output "y" depends on the data, and trtexec\'s raw file holds only its first values. [raw-dump-truncated] ' +
	"Install TensorRT's Python package: golden cases then run in it and read such outputs completely.";
const otherWords =
	"The golden was recorded from a different model (732b2b5…, this one is 3cc971a…): fix the change, or record the golden again.";

const table: Recorded[] = [
	{
		...{ runs: `${in10}classifier-fp32-`, model: "classifier", precision: "fp32" },
		says: `
✓ golden-classifier-fp32-0
    ✓ probabilities: relative-l2 3.3e-7 (≤ 1e-3)
✓ golden-classifier-fp32-1
    ✓ probabilities: relative-l2 1e-6 (≤ 1e-3)`,
	},
	{
		...{ runs: `${in10}classifier-fp16-`, model: "classifier", precision: "fp16" },
		says: `
✓ golden-classifier-fp16-0
    ✓ probabilities: relative-l2 1.2e-3 (≤ 5e-3)
✓ golden-classifier-fp16-1
    ✓ probabilities: relative-l2 2.4e-3 (≤ 5e-3)`,
	},
	{
		// Never calibrated.
		...{ runs: `${in10}classifier-int8-`, model: "classifier", precision: "int8" },
		says: `
✗ golden-classifier-int8-0
    ✗ probabilities: relative-l2 0.7673 (≤ 5e-2)
✗ golden-classifier-int8-1
    ✗ probabilities: relative-l2 0.7915 (≤ 5e-2)`,
	},
	{
		// --best takes int8 too, and nothing was calibrated here either.
		...{ runs: `${in10}classifier-best-`, model: "classifier", precision: "int8" },
		says: `
✗ golden-classifier-best-0
    ✗ probabilities: relative-l2 0.7673 (≤ 5e-2)
✗ golden-classifier-best-1
    ✗ probabilities: relative-l2 0.7915 (≤ 5e-2)`,
	},
	{
		// Built without --noTF32, at --builderOptimizationLevel=0: it computed in TF32, and one case is just beyond what fp32 allows.
		...{ runs: `${in10}classifier-level0-`, model: "classifier", precision: "fp32" },
		says: `
✓ golden-classifier-level0-0
    ✓ probabilities: relative-l2 4.2e-4 (≤ 1e-3)
✗ golden-classifier-level0-1
    ✗ probabilities: relative-l2 1.2e-3 (≤ 1e-3)`,
	},
	{
		// The same engine, called what it is.
		...{ runs: `${in10}classifier-level0-`, model: "classifier", precision: "tf32" },
		says: `
✓ golden-classifier-level0-0
    ✓ probabilities: relative-l2 4.2e-4 (≤ 5e-3)
✓ golden-classifier-level0-1
    ✓ probabilities: relative-l2 1.2e-3 (≤ 5e-3)`,
	},
	{
		...{ runs: `${in10}dump-output`, model: "classifier", precision: "fp32" },
		says: `
✓ golden-dump-output
    ✓ probabilities: relative-l2 3.3e-7 (≤ 1e-3)`,
	},
	...(["fp32", "fp16"] as const).flatMap((precision): Recorded[] => {
		const limit = precision === "fp32" ? "1e-3" : "5e-3";
		const [first, second] = precision === "fp32" ? ["6.5e-4", "5.9e-4"] : ["1.1e-3", "1e-3"];
		return [
			{
				...{ runs: `${in10}detector-${precision}-`, model: "detector", precision },
				says: `
✓ golden-detector-${precision}-0
    ✓ boxes: relative-l2 5.1e-4 (≤ ${limit})
    ✓ scores: relative-l2 2.5e-4 (≤ ${limit})
✓ golden-detector-${precision}-1
    ✓ boxes: relative-l2 5.4e-4 (≤ ${limit})
    ✓ scores: relative-l2 2.3e-4 (≤ ${limit})`,
			},
			{
				...{ runs: `${in10}encoder-${precision}-`, model: "encoder", precision },
				says: `
✓ golden-encoder-${precision}-0
    ✓ hidden: relative-l2 ${first} (≤ ${limit})
✓ golden-encoder-${precision}-1
    ✓ hidden: relative-l2 ${second} (≤ ${limit})`,
			},
			{
				// TensorRT kept what overflows in fp32.
				...{ runs: `${in10}fp16-overflow-${precision}-`, model: "fp16-overflow", precision },
				says: `
✓ golden-fp16-overflow-${precision}-0
    ✓ y: relative-l2 7e-8 (≤ ${limit})
✓ golden-fp16-overflow-${precision}-1
    ✓ y: relative-l2 1.8e-8 (≤ ${limit})`,
			},
			{
				...{ runs: `${in10}nan-output-${precision}-`, model: "nan-output", precision },
				says: `
✗ golden-nan-output-${precision}-0
    ✗ y: non-finite 16 (≤ 0); ${nanLabels}
✗ golden-nan-output-${precision}-1
    ✗ y: non-finite 16 (≤ 0); ${nanLabels}`,
			},
		];
	}),
	{
		// A network in half precision with half outputs.
		...{ runs: `${in10}half-fp32-`, model: "half", precision: "fp32" },
		says: `
✓ golden-half-fp32-0
    ✓ y: relative-l2 0 (≤ 1e-3)
✓ golden-half-fp32-1
    ✓ y: relative-l2 0 (≤ 1e-3)`,
	},
	{
		...{ runs: `${in10}data-dependent-fp32-`, model: "data-dependent", precision: "fp32" },
		says: `
✗ golden-data-dependent-fp32-0: ${partLabels}
✗ golden-data-dependent-fp32-1: ${partLabels}`,
	},
	{
		...{ runs: `${in10}segmenter-fp32-`, model: "segmenter", precision: "fp32", outputs: mask },
		says: `
✓ golden-segmenter-fp32-0
    ✓ logits_out: relative-l2 3e-7 (≤ 1e-3)
    ✓ mask: pixel-disagreement 0 (≤ 1e-2)
✓ golden-segmenter-fp32-1
    ✓ logits_out: relative-l2 3e-7 (≤ 1e-3)
    ✓ mask: pixel-disagreement 0 (≤ 1e-2)`,
	},
	{
		...{ runs: `${in10}segmenter-fp16-`, model: "segmenter", precision: "fp16", outputs: mask },
		says: `
✓ golden-segmenter-fp16-0
    ✓ logits_out: relative-l2 9e-4 (≤ 5e-3)
    ✓ mask: pixel-disagreement 2.4e-4 (≤ 1e-2)
✓ golden-segmenter-fp16-1
    ✓ logits_out: relative-l2 9.1e-4 (≤ 5e-3)
    ✓ mask: pixel-disagreement 2.4e-4 (≤ 1e-2)`,
	},
	{
		// Without comparators integers must be equal, and fp16 moves a pixel.
		...{ runs: `${in10}segmenter-fp16-`, model: "segmenter", precision: "fp16" },
		says: `
✗ golden-segmenter-fp16-0
    ✓ logits_out: relative-l2 9e-4 (≤ 5e-3)
    ✗ mask: allclose 2.4e-4 (≤ 0); 1 of 4096 elements are out of tolerance
✗ golden-segmenter-fp16-1
    ✓ logits_out: relative-l2 9.1e-4 (≤ 5e-3)
    ✗ mask: allclose 2.4e-4 (≤ 0); 1 of 4096 elements are out of tolerance`,
	},
	{
		...{ runs: "comparisons/wrong-head/0", model: "segmenter", precision: "fp32", outputs: mask },
		says: `
✓ 02-golden-base-0
    ✓ logits_out: relative-l2 3e-7 (≤ 1e-3)
    ✓ mask: pixel-disagreement 0 (≤ 1e-2)
✓ 03-golden-base-1
    ✓ logits_out: relative-l2 3.1e-7 (≤ 1e-3)
    ✓ mask: pixel-disagreement 0 (≤ 1e-2)`,
	},
	{
		// One weight tensor is 4 % off.
		...{
			runs: "comparisons/wrong-head/0",
			model: "head-segmenter-wrong",
			goldenModel: "segmenter",
			precision: "fp32",
			outputs: mask,
		},
		says: `
✗ 04-golden-head-0: ${otherWords}
    ✗ logits_out: relative-l2 3.3e-2 (≤ 1e-3)
    ✗ mask: pixel-disagreement 2.2e-2 (≤ 1e-2); 89 of 4096 pixels differ
✗ 05-golden-head-1: ${otherWords}
    ✗ logits_out: relative-l2 3.3e-2 (≤ 1e-3)
    ✗ mask: pixel-disagreement 1.9e-2 (≤ 1e-2); 78 of 4096 pixels differ`,
	},
];

function runsOf({ runs, model }: Recorded): string[] {
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
const modelPath = (name: string): string => resolve("test/fixtures/models", `${name}.onnx`);
const ends: (() => void | Promise<void>)[] = [];
const atEnd: AtEnd = (clean) => void ends.push(clean);

async function bed(recorded: Recorded): Promise<Bed> {
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
	const manifest = parseManifest(
		await ports.files.readText(join(folder, "golden.json"), inputKinds.golden),
		"golden.json",
	);
	return { recorded, folder, manifest, model: await fileModelReader().read(modelPath(name)), config, spec };
}

function load({ spec, model, folder }: Bed) {
	const models = [{ state: "ready", spec, arm: "head", model }] as const;
	return loadGoldens({ models, changed: new Set(), headFolder: folder, limitsOfBase: false }, ports);
}

/** Golden cases run in trtexec: there is no Python in the recordings. */
async function judge({ recorded, folder, manifest, model, spec }: Bed): Promise<GoldenVerdict[]> {
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
	const verdicts: GoldenVerdict[] = [];
	for await (const verified of verify(input, { backend, ...ports, progress: silent })) {
		if (verified.state === "failed") throw new Error(verified.error.message);
		verdicts.push(verified.verdict);
	}
	return verdicts;
}

describe("golden runs that TensorRT 10.6 recorded on an H200", () => {
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

	const rows = table.map((recorded) => ({
		...recorded,
		name: `${recorded.runs}* at ${recorded.precision}`,
		recorded,
	}));
	it.each(rows)("golden runs that TensorRT 10.6 recorded on an H200 are judged so: $name", ({ recorded }) => {
		const verdicts = judged.get(recorded)?.verdicts ?? [];
		const named = verdicts.map((verdict) => ({ ...verdict, case: basename(verdict.case) }));
		expect(
			`\n${named.flatMap((verdict) => [headOf(verdict), ...verdict.checks.map(checkLine)]).join("\n")}`,
		).toBe(recorded.says);
	});

	it("golden runs that TensorRT 10.6 recorded on an H200 are all in this table, and no version has others", () => {
		expect(new Set(table.flatMap(runsOf))).toEqual(new Set(Object.keys(recordedRuns)));
		const folders = recordedVersions.flatMap((version) =>
			recordedCases(version).map((name) => `trtexec-${version}/${name}`),
		);
		const golden = folders.filter((name) => name.includes("/golden-"));
		expect(golden.length).toBe(35);
		expect(golden.filter((name) => !Object.hasOwn(recordedRuns, name))).toEqual([]);
	});

	const gateOf = (recorded: Recorded): string[] => {
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
	])(
		"golden runs that TensorRT 10.6 recorded on an H200 go through the gate with a sentence: %s",
		(runs, sentence) => {
			const recorded = table.find((one) => one.runs === runs);
			expect(recorded === undefined ? [] : gateOf(recorded)[0]).toBe(sentence);
		},
	);

	it("golden runs that TensorRT 10.6 recorded on an H200 fail a head with a wrong weight by both of its outputs, in the gate's one sentence", () => {
		const recorded = table.find(({ model }) => model === "head-segmenter-wrong");
		expect(recorded === undefined ? [] : gateOf(recorded)).toEqual([
			`fail: relative-l2 of logits_out is 0.0331; allowed at most 0.001. Also failing: mask. ${otherWords}`,
			`fail: relative-l2 of logits_out is 0.0332; allowed at most 0.001. Also failing: mask. ${otherWords}`,
		]);
	});

	it("golden runs that TensorRT 10.6 recorded on an H200 are taken as goldens before any engine runs, but for those of NaN", async () => {
		for (const { bed: made } of judged.values()) {
			const isNan = made.recorded.model === "nan-output";
			const { sets, faults } = await load(made);
			expect([sets.size, faults.size]).toEqual(isNan ? [0, 1] : [1, 0]);
			if (!isNan) continue;
			expect([...faults.values()]).toMatchObject([
				{
					code: "golden-uninformative",
					message: expect.stringMatching(
						/cannot fail: output "y" of case "[^"]+" holds nothing but NaN or infinite values/,
					),
				},
			]);
		}
	});
});
