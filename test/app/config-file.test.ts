import { join } from "node:path";
import { expect, it } from "vitest";
import { readConfigFile } from "../../src/app/config-file.ts";
import { temporaryFolder, writeProject } from "../support/project.ts";

it("paths of base are relative to the config, unless they are options or bare names", async () => {
	const cwd = temporaryFolder();
	const base = "base: { trtexec: trt/bin/trtexec, python: python3.12, libraries: lib }";
	writeProject(cwd, { "sub/trtgate.yml": `version: 1\n${base}\nmodels: { net: { onnx: model.onnx } }\n` });
	const read = async (inputs: Record<string, string>) =>
		(await readConfigFile({ cwd, path: "sub/trtgate.yml", inputs })).config.base;
	const sub = (path: string) => join(cwd, "sub", path);
	expect(await read({})).toEqual({
		trtexec: sub("trt/bin/trtexec"),
		python: "python3.12",
		libraries: sub("lib"),
	});
	expect(await read({ "base-trtexec": "other/trtexec" })).toMatchObject({
		trtexec: "other/trtexec",
		libraries: sub("lib"),
	});
});
