// What the reader suggests for values of the wrong kind, whatever users call their things.
import { expect, it } from "vitest";
import { refused, withModel } from "./load.ts";

it.each(["constructor", "__proto__", "shape", "engines", "models"])(
	"a model called %s gets the advice for a model",
	(name) => {
		const [error] = refused(`version: 1\nmodels:\n  ${name}: net.onnx\n`);
		expect(error?.fix).toMatch(
			name === "engines" ? /^Indent engines below the model/ : `Write ${name}: { onnx: net.onnx }.`,
		);
	},
);

it.each([
	["latency: -5%", "Write a mapping such as { warn: 2%, fail: 5% }."],
	["latency: 0", "Write a mapping such as { warn: 2%, fail: 5% }."],
	["latency: 0.05", "Write latency: { fail: 0.05 }."],
	["latency: [2%, 5%]", "Write a mapping such as { warn: 2%, fail: 5% }."],
])("gates: { %s } is advised: %s", (gate, fix) => {
	expect(refused(withModel("", `gates: { ${gate} }`))[0]?.fix).toBe(fix);
});

it("advice for a text of flags looks at each of them", () => {
	const [error] = refused(withModel('flags: "--fp16 --minShapes=x:1 --sparsity=enable --refit"'));
	expect(error?.fix).toBe(
		'Write flags: ["--sparsity=enable", "--refit"]. For --fp16: State the engine\'s `precision`. For --minShapes: Give sizes under `dims` or `profiles`.',
	);
	expect(refused(withModel("flags: --fp16"))[0]?.fix).toBe(
		"Remove flags. For --fp16: State the engine's `precision`.",
	);
});
