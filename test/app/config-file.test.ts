import { join } from "node:path";
import { expect, it } from "vitest";
import { readConfigFile } from "../../src/app/config-file.ts";
import { folderWith } from "../support/project.ts";

it("paths of base are relative to the config, unless they are options or bare names", async () => {
	const base = "base: { trtexec: trt/bin/trtexec, python: python3.12, libraries: lib }";
	const text = `version: 1\n${base}\nmodels: { net: { onnx: model.onnx } }\n`;
	const cwd = folderWith({ "sub/trtgate.yml": text });
	const read = async (inputs: Record<string, string>) =>
		(await readConfigFile({ cwd, path: "sub/trtgate.yml", inputs })).config.base;
	const sub = (path: string) => join(cwd, "sub", path);
	const rest = { python: "python3.12", libraries: sub("lib") };
	expect(await read({})).toEqual({ trtexec: sub("trt/bin/trtexec"), ...rest });
	expect(await read({ "base-trtexec": "other/trtexec" })).toEqual({ trtexec: "other/trtexec", ...rest });
});
