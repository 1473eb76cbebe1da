import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { expectExit, runCli, temporaryFolder, writeProject } from "../support/project.ts";

const models = {
	"nets/a/model.onnx": "fixture:model.onnx",
	"nets/b/model.onnx": "fixture:wrong.onnx",
	"nets/.cache/hidden.onnx": "fixture:model.onnx",
	"nets/node_modules/other.onnx": "fixture:model.onnx",
	"nets/notes.onnx": "a text",
	"c.onnx": "fixture:model.onnx",
};

it("init takes folders and files, adds to the config of an earlier one, and its comments stay", async () => {
	const cwd = writeProject(temporaryFolder(), models);
	const config = () => readFileSync(join(cwd, "trtgate.yml"), "utf8");
	const first = await runCli(["init", "c.onnx", "--quiet"], { cwd });
	expectExit(first, 0);
	const written = config();
	const workflow = readFileSync(join(cwd, ".github/workflows/trtgate.yml"), "utf8");
	const second = await runCli(["init", "nets/", "./c.onnx", "nets/a/model.onnx", "--quiet"], { cwd });
	expectExit(second, 0);
	expect(second.stdout).toMatch(
		/^c\.onnx is in trtgate\.yml already\.\nadded model, b-model to trtgate\.yml\n/,
	);
	expect(second.stdout).toContain("of all models: `trtgate golden record`; better");
	expect(second.stderr).toMatch(/note: nets\/notes\.onnx is left out\. .*text file/);
	const onnx = Object.values(parse(config()).models).map((model) => (model as { onnx: string }).onnx);
	expect(onnx).toEqual(["c.onnx", "nets/a/model.onnx", "nets/b/model.onnx"]);
	for (const line of written.split("\n")) expect(config()).toContain(line);
	expect(readFileSync(join(cwd, ".github/workflows/trtgate.yml"), "utf8")).toBe(workflow);
	expectExit(await runCli(["run", "--dry-run"], { cwd }), 0);
	const before = config();
	const third = await runCli(["init", "nets/a/model.onnx"], { cwd });
	expect(third).toMatchObject({ exit: 0, stdout: "nets/a/model.onnx is in trtgate.yml already.\n" });
	expect(config()).toBe(before);
});

it("init keeps a workflow that is there, and writes one beside an older config", async () => {
	const cwd = writeProject(temporaryFolder(), { ...models, ".github/workflows/trtgate.yml": "name: mine\n" });
	expectExit(await runCli(["init", "c.onnx", "--quiet"], { cwd }), 0);
	expect(readFileSync(join(cwd, ".github/workflows/trtgate.yml"), "utf8")).toBe("name: mine\n");
	const other = writeProject(temporaryFolder(), {
		...models,
		"trtgate.yml": "version: 1\nmodels: { c: { onnx: ./c.onnx } } # ours\n",
	});
	const run = await runCli(["init", "c.onnx", "nets/b/model.onnx", "--quiet"], { cwd: other });
	expectExit(run, 0);
	expect(existsSync(join(other, ".github/workflows/trtgate.yml"))).toBe(true);
	const text = readFileSync(join(other, "trtgate.yml"), "utf8");
	expect(text).toContain("# ours");
	expect(Object.keys(parse(text).models)).toEqual(["c", "model"]);
});

it("init refuses a config that shares its models by an alias, and leaves it as it was", async () => {
	const config = "version: 1\nmodels: *all\n";
	const cwd = writeProject(temporaryFolder(), { ...models, "trtgate.yml": config });
	const run = await runCli(["init", "c.onnx", "--quiet"], { cwd });
	expect(run.exit).toBe(2);
	expect(readFileSync(join(cwd, "trtgate.yml"), "utf8")).toBe(config);
});
