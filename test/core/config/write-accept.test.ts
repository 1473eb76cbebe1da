import { expect, it } from "vitest";
import type { AcceptFile } from "../../../generated/config.ts";
import { editAccepted } from "../../../src/core/config/write-accept.ts";
import { loaded } from "./load.ts";

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
