import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { GoldenManifest } from "../../generated/golden.ts";
import { parseManifest } from "../../src/golden/core/manifest/parse-manifest.ts";
import { expectSchema } from "../support/expect-schema.ts";
import { type CliRun, expectExit, expectRefusal, runCli, temporaryFolder } from "../support/project.ts";

const quickstart = resolve("examples/quickstart/base");
const classifier = join(quickstart, "models/classifier.onnx");

const golden = (words: string, cwd: string, ...more: readonly string[]) =>
	runCli(["golden", ...words.split(" "), ...more], { cwd });

function read(cwd: string, folder = "golden"): GoldenManifest {
	const path = join(cwd, folder, "golden.json");
	return parseManifest(readFileSync(path, "utf8"), path);
}

function folderOf(name: string, id: string): string {
	const folder = join(quickstart, "golden", name);
	const path = read(folder, ".").cases.find((golden) => golden.id === id)?.inputs["image"]?.path ?? "";
	return join(folder, dirname(path));
}

const first = `record ${classifier} --out golden --dims batch=2 --cases 3 --author Ann --quiet`;

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

it("golden record makes a golden with noise floor, statistics, limits and a trial of defects; check and inspect agree with it", async () => {
	const cwd = withRecording();
	const { run } = recorded;
	expectExit(run, 0);
	expect(run.stdout).toMatch(
		/^Inputs: synthetic images\. They test the arithmetic.*\nRecorded golden@1 with 3 cases/,
	);
	const manifest = read(cwd);
	expect(manifest).toMatchObject({
		goldenId: "golden@1",
		author: "Ann",
		reason: "First recording.",
		model: { path: "classifier.onnx" },
		producer: {
			backend: "onnxruntime-wasm",
			precision: "fp32",
			optimisation: "basic",
			seed: 1,
			dims: { batch: 2 },
		},
		sensitivity: { state: "complete", tensors: 6, precisions: { fp32: { missed: [] } } },
		outputs: { logits: { semantic: "logits", batchAxis: 0 } },
	});
	expect(manifest.noiseFloor?.runs.length).toBeGreaterThan(3);
	expect(manifest.cases[0]?.outputs["logits"]?.stats).toMatchObject({
		nan: 0,
		inf: 0,
		min: expect.any(Number),
	});
	expect(readdirSync(join(cwd, "golden")).sort()).toEqual(["golden.json", "r1"]);
	const check = await golden("check golden/golden.json --outputs golden/r1 --json", cwd);
	expectExit(check, 0);
	expect(expectSchema(JSON.parse(check.stdout), "golden-check")).toMatchObject({
		state: "match",
		cases: { length: 3 },
	});
	const inspect = await golden("inspect golden/golden.json --json", cwd);
	expect(inspect.exit).toBe(0);
	expect(expectSchema(JSON.parse(inspect.stdout), "golden-inspect")).toMatchObject({
		findings: [],
		outputs: [{ name: "logits", semantic: "logits" }],
	});
});

it.each([
	[
		"a shape of another rank",
		`${classifier} --out g --shape image=3,64,64`,
		/--shape image has 3 dimensions.*\[config-dims\]/,
	],
	["no folder", classifier, /needs --out/],
	["an absent input", `${classifier} --out g --dims batch=1 --generator picture=image`, /no input "picture"/],
	["no model", "none.onnx --out g", /There is no model/],
])("golden record refuses %s with exit 2 and leaves nothing behind", async (_, words, says) => {
	const cwd = temporaryFolder();
	expectRefusal(await golden(`record ${words} --quiet`, cwd), says);
	expect(existsSync(join(cwd, "g"))).toBe(false);
});

it("golden record refuses a change without a reason, and limits that let defects through with the precision, the share and the defects", async () => {
	const cwd = withRecording();
	expectRefusal(await golden(first, cwd), /golden@1 already; changing it needs --reason/);
	const path = join(cwd, "golden/golden.json");
	const loose = JSON.parse(readFileSync(path, "utf8"));
	loose.outputs.logits.comparators = [{ kind: "relative-l2", tolerance: { fp32: 0.05 } }];
	writeFileSync(path, JSON.stringify(loose));
	const before = readFileSync(path, "utf8");
	expectRefusal(
		await golden(`${first} --reason Looser.`, cwd),
		/\d+ of \d+ defects [\s\S]* at fp32, but not [\s\S]*an output moves by [\s\S]*100 % of those[\s\S]*--notice fp32=0\.\d+/,
	);
	expect(readFileSync(path, "utf8")).toBe(before);
	expect(readdirSync(join(cwd, "golden")).sort()).toEqual(["golden.json", "r1"]);
});

it("golden record replaces cases and limits in one step", async () => {
	const cwd = withRecording();
	writeFileSync(join(cwd, "golden/README.md"), "mine");
	const others = "--cases 12 --generator image=image+zeros --seed 2 --propose --notice fp16=0.5";
	const changed = await golden(`${first} ${others} --reason`, cwd, "Other pictures.");
	expectExit(changed, 0);
	expect(changed.stdout).toMatch(/^Recorded golden@2/m);
	expect(read(cwd)).toMatchObject({ goldenId: "golden@2", reason: "Other pictures." });
	expect(read(cwd).cases.map(({ id }) => id)).toContain("2-zeros");
	expect(readdirSync(join(cwd, "golden")).sort()).toEqual(["README.md", "golden.json", "r2"]);
	expectExit(await golden("check golden/golden.json --outputs golden/r2", cwd), 0);
});

it("golden check exits 1 if an output differs, is missing, or has another shape", async () => {
	const cwd = temporaryFolder();
	const manifest = join(quickstart, "golden/classifier/golden.json");
	const stored = join(cwd, "outputs");
	cpSync(dirname(folderOf("classifier", "disc")), stored, { recursive: true });
	expect((await golden(`check ${manifest} --outputs ${stored}`, cwd)).exit).toBe(0);
	cpSync(join(stored, "disc/out-logits.npy"), join(stored, "ring/out-logits.npy"));
	cpSync(join(stored, "batch-of-4/out-logits.npy"), join(stored, "checker/out-logits.npy"));
	rmSync(join(stored, "bars-up/out-logits.npy"));
	const run = await golden(`check ${manifest} --outputs ${stored} --precision fp16 --json`, cwd);
	expect(run.exit).toBe(1);
	const report = expectSchema(JSON.parse(run.stdout), "golden-check") as {
		cases: { case: string; state: string; checks: { metric: string }[] }[];
	};
	const state = (id: string) => report.cases.find((verdict) => verdict.case === id);
	expect(state("ring")?.state).toBe("mismatch");
	expect(state("checker")?.checks[0]?.metric).toBe("shape");
	expect(state("bars-up")?.state).toBe("error");
	expect(state("disc")?.state).toBe("match");
});

it("golden inspect explains the quickstart's goldens and reports what was not measured", async () => {
	const run = await golden("inspect golden/segmenter/golden.json", quickstart);
	expectExit(run, 0);
	expect(run.stdout).toMatch(
		/output logits \(logits\)[\s\S]*relative-l2: .*fp32 ≤ 0\.00002[\s\S]*for your review/,
	);
});
