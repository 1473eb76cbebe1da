import fc from "fast-check";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { addModels } from "../../../src/core/config/add-models.ts";
import { loaded } from "./load.ts";

const entry = (name: string) => [
	`  ${name}:`,
	`    onnx: ${name}.onnx # its file`,
	"    engines:",
	"      fp32: { precision: fp32 }",
	`    # golden: golden/${name}/golden.json`,
];

const block = `# Our gate.
version: 1
models:
  a: # the first
    onnx: a.onnx
    engines: { fp32: { precision: fp32 } }
    # golden: golden/a/golden.json

# Limits.
gates: { latency: { warn: 3% } }
`;

it("addModels writes behind the last model and its comments, and keeps every other byte", () => {
	const text = addModels(block, [entry("b"), entry("c")]);
	const own = `\n${entry("b").join("\n")}\n\n${entry("c").join("\n")}\n`;
	expect(text).toBe(block.replace("\n\n# Limits.", `\n${own}\n# Limits.`));
	expect(loaded(text).models.map(({ name }) => name)).toEqual(["a", "b", "c"]);
	expect(addModels(addModels(block, [entry("b")]), [entry("c")])).toBe(text);
});

it.each([
	["without a last line end", block.slice(0, block.indexOf("\n\n# Limits"))],
	["with the lines of Windows", block.replaceAll("\n", "\r\n")],
	["that indents by four", block.replaceAll(/^ +/gm, "$&$&")],
	[
		"in braces",
		"version: 1\nmodels: { a: { onnx: a.onnx, engines: { fp32: { precision: fp32 } } } } # all\n",
	],
	["in one line", "{ version: 1, models: { a: { onnx: a.onnx, engines: { fp32: { precision: fp32 } } } } }"],
	["in JSON", JSON.stringify(parse(block), null, 2)],
	[
		"whose last model ends in a block of text",
		`${block.slice(0, block.indexOf("    # golden"))}    prepare: |\n      python a.py\n\n      # done\n`,
	],
	["with an anchor", block.replace("models:", "models: &all")],
])("addModels adds to a config %s", (_, text) => {
	const result = addModels(text, [entry("b"), entry("c")]);
	expect(loaded(result).models.map(({ name }) => name)).toEqual(["a", "b", "c"]);
	const { models, ...others } = parse(result);
	const { models: before, ...othersBefore } = parse(text);
	expect([models.a, others]).toEqual([before.a, othersBefore]);
	expect(result.includes("\r\n")).toBe(text.includes("\r\n"));
	if (text.includes("\r\n")) expect(result.replaceAll("\r\n", "")).not.toContain("\n");
	for (const comment of text.match(/# .*/g) ?? []) expect(result).toContain(comment.trim());
});

it("addModels leaves what other models say as it is, wherever blank lines and comments stand", () => {
	const filler = fc.constantFrom(
		"",
		"\n",
		"# a note\n",
		"  # a note\n",
		"    # a note\n",
		"\n\n      # a note\n",
	);
	fc.assert(
		fc.property(fc.array(filler, { minLength: 8, maxLength: 8 }), fc.boolean(), (fillers, ends) => {
			const lines = [
				"version: 1\n",
				"models:\n",
				"  a:\n",
				"    onnx: a.onnx\n",
				"  b: { onnx: b.onnx }\n",
				"  c:\n    onnx: c.onnx\n",
				"gates: { latency: { warn: 3% } }\n",
			];
			const used = ends ? lines : lines.slice(0, -1);
			const text = used.map((line, at) => (fillers[at] ?? "") + line).join("") + (fillers[7] ?? "");
			const added = addModels(text, [entry("d")]);
			expect(parse(added)).toEqual({
				...parse(text),
				models: { ...parse(text).models, ...parse(entry("d").join("\n")) },
			});
			expect(added.length).toBe(text.length + entry("d").join("\n").length + 2);
		}),
		{ numRuns: 300 },
	);
});
