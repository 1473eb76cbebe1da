import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { gateFolders, temporaryFolder } from "../support/project.ts";
import { gateReplay } from "../support/replay/gate.ts";

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
	const gate = () => gateFolders(cwd, { argv: ["--only", "segmenter"] });
	const { report, result } = await gate();
	const [found, ...others] = result.bisections ?? [];
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
	for (const name of ["terminal", "report.md", "report.html"]) {
		expect(report(name)).toContain("Where outputs diverge: 1 node found for 1 engine");
		expect(report(name)).toContain("/smooth/Conv");
	}
	expect(report("report.md")).toContain("That breaks fusions");
	writeFileSync(
		join(cwd, "head/trtgate.yml"),
		readFileSync(join(cwd, "head/trtgate.yml"), "utf8").replace("bisect: on", "bisect: nightly"),
	);
	expect((await gate()).result.bisections).toBeUndefined();
});

it("on TensorRT the output is compared with ONNX Runtime, and a run that fails ends the search with the nodes that are left", async () => {
	const config = [["cache:", "explain: { bisect: on }\ncache:"]] as const;
	const { result } = await gateReplay({ comparison: "wrong-head" }, { config });
	const [found] = result.bisections ?? [];
	expect(found).toMatchObject({ state: "unfinished", rounds: 1 });
	// The recording has no engine with these outputs.
	expect(found?.message).toMatch(
		/^The search ended: trtexec wrote no file for output \w+\. The cause lies in 10 nodes from `enc1` to `expose`\./,
	);
});
