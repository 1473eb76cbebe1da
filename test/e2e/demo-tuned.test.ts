import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadConfig } from "../../src/core/config/parse.ts";
import { expectSchema } from "../support/expect-schema.ts";
import { expectExit, readResult, runCli, temporaryFolder } from "../support/project.ts";

it("the demo replays tune on a public model: fp16 is fastest, and bf16 and tf32 are one speed", async () => {
	const cwd = temporaryFolder();
	const run = await runCli(["demo", "--tune", "--out", "out"], { cwd });
	expectExit(run, 0);
	const out = join(cwd, "out/project/tuned");
	const result = readResult(out);
	expectSchema(result, "result");
	expect(result.backend).toMatchObject({ version: "10.6.0", caveat: "replay of an H200" });
	const found = result.siblings?.map(({ engine, against, latency }) => [engine, against, latency.estimate]);
	const near = (value: number) => expect.closeTo(value, 2);
	expect(found).toEqual([
		["bf16", "fp16", near(0.147)],
		["tf32", "fp16", near(0.146)],
		["fp32", "fp16", near(1.502)],
	]);
	expect(result.siblings?.map(({ latency }) => latency.pairs)).toEqual([5, 5, 5]);
	expect(new Set(result.golden.map(({ state }) => state))).toEqual(new Set(["match"]));
	// As trtgate tune printed them on the GPU.
	expect(run.stdout).toMatch(
		/magika · fp16 · default +fp16 +best +79\.\d+ µs +8\.2e-5 +15\.7 MiB +2\.34 MiB/,
	);
	expect(run.stdout).toMatch(
		/magika · fp32 · default +fp32 +best +198\.\d µs +5\.3e-7 +27\.1 MiB +3\.85 MiB/,
	);
	expect(run.stdout).toMatch(/\n {2}1 stream, CUDA graph: 79\.\d+ µs, 12,3\d\d \/ s\n/);
	expect(run.stdout).toContain("\nbf16: 0.0 % of the multiply-adds run in bf16.\n");
	expect(run.stdout).toContain("Fastest of the best: fp16.");
	expect(run.stderr).toContain("This is a replay: nothing was built or timed here.");
	expect(run.stderr).toContain("note: No time was left for optimization level 5");
	expect(readFileSync(join(out, "report.html"), "utf8")).toContain("Error against time");
	const chosen = readFileSync(join(out, "chosen.yml"), "utf8");
	expect(loadConfig(`version: 1\n${chosen}`, { path: "trtgate.yml" })).toMatchObject({
		config: { models: [{ onnx: "magika.onnx", engines: [{ name: "fp16" }] }] },
	});
});

it("the demo of tune takes no more than 260 kB of the repository", () => {
	const sizes = readdirSync("examples/tuned", { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => statSync(join(entry.parentPath, entry.name)).size);
	expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(260_000);
});
