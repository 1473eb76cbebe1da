// The action's entries as a runner starts them: inputs from the environment, outputs and summary into files.
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type CliRun, quickProject, readResult, runNode, temporaryFolder, writeProject } from "../support/project.ts";

interface ActionRun extends CliRun {
	outputs: Record<string, string>;
	summary: string;
	state: Record<string, string>;
}

function parseCommands(text: string): Record<string, string> {
	return Object.fromEntries([...text.matchAll(/^(.+?)<<(ghadelimiter_\S+)\n([\s\S]*?)\n\2$/gm)].map((match) => [match[1], match[3]]));
}

async function runAction(
	workspace: string,
	inputs: Record<string, string>,
	more: { entry?: string; env?: Record<string, string> } = {},
): Promise<ActionRun> {
	const files = mkdtempSync(join(workspace, ".runner-"));
	const names = { GITHUB_OUTPUT: "output", GITHUB_STEP_SUMMARY: "summary", GITHUB_STATE: "state" };
	const paths = Object.fromEntries(Object.entries(names).map(([variable, name]) => [variable, join(files, name)]));
	for (const path of Object.values(paths)) writeFileSync(path, "");
	const defaults: Record<string, { default?: string }> = parse(readFileSync("action.yml", "utf8")).inputs;
	const given = { ...Object.fromEntries(Object.entries(defaults).map(([name, input]) => [name, input.default ?? ""])), ...inputs };
	const variables = Object.fromEntries(Object.entries(given).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value]));
	const env = { GITHUB_ACTIONS: "true", CI: "true", GITHUB_WORKSPACE: workspace, ...variables, ...paths, ...more.env };
	const run = await runNode([resolve("dist", more.entry ?? "main.js")], { cwd: workspace, env });
	const read = (variable: string): string => readFileSync(paths[variable] ?? "", "utf8");
	return {
		...run,
		outputs: parseCommands(read("GITHUB_OUTPUT")),
		summary: read("GITHUB_STEP_SUMMARY"),
		state: parseCommands(read("GITHUB_STATE")),
	};
}

describe("the action", () => {
	it("says pass in its outputs and summary, and ends with 0", async () => {
		const workspace = quickProject(temporaryFolder());
		const run = await runAction(workspace, {});
		expect(run.exit, run.stdout + run.stderr).toBe(0);
		expect(run.outputs).toMatchObject({
			outcome: "pass",
			"failure-kind": "",
			failed: "0",
			result: join(workspace, "trtgate-out", "result.json"),
		});
		expect(Number(run.outputs["passed"])).toBeGreaterThan(2);
		expect(run.summary).toMatch(/CPU, not TensorRT/);
		expect(readResult(join(workspace, "trtgate-out")).outcome).toBe("pass");
		expect(run.stdout).toMatch(/::group::/);
		expect(run.stdout.match(/::group::/g)?.length).toBe(run.stdout.match(/::endgroup::/g)?.length);
	});

	it("fails the step and annotates the config line of what failed", async () => {
		const workspace = temporaryFolder();
		quickProject(join(workspace, "base"));
		quickProject(workspace, { "model.onnx": "fixture:wrong.onnx" });
		const run = await runAction(workspace, { base: "base" });
		expect(run.exit).toBe(1);
		expect(run.outputs).toMatchObject({ outcome: "fail", "failure-kind": "", failed: "2" });
		expect(run.stdout).toMatch(/::error .*file=trtgate\.yml,line=\d+/);
		expect(run.summary).toMatch(/y.*relative L2/s);
	});

	it("annotates a fault of the config where it stands", async () => {
		const workspace = quickProject(temporaryFolder(), { "trtgate.yml": "version: 1\nmodles: {}\n" });
		const run = await runAction(workspace, {});
		expect(run.exit).toBe(2);
		expect(run.outputs).toMatchObject({ outcome: "error", "failure-kind": "configuration" });
		expect(run.stdout).toMatch(/::error .*file=trtgate\.yml,line=2/);
	});

	it("its post step cleans up, and warns where there is no result", async () => {
		const workspace = writeProject(temporaryFolder(), { "trtgate-out/scratch/left": "over" });
		const out = join(workspace, "trtgate-out");
		const run = await runAction(workspace, {}, { entry: "post.js", env: { STATE_out: out } });
		expect(run.exit, run.stderr).toBe(0);
		expect(run.stdout).toMatch(/::warning::.*before it could write a result/);
	});
});
