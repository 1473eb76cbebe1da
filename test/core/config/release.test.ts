// On a release a doubt fails, unless the file says otherwise; and everybody can see why.
import { expect, it } from "vitest";
import type { Config } from "../../../src/core/config/config.ts";
import { loadConfig } from "../../../src/core/config/parse.ts";
import { formatSource } from "../../../src/core/config/source.ts";

function load(more: string, isRelease: boolean): Config {
	const loaded = loadConfig(`version: 1\nmodels: { net: { onnx: net.onnx } }\n${more}`, { path: "trtgate.yml", isRelease });
	if (loaded.state === "invalid") throw loaded.errors[0];
	return loaded.config;
}
const engineGates = (config: Config) => config.models[0]?.engines[0]?.workloads[0]?.gates.inconclusive;

it.each([
	["", true, "fail", "default on a release"],
	["", false, "neutral", "default"],
	["gates: { inconclusive: neutral }", true, "neutral", "trtgate.yml:3:10"],
	["gates: { inconclusive: fail }", false, "fail", "trtgate.yml:3:10"],
])("%j, release %s: %s from %s", (more, isRelease, value, source) => {
	const config = load(more, isRelease);
	expect([config.gates.inconclusive, engineGates(config)]).toEqual([value, value]);
	expect(formatSource(config, "/gates/inconclusive")).toBe(source);
});
