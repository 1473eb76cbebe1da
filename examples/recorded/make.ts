// Makes this folder from the recorded comparisons: node examples/recorded/make.ts [DIST], in the root of the repository.
// The recordings are those of test/fixtures; what our own reader makes of them is kept, so that the replay says the same.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import type { RecordedArm, RecordedMachine, RecordedOutput, RecordedRun } from "../../src/adapters/replay/backend.ts";
import type { Arm, PerfRun, Result } from "../../generated/result.ts";
import { gpuWindow } from "../../src/core/telemetry/window.ts";
import { readComparison } from "../../test/support/gpu-recording.ts";
import { comparisonFiles, installReplay, type Replay } from "../../test/support/replay/install.ts";
import { openFolder } from "./folder.ts";
import { fillWeights } from "./weights.ts";

const { path: here, savePacked, saveJson, report } = openFolder("examples/recorded", ["base", "head", "runs"]);
const fixtures = resolve("test/fixtures/comparisons");
const dist = resolve(process.argv[2] ?? "dist");
const arms = ["base", "head"] as const;

interface Source {
	comparison: Replay["comparison"];
	model: string;
	engine: string;
}

const sources: readonly Source[] = [
	{ comparison: "wrong-head", model: "segmenter", engine: "fp32" },
	{ comparison: "slower-head", model: "classifier", engine: "fp16" },
	{ comparison: "same-model", model: "encoder", engine: "fp16" },
];

/** A step of the recording, as the fixtures keep it. */
interface Step {
	kind: string;
	arm: Arm;
	n: number | null;
	wrote: Record<string, { sha256: string }>;
	transcript: [number, string, string][];
	text: Record<string, string>;
}

interface Recorded {
	steps: Step[];
	outputs: Record<string, string>;
}

/** The comparison through the gate, with a trtexec that answers as recorded. */
function gateComparison(comparison: Replay["comparison"]): { result: Result; out: string } {
	const folder = mkdtempSync(join(tmpdir(), "trtgate-make-"));
	for (const arm of arms) {
		for (const [name, content] of Object.entries(comparisonFiles(comparison, arm))) {
			const path = join(folder, arm, name);
			mkdirSync(dirname(path), { recursive: true });
			writeFileSync(path, typeof content === "string" ? content.replace("pairs: [5, 8]", "pairs: [8]") : content);
		}
	}
	const env = { ...process.env, PATH: installReplay(folder, { comparison, alone: true }), TRTGATE_LOCKS: join(folder, "locks") };
	spawnSync(process.execPath, [join(dist, "cli.js"), "run", "--base", "base", "--head", "head", "--out", "out"], { cwd: folder, env, stdio: "inherit" });
	return { result: JSON.parse(readFileSync(join(folder, "out/result.json"), "utf8")), out: join(folder, "out") };
}

function readSamples(path: string): number[] {
	const bytes = readFileSync(path);
	return Array.from({ length: bytes.length / 8 }, (_, index) => Math.round(bytes.readDoubleLE(index * 8) * 1e7));
}

/** Seconds that the timing alone took, by trtexec's own count. */
function timedMs(step: Step | undefined): number {
	const line = step?.transcript.map(([, , text]) => text).find((text) => text.includes("Total Host Walltime"));
	return Number(/Total Host Walltime: ([\d.]+) s/.exec(line ?? "")?.[1]) * 1000;
}

function runsOf(arm: Arm, of: { runs: readonly PerfRun[]; out: string; steps: readonly Step[]; comparison: string }): RecordedRun[] {
	const watched = readComparison(of.comparison);
	const trace = { samples: watched.samples, use: [], processes: [] };
	const own = of.runs.filter((run) => run.arm === arm && run.state === "ok").sort((a, b) => a.order - b.order);
	return own.map((run, n) => {
		const time = watched.runs.find((candidate) => candidate.arm === arm && candidate.pair === n);
		const gpu = time === undefined ? null : gpuWindow(trace, time.fromMs, time.toMs);
		if (gpu === null || time === undefined) throw new Error(`${of.comparison}: run ${n} of ${arm} was not watched`);
		const step = of.steps.find((candidate) => candidate.kind === "perf" && candidate.arm === arm && candidate.n === n);
		return {
			wallMs: time.toMs - time.fromMs,
			timedMs: timedMs(step),
			peakMemoryBytes: run.peakMemoryBytes ?? null,
			samples: readSamples(join(of.out, run.samples ?? "")),
			gpu,
		};
	});
}

/** Warnings, errors and the end: what a reader of a log looks for. */
function excerpt(step: Step | undefined): string[] {
	const lines = (step?.transcript ?? []).map(([, , text]) => text);
	return lines.filter((line, at) => /\] \[[WE]\] /.test(line) || at >= lines.length - 12);
}

const dtypes: Readonly<Record<string, RecordedOutput["dtype"]>> = { fp32: "float32", int64: "int64" };

/** `base-0-logits_out.output.1.6.64.64.fp32.raw` */
function outputsOf(arm: Arm, source: Source, recorded: Recorded): RecordedArm["outputs"] {
	const cases: Record<string, Record<string, RecordedOutput>> = {};
	for (const [key, file] of Object.entries(recorded.outputs)) {
		const [, owner, n, name = "", dims = "", dtype = ""] = /^(base|head)-(\d+)-(\w+)\.output\.((?:\d+\.)*)(\w+)\.raw$/.exec(key) ?? [];
		if (owner !== arm || source.model !== "segmenter") continue;
		const differences = `runs/${source.model}-${file}`;
		copyFileSync(join(fixtures, source.comparison, "outputs", file), join(here, differences));
		const outputs = (cases[`case-${n}`] ??= {});
		const golden = `head/golden/${source.model}/${name}-${n}.bin.gz`;
		outputs[name] = { dtype: dtypes[dtype] ?? "float32", shape: dims.split(".").filter(Boolean).map(Number), differences, golden };
	}
	return cases;
}

/** Layers and their times; for size, only of the engine that became slower. */
function profileOf(arm: Arm, { model }: Source, { steps }: Recorded): Pick<RecordedArm, "profile"> {
	const text = steps.find((step) => step.kind === "profile" && step.arm === arm)?.text ?? {};
	const { "layers.json": layers, "profile.json": times } = text;
	return model !== "classifier" || layers === undefined || times === undefined ? {} : { profile: { layers, times } };
}

function saveModels({ comparison, model }: Source): void {
	for (const arm of arms) {
		const onnx = fillWeights(comparisonFiles(comparison, arm)["model.onnx"] as Uint8Array, 0);
		savePacked(`${arm}/models/${model}.onnx.gz`, onnx);
		if (arm === "base" && model === "segmenter") saveGolden(model, comparison, createHash("sha256").update(onnx).digest("hex"));
	}
}

/** The golden is of the base's model, which is here without its weights. */
function saveGolden(model: string, comparison: string, sha256: string): void {
	const folder = join(fixtures, comparison, "golden");
	for (const name of readdirSync(folder)) {
		if (name.endsWith(".bin")) savePacked(`head/golden/${model}/${name}.gz`, readFileSync(join(folder, name)));
	}
	const manifest = JSON.parse(readFileSync(join(folder, "golden.json"), "utf8"));
	manifest.model = { path: `models/${model}.onnx`, sha256 };
	saveJson(`head/golden/${model}/golden.json`, manifest);
}

mkdirSync(join(here, "runs"), { recursive: true });
let machine: RecordedMachine | undefined;
for (const source of sources) {
	const { comparison, model, engine } = source;
	const { result, out } = gateComparison(comparison);
	const recorded: Recorded = JSON.parse(gunzipSync(readFileSync(join(fixtures, comparison, "steps.json.gz"))).toString("utf8"));
	saveModels(source);
	const told = arms.map((arm): [Arm, RecordedArm] => {
		const record = result.builds.find((build) => build.arm === arm);
		const step = recorded.steps.find((candidate) => candidate.kind === "build" && candidate.arm === arm);
		if (record?.state !== "built" || step === undefined) throw new Error(`${comparison}: the ${arm} was not built`);
		const { warnings, engineKind, engineBytes, recipe, notes } = record;
		const durationMs = step.transcript.at(-1)?.[0] ?? 0;
		const build = { durationMs, warnings, engineKind, engineBytes, engineSha256: step.wrote[`${arm}.plan`]?.sha256, recipe, notes };
		const runs = runsOf(arm, { runs: result.workloads[0]?.runs ?? [], out, steps: recorded.steps, comparison });
		return [arm, { build: build as RecordedArm["build"], log: excerpt(step), runs, ...profileOf(arm, source, recorded), outputs: outputsOf(arm, source, recorded) }];
	});
	savePacked(`runs/${model}.json.gz`, JSON.stringify(Object.fromEntries(told)));
	machine = {
		facts: { ...result.backend, caveat: "replay of an H200" },
		fingerprint: { ...result.environment, recorded: "21 November 2026" },
		notes: [
			"This is a replay: nothing was built or timed here. Builds, outputs, times and telemetry were recorded on one NVIDIA H200 with TensorRT 10.6; the verdicts were computed just now.",
			"To keep the example small, its ONNX files have zeros as weights, and only the segmenter has a golden. The engines were built from the full models.",
		],
		engines: { ...machine?.engines, [`${model}/${engine}`]: `runs/${model}.json.gz` },
	};
	rmSync(dirname(out), { recursive: true, force: true });
}
saveJson("recording.json", machine);
for (const arm of arms) copyFileSync(join(here, "trtgate.yml"), join(here, arm, "trtgate.yml"));
report();
