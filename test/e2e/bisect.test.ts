import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readResult, runCli, temporaryFolder, writeProject } from "../support/project.ts";
import { comparisonFiles, installReplay } from "../support/replay/install.ts";

it("a failing golden names the node whose weights changed", async () => {
	const cwd = temporaryFolder();
	for (const arm of ["base", "head"]) {
		cpSync(join("examples/quickstart", arm), join(cwd, arm), { recursive: true });
		const path = join(cwd, arm, "trtgate.yml");
		const text = readFileSync(path, "utf8").replace(
			"    workloads: [{ name: one picture }]\n    golden: golden/seg",
			"    workloads: []\n    golden: golden/seg",
		);
		writeFileSync(path, `${text}\nexplain: { bisect: on }\n`);
	}
	const run = () =>
		runCli(["run", "--base", "base", "--head", "head", "--out", "out", "--only", "segmenter"], { cwd });
	const { stdout } = await run();
	const [found, ...others] = readResult(join(cwd, "out")).bisections ?? [];
	expect(others).toEqual([]);
	expect(found).toMatchObject({
		state: "found",
		model: "segmenter",
		node: "/smooth/Conv",
		tensor: "/smooth/Conv_output",
		before: 0,
		rounds: 1,
	});
	expect(found?.message).toContain(
		"The base's model has the same node: its weights or constants changed, or the engine computes it differently.",
	);
	for (const text of [
		stdout,
		readFileSync(join(cwd, "out/report.md"), "utf8"),
		readFileSync(join(cwd, "out/report.html"), "utf8"),
	]) {
		expect(text).toContain("Where outputs diverge: 1 node found for 1 engine");
		expect(text).toContain("/smooth/Conv");
	}
	expect(readFileSync(join(cwd, "out/report.md"), "utf8")).toContain("That breaks fusions");
	writeFileSync(
		join(cwd, "head/trtgate.yml"),
		readFileSync(join(cwd, "head/trtgate.yml"), "utf8").replace("bisect: on", "bisect: nightly"),
	);
	await run();
	expect(readResult(join(cwd, "out")).bisections).toBeUndefined();
});

it("on TensorRT the output is compared with ONNX Runtime, and a run that fails ends the search with the nodes that are left", async () => {
	const cwd = temporaryFolder();
	for (const arm of ["base", "head"] as const) {
		const files = comparisonFiles("wrong-head", arm);
		writeProject(join(cwd, arm), {
			...files,
			"trtgate.yml": `${files["trtgate.yml"]}\nexplain: { bisect: on }\n`,
		});
	}
	const env = { PATH: installReplay(cwd, { comparison: "wrong-head" }) };
	await runCli(["run", "--base", "base", "--head", "head", "--out", "out"], { cwd, env });
	const [found] = readResult(join(cwd, "out")).bisections ?? [];
	expect(found).toMatchObject({ state: "unfinished", rounds: 1 });
	// The recording has no engine with these outputs.
	expect(found?.message).toMatch(
		/^The search ended: trtexec wrote no file for output \w+\. The cause lies in 10 nodes from `enc1` to `expose`\./,
	);
});
