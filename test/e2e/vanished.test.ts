// A base that reports a figure and a head that does not, through the built bundle.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { distWithFaultyWorker, quickProject, readResult, runCli, temporaryFolder } from "../support/project.ts";

it("a head without a memory figure warns by name in every report, where the base has 1 GB", async () => {
	const dist = distWithFaultyWorker(
		"measure",
		`const samples = new Float64Array(20).fill(0.5);
		writeFileSync(job.samplesPath, new Uint8Array(samples.buffer));
		const peakMemoryBytes = /head/.test(job.modelPath.split("/out/")[1]) ? null : 2 ** 30;
		write(JSON.stringify({ kind: "measure", iterations: 20, timedMs: 12.5, peakMemoryBytes }));`,
	);
	const folder = temporaryFolder();
	quickProject(join(folder, "base"));
	quickProject(join(folder, "head"), { "model.onnx": "fixture:reexported.onnx" });
	const run = await runCli(["run", "--base", "base", "--head", "head", "--out", "out"], { cwd: folder, dist });
	expect(run.exit, run.stdout + run.stderr).toBe(0);
	const result = readResult(join(folder, "out"));
	const [row] = result.workloads;
	expect(row?.base).toMatchObject({ peakMemoryBytes: 2 ** 30, throughputPerSecond: 1600 });
	expect(row?.head?.peakMemoryBytes).toBeNull();
	expect(result.outcome).toBe("warn");
	const says = "The base reports peak memory (1.00 GiB); the head does not";
	expect(result.gates.filter(({ gate }) => gate === "vanished")).toMatchObject([
		{ status: "warn", message: expect.stringContaining(says) },
	]);
	for (const text of [
		run.stdout,
		...["report.md", "report.html", "junit.xml"].map((name) => readFileSync(join(folder, "out", name), "utf8")),
	])
		expect(text.replace(/\s+/g, " ")).toMatch(/peak memory \(1\.00 GiB\); the head does not/);
});
