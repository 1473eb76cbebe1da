import { execFileSync } from "node:child_process";
import { access, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";

interface Surface {
	inputs: Record<string, { default?: unknown }>;
	outputs: Record<string, { value?: string }>;
	runs: { steps: { name: string; uses?: string; run?: string; with?: Record<string, string> }[] };
}

const [root, composite] = await Promise.all(
	["action.yml", "composite/action.yml"].map(
		async (path): Promise<Surface> => parse(await readFile(path, "utf8")),
	),
);

function stepOf(name: string): Surface["runs"]["steps"][number] {
	const step = composite?.runs.steps.find((candidate) => candidate.name === name);
	if (step === undefined) throw new Error(`composite/action.yml has no step ${name}`);
	return step;
}

it("composite/action.yml has the gate's inputs, with its defaults, and passes each on", () => {
	const { prepare: _, ...passed } = composite?.inputs ?? {};
	const defaults = (inputs: Surface["inputs"]) =>
		Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.default]));
	expect(defaults(passed)).toEqual(defaults(root?.inputs ?? {}));
	const names = Object.keys(root?.inputs ?? {});
	expect(stepOf("Gate").with).toEqual(
		Object.fromEntries(names.map((name) => [name, `\${{ inputs.${name} }}`])),
	);
});

it("composite/action.yml has the gate's outputs", () => {
	const names = Object.keys(root?.outputs ?? {});
	expect(Object.entries(composite?.outputs ?? {}).map(([name, { value }]) => [name, value])).toEqual(
		names.map((name) => [name, `\${{ steps.gate.outputs.${name} }}`]),
	);
});

it("composite/action.yml puts the gate of its own commit where ./ finds it, out of git's sight", async () => {
	const folder = await mkdtemp(join(tmpdir(), "trtgate-composite-"));
	onTestFinished(() => rm(folder, { recursive: true, force: true }));
	const workspace = join(folder, "work space");
	await mkdir(workspace);
	execFileSync("git", ["init", "-q", workspace]);
	const env = {
		PATH: process.env["PATH"],
		GITHUB_ACTION_PATH: resolve("composite"),
		GITHUB_WORKSPACE: workspace,
	};
	// Twice: a runner that stays keeps its workspace.
	for (let times = 0; times < 2; times += 1)
		execFileSync("bash", ["-e", "-c", stepOf("Put the gate into the workspace").run ?? ""], { env });
	expect(stepOf("Gate").uses).toBe("./.trtgate");
	for (const file of [
		"action.yml",
		"package.json",
		"dist/main.js",
		"dist/post.js",
		"dist/worker/tensorrt.py",
	])
		await access(join(workspace, ".trtgate", file));
	expect(execFileSync("git", ["-C", workspace, "status", "--porcelain"], { encoding: "utf8" })).toBe("");
});
