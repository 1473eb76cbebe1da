import type { Config } from "../../src/core/config/config.ts";
import { loadConfig } from "../../src/core/config/parse.ts";

export function buildConfig(rest = "", engine = "{ precision: fp32 }"): Config {
	const text = `version: 1\nmodels:\n  net: { onnx: net.onnx, engines: { plain: ${engine} }, workloads: [{ name: one }] }\n${rest}`;
	const loaded = loadConfig(text, { path: "trtgate.yml" });
	if (loaded.state === "invalid") throw loaded.errors[0];
	return loaded.config;
}
