// Makes this folder from what `trtgate tune` wrote on a GPU: node examples/tuned/make.ts TUNED MODEL, in the root of the repository.
// TUNED/answers/ENGINE-CASE-OUTPUT.npy are the answers of its plans to the golden's inputs.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { GoldenManifest } from "../../generated/golden.ts";
import type { PerfRun, Result } from "../../generated/result.ts";
import type { RecordedArm, RecordedOutput, RecordedRun } from "../../src/adapters/replay/backend.ts";
import { openFolder } from "../recorded/folder.ts";
import { fillWeights } from "../recorded/weights.ts";

const [from = "", modelPath = ""] = process.argv.slice(2);
const { savePacked, saveJson, report } = openFolder("examples/tuned", ["project", "runs"]);
const stages = ["variants", "streams-with-CUDA-graph", "streams-without-CUDA-graph"];
const samplesKept = 300;

function dataOf(npy: Buffer): Buffer {
	return npy.subarray(10 + npy.readUInt16LE(8));
}

/** Evenly spaced iterations; the timing's length shrinks with them, so that throughput stays. */
function runOf(run: PerfRun, stage: string): RecordedRun {
	const bytes = readFileSync(join(from, stage, run.samples ?? ""));
	const count = bytes.length / 8;
	const kept = Math.min(count, samplesKept);
	const samples = Array.from({ length: kept }, (_, at) =>
		Math.round(bytes.readDoubleLE(Math.floor((at * count) / kept) * 8) * 1e7),
	);
	const timedMs = (kept / (run.throughputPerSecond ?? Number.NaN)) * 1000;
	const { wallMs, peakMemoryBytes = null, gpu } = run;
	if (gpu === undefined) throw new Error(`${stage}: a run was not watched`);
	return { wallMs, timedMs, peakMemoryBytes, samples, gpu };
}

const results = stages.map((stage): [string, Result] => [
	stage,
	JSON.parse(readFileSync(join(from, stage, "result.json"), "utf8")),
]);

/** In the order in which tune asked for them; runs that did not count stay out. */
function runsOf(engine: string): RecordedRun[] {
	return results.flatMap(([stage, result]) => {
		const own = result.workloads.filter((row) => row.engine === engine).flatMap(({ runs }) => runs);
		const pairs = (result.siblings ?? []).flatMap((sibling) => {
			const arm = sibling.engine === engine ? "head" : sibling.against === engine ? "base" : null;
			return arm === null ? [] : pairRuns(stage, sibling.engine, arm);
		});
		return [...own.filter(({ state }) => state === "ok").map((run) => runOf(run, stage)), ...pairs];
	});
}

/** The result keeps no runs of siblings, but their samples are there; the rest is that of the engine's own runs. */
function pairRuns(stage: string, owner: string, arm: "base" | "head"): RecordedRun[] {
	const [, result] = results.find(([name]) => name === stage) ?? [];
	const folder = readdirSync(join(from, stage, "raw")).find((name) => name.includes(`-${owner}-default-against-`));
	const sibling = result?.siblings?.find(({ engine }) => engine === owner);
	const engine = arm === "head" ? owner : sibling?.against;
	const like = result?.workloads.find((row) => row.engine === engine)?.runs.find(({ state }) => state === "ok");
	if (folder === undefined || like === undefined) throw new Error(`${stage}: no pairs of ${owner}`);
	const files = readdirSync(join(from, stage, "raw", folder)).filter((name) => name.endsWith(`-${arm}.f64`)).sort();
	return files.map((name) => runOf({ ...like, samples: `raw/${folder}/${name}` }, stage));
}

const golden = readdirSync(from).find((name) => name.startsWith("golden-")) ?? "";
const manifest: GoldenManifest = JSON.parse(readFileSync(join(from, golden, "golden.json"), "utf8"));

/** The golden as plain bytes: a difference from it has to be of its size. */
function saveGolden(modelSha256: string): void {
	for (const { inputs, outputs } of manifest.cases) {
		for (const file of [...Object.values(inputs), ...Object.values(outputs)]) {
			const data = dataOf(readFileSync(join(from, golden, file.path)));
			file.path = file.path.replace(/npy$/, "bin");
			file.sha256 = createHash("sha256").update(data).digest("hex");
			savePacked(`project/golden/${file.path}.gz`, data);
		}
	}
	const { schemaVersion, goldenId, producer, outputs, cases } = manifest;
	const { backend, version, precision, inputs } = producer;
	const own = { schemaVersion, goldenId, model: { path: "magika.onnx", sha256: modelSha256 } };
	const made = { ...own, producer: { backend, version, precision, inputs }, outputs, cases };
	saveJson("project/golden/golden.json", made);
}

function outputsOf(engine: string): RecordedArm["outputs"] {
	const cases = manifest.cases.map(({ id, outputs }) => {
		const told = Object.entries(outputs).map(([name, file]): [string, RecordedOutput] => {
			const expected = dataOf(readFileSync(join(from, golden, file.path.replace(/bin$/, "npy"))));
			const got = dataOf(readFileSync(join(from, "answers", `${engine}-${id}-${name}.npy`)));
			const differences = Buffer.alloc(got.length);
			for (let at = 0; at < got.length; at += 4)
				differences.writeInt32LE((got.readInt32LE(at) - expected.readInt32LE(at)) | 0, at);
			const path = `runs/${engine}-${id}-${name}.gz`;
			savePacked(path, differences);
			const { dtype, shape } = file;
			return [name, { dtype, shape, differences: path, golden: `project/golden/${file.path}.gz` }];
		});
		return [id, Object.fromEntries(told)];
	});
	return Object.fromEntries(cases);
}

const model = fillWeights(readFileSync(modelPath), 1);
savePacked("project/magika.onnx.gz", model);
saveGolden(createHash("sha256").update(model).digest("hex"));
const [, variants] = results[0] ?? [];
const engines: Record<string, string> = {};
for (const { engine, state, ...record } of variants?.builds ?? []) {
	if (state !== "built") throw new Error(`${engine} was not built`);
	const { durationMs, warnings, engineKind, engineBytes, engineSha256, recipe, notes = [], precisionCoverage } = record;
	const build = { durationMs, warnings, engineKind, engineBytes, engineSha256, recipe, precisionCoverage };
	const arm = { build: { ...build, notes: notes.filter((note) => !note.startsWith("From the engine cache")) }, log: [] as string[] };
	const path = `runs/${engine}.json.gz`;
	savePacked(path, JSON.stringify({ head: { ...arm, runs: runsOf(engine), outputs: outputsOf(engine) } }));
	engines[`magika/${engine}`] = path;
}
const machine = {
	facts: { ...variants?.backend, caveat: "replay of an H200" },
	fingerprint: { ...variants?.environment, recorded: "28 November 2026" },
	notes: ["This is a replay: nothing was built or timed here. Builds, outputs and times were recorded on one NVIDIA H200 with TensorRT 10.6; the verdicts were computed just now."],
	engines,
};
saveJson("recording.json", machine);
report();
