import { join } from "node:path";
import { expect, it } from "vitest";
import { type ActionOptions, type ActionRun, runActionFolder } from "../support/action-runner.ts";
import { expectExit, quickProject, readResult, temporaryFolder, writeProject } from "../support/project.ts";

function runAction(
	workspace: string,
	inputs: Record<string, string>,
	more: Partial<ActionOptions> = {},
): Promise<ActionRun> {
	const env = {
		XDG_CACHE_HOME: join(workspace, ".cache"),
		TRTGATE_LOCKS: join(workspace, ".locks"),
		...more.env,
	};
	return runActionFolder(".", { cwd: workspace, inputs, ...more, env });
}

it("the action says pass in its outputs and summary, and ends with 0", async () => {
	const workspace = quickProject(temporaryFolder());
	const run = await runAction(workspace, {});
	expectExit(run, 0);
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

it("the action annotates a fault of the config at its line", async () => {
	const workspace = quickProject(temporaryFolder(), { "trtgate.yml": "version: 1\nmodles: {}\n" });
	const run = await runAction(workspace, {});
	expectExit(run, 2);
	expect(run.outputs).toMatchObject({ outcome: "error", "failure-kind": "configuration" });
	expect(run.annotations).toContainEqual(
		expect.objectContaining({ level: "error", file: "trtgate.yml", line: 2 }),
	);
});

it("the action its post step cleans up, and warns if there is no result", async () => {
	const workspace = writeProject(temporaryFolder(), { "trtgate-out/scratch/left": "over" });
	const out = join(workspace, "trtgate-out");
	const run = await runAction(workspace, {}, { entry: "post", state: { out } });
	expectExit(run, 0);
	expect(run.annotations).toContainEqual({
		level: "warning",
		message: expect.stringMatching(/before it could write a result/),
	});
});
