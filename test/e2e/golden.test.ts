// `trtgate golden` through the built bundle: record, check, inspect, change, refuse, and a changed golden in the gate.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseManifest } from "../../src/core/golden/manifest/parse-manifest.ts";
import type { GoldenManifest } from "../../src/core/schema/golden.ts";
import { attribute, floats, model, node, tensor, value } from "../support/onnx-writer.ts";
import { type CliRun, runCli, temporaryFolder } from "../support/project.ts";

const dist = process.env["TRTGATE_DIST"];
const quickstart = resolve("examples/quickstart/base");
const classifier = join(quickstart, "models/classifier.onnx");

function golden(argv: readonly string[], cwd: string) {
	return runCli(["golden", ...argv], { cwd, ...(dist === undefined ? {} : { dist: resolve(dist) }) });
}

function read(cwd: string, folder = "golden"): GoldenManifest {
	const path = join(cwd, folder, "golden.json");
	return parseManifest(readFileSync(path, "utf8"), path);
}

function matches(text: string, schema: string): unknown {
	const said: unknown = JSON.parse(text);
	const validate = new Ajv2020({ strictRequired: false, allowUnionTypes: true }).compile(
		JSON.parse(readFileSync(`golden-schema/${schema}.schema.json`, "utf8")),
	);
	expect(validate(said), JSON.stringify(validate.errors)).toBe(true);
	return said;
}

/** Of a case of the quickstart's goldens, whichever revision they are. */
function folderOf(name: string, id: string): string {
	const folder = join(quickstart, "golden", name);
	const path = read(folder, ".").cases.find((golden) => golden.id === id)?.inputs["image"]?.path ?? "";
	return join(folder, dirname(path));
}

function hashes({ cases }: GoldenManifest, side: "inputs" | "outputs"): unknown {
	return cases.map(({ id, [side]: files }) => [id, ...Object.values(files).map(({ sha256 }) => sha256)]);
}

const first = ["record", classifier, "--out", "golden", "--dims", "batch=2", "--cases", "3", "--author", "Ann", "--quiet"];

/** A folder with the first recording, which is made once; a test may change its own copy. */
let recorded: { folder: string; run: CliRun };
beforeAll(async () => {
	const folder = temporaryFolder(afterAll);
	recorded = { folder, run: await golden(first, folder) };
});

function withRecording(): string {
	const cwd = temporaryFolder();
	cpSync(recorded.folder, cwd, { recursive: true });
	return cwd;
}

describe("golden record", () => {
	it("makes a golden with noise floor, statistics, limits and a trial of defects; check and inspect agree with it", async () => {
		const cwd = withRecording();
		const { run } = recorded;
		expect(run, run.stderr).toMatchObject({
			exit: 0,
			stdout: expect.stringMatching(
				/^Inputs: made-up pictures\. They show whether the arithmetic is right.*\nRecorded golden@1 with 3 cases/,
			),
		});
		const manifest = read(cwd);
		expect(manifest).toMatchObject({
			goldenId: "golden@1",
			author: "Ann",
			reason: "First recording.",
			model: { path: "classifier.onnx" },
			producer: { backend: "onnxruntime-wasm", precision: "fp32", optimisation: "basic", seed: 1, dims: { batch: 2 } },
			sensitivity: { state: "complete", tensors: 6, precisions: { fp32: { missed: [] } } },
			outputs: { logits: { semantic: "logits", batchAxis: 0 } },
		});
		expect(manifest.noiseFloor?.runs.length).toBeGreaterThan(3);
		expect(manifest.cases[0]?.outputs["logits"]?.stats).toMatchObject({ nan: 0, inf: 0, min: expect.any(Number) });
		expect(readdirSync(join(cwd, "golden")).sort()).toEqual(["golden.json", "r1"]);
		const check = await golden(["check", "golden/golden.json", "--outputs", "golden/r1", "--json"], cwd);
		expect(check.exit).toBe(0);
		expect(matches(check.stdout, "golden-check")).toMatchObject({ state: "match", cases: { length: 3 } });
		const inspect = await golden(["inspect", "golden/golden.json", "--json"], cwd);
		expect(inspect.exit).toBe(0);
		expect(matches(inspect.stdout, "golden-inspect")).toMatchObject({ findings: [], outputs: [{ name: "logits", semantic: "logits" }] });
	});

	it("requires a reason for a change, writes nothing where nothing changed, and replaces all in one step", async () => {
		const cwd = withRecording();
		writeFileSync(join(cwd, "golden/README.md"), "mine");
		expect(await golden(first, cwd)).toMatchObject({
			exit: 2,
			stderr: expect.stringMatching(/golden@1 already; changing it needs --reason/),
		});
		const same = await golden([...first, "--reason", "Again."], cwd);
		expect(same, same.stderr).toMatchObject({ exit: 0, stdout: expect.stringMatching(/Nothing was written/) });
		const changed = await golden([...first, "--reason", "Other pictures.", "--seed", "2"], cwd);
		expect(changed, changed.stderr).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^Recorded golden@2/m) });
		expect(read(cwd)).toMatchObject({ goldenId: "golden@2", reason: "Other pictures." });
		expect(readdirSync(join(cwd, "golden")).sort()).toEqual(["README.md", "golden.json", "r2"]);
		expect(await golden(["check", "golden/golden.json", "--outputs", "golden/r2"], cwd)).toMatchObject({ exit: 0 });
	});

	it("takes stored inputs, by case and by file", async () => {
		const cwd = temporaryFolder();
		for (const name of ["disc", "ring"]) {
			mkdirSync(join(cwd, "inputs", name), { recursive: true });
			cpSync(join(folderOf("classifier", name), "in-image.npy"), join(cwd, "inputs", name, "image.npy"));
			cpSync(join(folderOf("classifier", name), "in-image.npy"), join(cwd, "flat", `${name}.npy`));
		}
		for (const from of ["inputs", "flat"]) {
			const run = await golden(["record", classifier, "--out", from, "--inputs", join(cwd, from), "--author", "Ann", "--quiet"], cwd);
			expect(run.stderr).not.toMatch(/usage/);
			expect(run.exit, run.stderr).toBe(0);
			expect(read(cwd, from)).toMatchObject({ cases: [{ id: "disc" }, { id: "ring" }], producer: { inputs: { image: "given" } } });
			rmSync(join(cwd, from), { recursive: true });
		}
	});

	it("records the stored inputs again where no others are requested, so that no real case is lost", async () => {
		const cwd = temporaryFolder();
		for (const name of ["scene-1", "scene-2"]) cpSync(join(folderOf("segmenter", name), "in-image.npy"), join(cwd, "real", `${name}.npy`));
		const use = (arm: string) => cpSync(resolve(`examples/quickstart/${arm}/models/segmenter.onnx`), join(cwd, "net.onnx"));
		const again = ["record", "net.onnx", "--out", "golden", "--author", "Ann", "--quiet"];
		use("base");
		expect(await golden([...again, "--inputs", "real"], cwd)).toMatchObject({ exit: 0 });
		const before = read(cwd);
		use("head");
		const run = await golden([...again, "--reason", "Retrained."], cwd);
		expect(run, run.stderr).toMatchObject({
			exit: 0,
			stdout: expect.stringMatching(/^Inputs: 2 real cases\.\nRecorded golden@2 with 2 cases/),
			stderr: expect.stringContaining("The 2 cases of golden@1 are recorded again with the stored inputs"),
		});
		const after = read(cwd);
		expect(after.producer.inputs).toEqual({ image: "given" });
		expect(after.outputs).toEqual(before.outputs);
		expect(hashes(after, "inputs")).toEqual(hashes(before, "inputs"));
		expect(hashes(after, "outputs")).not.toEqual(hashes(before, "outputs"));
		const anew = await golden([...again, "--reason", "Other inputs.", "--cases", "2"], cwd);
		expect(anew, anew.stderr).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^Recorded golden@3 with 2 cases/m) });
		expect(read(cwd).cases.map(({ id }) => id)).toEqual(["1-image", "2-image"]);
	});

	it.each([
		["a shape of another rank", [classifier, "--out", "g", "--shape", "image=3,64,64"], /--shape image has 3 dimensions.*\[config-dims\]/],
		["no folder", [classifier], /needs --out/],
		["an input that is not there", [classifier, "--out", "g", "--dims", "batch=1", "--generator", "picture=image"], /no input "picture"/],
		["no model", ["none.onnx", "--out", "g"], /There is no model/],
	])("refuses %s with exit 2 and leaves nothing behind", async (_, argv, says) => {
		const cwd = temporaryFolder();
		const run = await golden(["record", ...argv, "--quiet"], cwd);
		expect(run).toMatchObject({ exit: 2, stderr: expect.stringMatching(says) });
		expect(existsSync(join(cwd, "g"))).toBe(false);
	});

	it("refuses limits that let defects through, and names the precision, the share and the defects", async () => {
		const cwd = withRecording();
		const path = join(cwd, "golden/golden.json");
		const loose = JSON.parse(readFileSync(path, "utf8"));
		loose.outputs.logits.comparators = [{ kind: "relative-l2", tolerance: { fp32: 0.05 } }];
		writeFileSync(path, JSON.stringify(loose));
		const before = readFileSync(path, "utf8");
		const run = await golden([...first, "--reason", "Looser."], cwd);
		expect(run.exit).toBe(2);
		expect(run.stderr).toMatch(
			/at fp32 it notices \d+ of \d+ defects[\s\S]*100 % of those[\s\S]*not: [\s\S]*an output moves by [\s\S]*--notice fp32=0\.\d+/,
		);
		expect(readFileSync(path, "utf8")).toBe(before);
		expect(readdirSync(join(cwd, "golden")).sort()).toEqual(["golden.json", "r1"]);
		const proposed = await golden([...first, "--reason", "Let the recorder propose.", "--propose"], cwd);
		expect(proposed, proposed.stderr).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^Recorded golden@2/m) });
	});

	it("refuses a model whose outputs do not depend on its inputs", async () => {
		const cwd = temporaryFolder();
		// y = 0 · x + 1: the same for every input.
		const nodes = [
			node({ op: "Mul", inputs: ["x", "zero"], outputs: ["nothing"] }),
			node({ op: "Add", inputs: ["nothing", "bias"], outputs: ["y"] }),
		];
		const initializers = [
			tensor({ name: "zero", dims: [1], raw: floats(0) }),
			tensor({ name: "bias", dims: [4], raw: floats(1, 2, 3, 4) }),
		];
		writeFileSync(join(cwd, "dead.onnx"), model({ nodes, initializers, inputs: [value("x", [1, 4])], outputs: [value("y", [1, 4])] }));
		const run = await golden(["record", "dead.onnx", "--out", "g", "--quiet"], cwd);
		expect(run).toMatchObject({ exit: 2, stderr: expect.stringMatching(/all 8 cases have the same outputs.*\[golden-uninformative\]/) });
		expect(attribute).toBeDefined();
	});

	it("leaves out boundary cases that the model does not tolerate", async () => {
		const cwd = temporaryFolder();
		const run = await golden([...first, "--cases", "12", "--generator", "image=image+boundary", "--notice", "fp16=0.5"], cwd);
		expect(run.exit, run.stderr).toBe(0);
		expect(run.stderr).toMatch(/Case "12-max" was left out: its outputs hold NaN or infinite values/);
		expect(read(cwd).cases.map(({ id }) => id)).toContain("2-zeros");
	});
});

describe("golden check", () => {
	it("exits 1 where an output differs, is missing, or has another shape", async () => {
		const cwd = temporaryFolder();
		const manifest = join(quickstart, "golden/classifier/golden.json");
		const stored = join(cwd, "outputs");
		cpSync(dirname(folderOf("classifier", "disc")), stored, { recursive: true });
		expect((await golden(["check", manifest, "--outputs", stored], cwd)).exit).toBe(0);
		cpSync(join(stored, "disc/out-logits.npy"), join(stored, "ring/out-logits.npy"));
		cpSync(join(stored, "batch-of-4/out-logits.npy"), join(stored, "checker/out-logits.npy"));
		rmSync(join(stored, "bars-up/out-logits.npy"));
		const run = await golden(["check", manifest, "--outputs", stored, "--precision", "fp16", "--json"], cwd);
		expect(run.exit).toBe(1);
		const report = matches(run.stdout, "golden-check") as { cases: { case: string; state: string; checks: { metric: string }[] }[] };
		const state = (id: string) => report.cases.find((verdict) => verdict.case === id);
		expect(state("ring")?.state).toBe("mismatch");
		expect(state("checker")?.checks[0]?.metric).toBe("shape");
		expect(state("bars-up")?.state).toBe("error");
		expect(state("disc")?.state).toBe("match");
	});

	it.each([
		[["check", "golden.json", "--outputs", "."], /no golden manifest at golden\.json/],
		[["check", join(quickstart, "golden/classifier/golden.json")], /needs --outputs/],
		[
			["check", join(quickstart, "golden/classifier/golden.json"), "--outputs", "."].concat("--precision", "fp17"),
			/--precision takes fp32/,
		],
		[["chekc"], /Did you mean `trtgate golden check`/],
		[[], /needs a command/],
	])("refuses %j", async (argv, says) => {
		expect(await golden(argv, temporaryFolder())).toMatchObject({ exit: 2, stderr: expect.stringMatching(says) });
	});
});

describe("golden inspect", () => {
	it("explains the quickstart's goldens and reports what was not measured", async () => {
		const run = await golden(["inspect", "golden/segmenter/golden.json"], quickstart);
		expect(run.exit, run.stderr).toBe(0);
		expect(run.stdout).toMatch(/output logits \(logits\)[\s\S]*relative-l2: .*fp32 ≤ 0\.00002[\s\S]*for your review/);
	});
});
