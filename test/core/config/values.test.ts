import fc from "fast-check";
import { expect, it } from "vitest";
import { folderName } from "../../../src/core/config/values.ts";

it.each(["resnet50", "net-1.2", "a_b"])("folderName keeps the plain name %s", (id) => {
	expect(folderName(id)).toBe(id);
});

const unsafe =
	"resnet50/fp16|ResNet|con|nul.txt|com1|..|.||-|a b|🙂|__proto__|../../etc|a\0b|aux.onnx|a.".split("|");

it.each([...unsafe, "x".repeat(400)])("folderName makes a safe name of %.40j", (id) => {
	const name = folderName(id);
	expect(name).not.toBe(id);
	expect(name).toMatch(/^[a-z0-9][a-z0-9._-]{0,79}$/);
	expect(name).not.toMatch(/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/);
});

it("folderName keeps any two ids apart, even if case is ignored", () => {
	const id = fc.oneof(
		fc.string({ unit: "grapheme", maxLength: 100 }),
		fc.string({ unit: "binary", maxLength: 8 }),
		fc.stringMatching(/^[aA/ ._-]{0,6}$/),
	);
	fc.assert(
		fc.property(id, id, (left, right) => {
			expect(folderName(left).toLowerCase() === folderName(right).toLowerCase()).toBe(left === right);
		}),
		{ numRuns: 400 },
	);
});

// The hashes were computed by a second implementation, in Python.
it("folderName gives the same name in every run and on every machine", () => {
	expect(folderName("resnet50/fp16")).toBe("resnet50-fp16-2x8bav1o4jo31");
	expect(folderName("")).toBe("x-33niihzj4ux45");
});

it("folderName never makes a plain name that is another id's altered one", () => {
	fc.assert(
		fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), (id) => {
			const once = folderName(id);
			expect(folderName(once) === once).toBe(once === id);
		}),
	);
});
