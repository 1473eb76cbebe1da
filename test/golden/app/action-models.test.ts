// Which models of a config the action records, by the names that it is given.
import { expect, it } from "vitest";
import { loadConfig } from "../../../src/core/config/parse.ts";
import { chooseTargets } from "../../../src/golden/app/action-models.ts";

function configOf(models: Readonly<Record<string, string | null>>) {
	const lines = Object.entries(models).map(
		([name, golden]) =>
			`  ${JSON.stringify(name)}: { onnx: m.onnx${golden === null ? "" : `, golden: ${golden}`} }`,
	);
	const loaded = loadConfig(`version: 1\nmodels:\n${lines.join("\n")}\n`, { path: "trtgate.yml" });
	if (loaded.state === "invalid") throw loaded.errors[0];
	return loaded.config;
}

const config = configOf({ net: "golden/net/golden.json", other: "golden/other/golden.json", none: null });

it.each([
	["", ["net", "other"]],
	["net", ["net"]],
	["other, net", ["other", "net"]],
	["net\n\n other \nnet,", ["net", "other"]],
])("the models to record of %j are %j", (names, expected) => {
	expect(chooseTargets(config, names).map(({ model }) => model.name)).toEqual(expected);
});

it.each<[string, Parameters<typeof configOf>[0], string, RegExp]>([
	["a name that is not there", { net: "g/golden.json" }, "nett", /has no model "nett"/],
	["a name of JavaScript", { net: "g/golden.json" }, "__proto__", /has no model "__proto__"/],
	["a model without a golden", { net: null }, "net", /"net" has no golden/],
	["a config without goldens", { net: null }, "", /No model of trtgate\.yml has a golden/],
	[
		"a golden of another name",
		{ net: "g/net.json" },
		"",
		/is g\/net\.json, but a recorded golden must be named golden\.json/,
	],
	[
		"one golden of two models",
		{ a: "g/golden.json", b: "g/golden.json" },
		"",
		/"a" and "b" share the golden g\/golden\.json/,
	],
])("the models to record refuses %s", (_, models, names, says) => {
	expect(() => chooseTargets(configOf(models), names)).toThrow(says);
});
