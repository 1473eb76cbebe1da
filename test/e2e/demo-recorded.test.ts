import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { countWords } from "../../src/core/report/highlight.ts";
import { expectSchema } from "../support/expect-schema.ts";
import { expectExit, readResult, runCli, temporaryFolder } from "../support/project.ts";
import { shownFindings, shownLines } from "../support/shown-lines.ts";

async function replayDemo() {
	const folder = temporaryFolder(afterAll);
	const run = await runCli(["demo", "--recorded", "--out", "out"], { cwd: folder });
	return { run, out: join(folder, "out"), result: readResult(join(folder, "out")) };
}

let demo: Awaited<ReturnType<typeof replayDemo>>;
beforeAll(async () => {
	demo = await replayDemo();
});

it("the recorded demo finds the wrong net, the slower net and the unchanged one, without a GPU", async () => {
	const { run, out, result } = demo;
	expectExit(run, 0);
	expectSchema(result, "result");
	expect(result.outcome).toBe("fail");
	expect(result.errors).toEqual([]);
	const [segmenter, classifier, encoder] = result.workloads;
	expect([segmenter?.verdict, classifier?.verdict, encoder?.verdict]).toEqual([
		"unchanged",
		"regressed",
		"unchanged",
	]);
	expect(classifier?.latency.estimate).toBeGreaterThan(0.038);
	expect(classifier?.latency.estimate).toBeLessThan(0.046);
	expect(encoder?.latency.excluded).toBeLessThanOrEqual(0.01);
	for (const { latency, p99 } of result.workloads) {
		for (const { base = 0, head = 0, estimate } of [latency, p99])
			expect(head / base - 1).toBeCloseTo(estimate ?? Number.NaN, 12);
	}
	expect(readFileSync(join(out, "report.md"), "utf8")).toContain(
		"| change (99 % interval) | base, median | head, median | P99 change |",
	);
	expect(result.workloads.map(({ replaced }) => replaced)).toEqual([0, 0, 0]);
	expect(result.golden.map(({ model, state }) => [model, state])).toEqual([["segmenter", "mismatch"]]);
	expect(result.golden[0]?.checks.map(({ output, pass }) => [output, pass])).toEqual([
		["logits_out", false],
		["mask", false],
	]);
	expect(Number(result.golden[0]?.checks[0]?.base)).toBeLessThan(1e-6);
	expect(
		result.gates
			.filter(({ status }) => status !== "pass")
			.map(({ gate, model, status }) => `${gate} ${model} ${status}`),
	).toEqual(["golden segmenter fail", "latency classifier warn"]);
});

it("the recorded demo shows what 4 % more time costs a request at load", () => {
	const [told, ...others] =
		readFileSync(join(demo.out, "report.md"), "utf8").match(/^P99 at 80 % load.*$/gm) ?? [];
	expect(told).toMatch(/80 % load \(computed\): classifier · fp16 · batch 8 \+24\.\d %/);
	expect(others).toEqual([]);
});

it("the recorded demo fits the comment on one screen", () => {
	const lines = shownLines(readFileSync(join(demo.out, "report.md"), "utf8"));
	// About 24 pixels each where 110 characters wide, and a table's rows take two.
	expect(
		lines.reduce((sum, line) => sum + Math.ceil(line.length / 110) + (line.startsWith("|") ? 1 : 0), 0),
	).toBeLessThanOrEqual(31);
	expect(countWords(lines.join(" "))).toBeLessThanOrEqual(262);
	const findings = shownFindings(readFileSync(join(demo.out, "report.md"), "utf8"));
	expect(findings.map((finding) => finding.match(/^- `/gm)?.length ?? 0)).toEqual([2, 0]);
	for (const finding of findings) expect(countWords(finding), finding).toBeLessThanOrEqual(60);
});

it.skipIf(spawnSync("jq", ["--version"]).status !== 0)(
	"the recorded demo's manifest answers what docs/releases.md asks before a roll-back",
	() => {
		const filter = /^jq -r '(.*)' manifest\.json$/m.exec(readFileSync("docs/releases.md", "utf8"))?.[1] ?? "";
		const [tensorrt, driver, ...engines] = execFileSync(
			"jq",
			["-r", filter, join(demo.out, "exports/manifest.json")],
			{ encoding: "utf8" },
		)
			.trim()
			.split("\n");
		expect([tensorrt, driver]).toEqual(["10.6.0", "580"]);
		expect(engines).toHaveLength(3);
		for (const engine of engines) expect(engine).toMatch(/^[0-9a-f]{64} {2}\S+$/);
	},
);

it("the recorded demo calls itself a replay in the headline, and on the page over the table", async () => {
	const { run, out, result } = demo;
	expect(result.backend).toMatchObject({
		kind: "tensorrt",
		version: "10.6.0",
		device: "NVIDIA H200",
		caveat: "replay of an H200",
	});
	expect(result.notes[0]).toMatch(/^This is a replay: nothing was built or timed here/);
	expect(run.stdout.replaceAll("\n", " ")).toMatch(/^FAILED +TensorRT gate \(replay of an H200\)/);
	for (const name of ["report.md", "report.html"]) {
		const text = readFileSync(join(out, name), "utf8");
		expect(text).toContain("This is a replay");
		expect(text).toMatch(/TensorRT gate \(replay of an H200\)/);
	}
	expect(readFileSync(join(out, "report.html"), "utf8")).toContain("Workloads (replay of an H200)");
});

it("the recorded demo shows the GPU beside the runs, keeps every sample and the builds' words", async () => {
	const { out, result } = demo;
	for (const workload of result.workloads) {
		expect(workload.gpu?.head).toMatchObject({ smClockMhz: 1980, throttleReasons: [] });
		for (const run of workload.runs) {
			expect(run.gpu?.samples).toBeGreaterThan(3);
			expect(run.computeShare).toBeGreaterThan(0.8);
			expect(statSync(join(out, run.samples ?? "")).size).toBe(8 * 400);
		}
	}
	const layers = result.files.map(({ path }) => path).filter((path) => path.startsWith("layers/"));
	expect(layers).toHaveLength(4);
	for (const path of layers) expect(readFileSync(join(out, path), "utf8")).toContain("stem");
	expect(readFileSync(join(out, "report.html"), "utf8").match(/<th scope="row">SM clock</g)).toHaveLength(3);
	expect(result.builds.map(({ state }) => state)).toEqual(Array(6).fill("built"));
	for (const { log, recipe, engineSha256 } of result.builds) {
		expect(readFileSync(log ?? "", "utf8")).toContain("&&&& PASSED");
		expect(recipe?.["flags"]).toContain("--saveEngine=engine.plan");
		expect(engineSha256).toMatch(/^[0-9a-f]{64}$/);
	}
});

it("the recorded demo takes no more than 300 kB of the repository", () => {
	const sizes = readdirSync("examples/recorded", { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => statSync(join(entry.parentPath, entry.name)).size);
	expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(300_000);
});
