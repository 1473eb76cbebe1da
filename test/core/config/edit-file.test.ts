import fc from "fast-check";
import { expect, it } from "vitest";
import { parse } from "yaml";
import type { AcceptFile } from "../../../generated/config.ts";
import { addModels, editAccepted } from "../../../src/core/config/edit-file.ts";
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

const added: AcceptFile = {
	engine: "net/fp16",
	figure: "latency",
	"at-most": "12.5%",
	recipe: "0123456789abcdef",
	reason: 'twice the accuracy: #41 "really"',
	by: "Ada",
};
const other: AcceptFile = { ...added, figure: "engine-size", recipe: "1111111111111111" };

const file = `# Who may change this file: see CODEOWNERS.
version: 1 # the format

models:
  net:
    onnx: "net.onnx"   # exported nightly
    engines: { fp16: { precision: fp16 }, fp32: { precision: fp32 } }
    # the sizes that we serve
    workloads:
      - { batch: 1 }
      - { batch: 8, streams: 2 } # peak
    dims: { batch: { min: 1, opt: 4, max: 8 } }
gates:
  latency: { warn: 2%, fail: 10% } # agreed with the team, in a long line that goes on well beyond eighty columns, and beyond a hundred and twenty
`;

const figuresOf = (text: string) => loaded(text).accept?.map(({ figure }) => figure);
const keepAll = () => true;
const keepNone = () => false;

it("an entry is added behind everything else, which stays as it was, comments too", () => {
	const edited = editAccepted(file, [added], keepAll);
	expect(edited.startsWith(file)).toBe(true);
	const { "at-most": _, ...entry } = added;
	expect(loaded(edited).accept).toMatchObject([{ ...entry, atMost: 0.125 }]);
});

it("an entry is added to the existing ones, whose comments stay", () => {
	const once = editAccepted(file, [added], keepAll)
		.replace("accept:", "# the nightly job needs this\naccept:")
		.replace("by: Ada", "by: Ada # on Monday");
	const twice = editAccepted(once, [other], keepAll);
	expect(twice.startsWith(once)).toBe(true);
	expect(figuresOf(twice)).toEqual(["latency", "engine-size"]);
});

it("entries are removed, and the list with the last of them", () => {
	const both = editAccepted(file, [added, other], keepAll);
	const one = editAccepted(both, [], ({ figure }) => figure === "engine-size");
	expect(figuresOf(one)).toEqual(["engine-size"]);
	expect(editAccepted(one, [], keepNone)).toBe(file);
});

it("entries are written into an empty list, and replace a stale one of the same figure", () => {
	expect(loaded(editAccepted(`${file}accept: []\n`, [added], keepAll)).accept).toHaveLength(1);
	const stale = editAccepted(file, [{ ...added, recipe: "2222222222222222" }], keepAll);
	const renewed = editAccepted(stale, [added], ({ figure }) => figure !== "latency");
	expect(loaded(renewed).accept?.map(({ recipe }) => recipe)).toEqual([added.recipe]);
});

it("a list in the middle of the file is edited and removed without its neighbours", () => {
	const [head = "", tail = ""] = file.split("gates:");
	const middle = `${head}# accepted\naccept:\n    - { engine: a/b, figure: p99, at-most: 5%, recipe: "2222222222222222", reason: old one }\n\n# limits\ngates:${tail}`;
	const edited = editAccepted(middle, [added], keepAll);
	expect(edited.startsWith(`${head}# accepted\naccept:\n`)).toBe(true);
	expect(edited.endsWith(`\n\n# limits\ngates:${tail}`)).toBe(true);
	expect(figuresOf(edited)).toEqual(["p99", "latency"]);
	const removed = editAccepted(middle, [], keepNone);
	expect(removed.startsWith(`${head}# accepted\n`)).toBe(true);
	expect(removed.endsWith(`# limits\ngates:${tail}`)).toBe(true);
	expect(loaded(removed).accept).toBeUndefined();
});

it("a file keeps its line ends, and needs none at its end", () => {
	const windows = file.replaceAll("\n", "\r\n");
	const edited = editAccepted(windows, [added], keepAll);
	expect(edited.startsWith(windows)).toBe(true);
	expect(edited.replaceAll("\r\n", "")).not.toContain("\n");
	expect(loaded(edited).accept).toHaveLength(1);
	expect(loaded(editAccepted(file.trimEnd(), [added], keepAll)).accept).toHaveLength(1);
});
