// On a release a doubt fails, unless the file says otherwise; and everybody can see why.
import { expect, it } from "vitest";
import type { Config, Occasion } from "../../../src/core/config/config.ts";
import { loadConfig } from "../../../src/core/config/parse.ts";
import { formatSource } from "../../../src/core/config/source.ts";

function load(more: string, occasion?: Occasion): Config {
	const loaded = loadConfig(`version: 1\nmodels: { net: { onnx: net.onnx } }\n${more}`, {
		path: "trtgate.yml",
		...(occasion === undefined ? {} : { occasion }),
	});
	if (loaded.state === "invalid") throw loaded.errors[0];
	return loaded.config;
}
const engineGates = (config: Config) => config.models[0]?.engines[0]?.workloads[0]?.gates.inconclusive;

it.each<[string, Occasion | undefined, string, string]>([
	["", "release", "fail", "default on a release"],
	["", "nightly", "neutral", "default"],
	["", undefined, "neutral", "default"],
	["gates: { inconclusive: neutral }", "release", "neutral", "trtgate.yml:3:10"],
	["gates: { inconclusive: fail }", undefined, "fail", "trtgate.yml:3:10"],
])("%j, run for a %s: inconclusive is %s from %s", (more, occasion, value, source) => {
	const config = load(more, occasion);
	expect([config.gates.inconclusive, engineGates(config)]).toEqual([value, value]);
	expect(formatSource(config, "/gates/inconclusive")).toBe(source);
});

it.each<[string, Occasion | undefined, string, string]>([
	["", "release", "fail", "default on a release"],
	["", "nightly", "fail", "default in a scheduled run"],
	["", undefined, "warn", "default"],
	["gates: { golden: { existing: warn } }", "nightly", "warn", "trtgate.yml:3:20"],
	["gates: { golden: { existing: fail } }", undefined, "fail", "trtgate.yml:3:20"],
])("%j, run for a %s: golden.existing is %s from %s", (more, occasion, value, source) => {
	const config = load(more, occasion);
	expect([config.gates.existing, config.models[0]?.engines[0]?.gates.existing]).toEqual([value, value]);
	expect(formatSource(config, "/gates/golden/existing")).toBe(source);
});
