import fc from "fast-check";
import { expect, it } from "vitest";
import { onnxFilesOf, onTensorRt } from "../../../src/core/config/versioned-files.ts";
import { loaded, refusalOf, withModel } from "./load.ts";

const withFiles = (files: string) => `engines: { fp16: { precision: fp16, onnx: { ${files} } } }`;
const engineOn = (files: string, version: string) =>
	onTensorRt(loaded(withModel(withFiles(files))), version).models[0]!.engines[0]!;

const migrated = '"<10": old.onnx, 10: ./a/../ten.onnx, ">=11": new.onnx';

it.each([
	["8.6.1", "old.onnx"],
	["9.3", "old.onnx"],
	["10.0", "ten.onnx"],
	["10.16.1", "ten.onnx"],
	["11.2.1", "new.onnx"],
	["12", "new.onnx"],
])("TensorRT %s builds %s", (version, onnx) => {
	expect(engineOn(migrated, version).onnx).toBe(onnx);
});

it("until the version is known, the model's own file counts; Git LFS fetches all of them", () => {
	const engine = loaded(withModel(withFiles(migrated))).models[0]!.engines[0]!;
	expect(engine.onnx).toBe("net.onnx");
	expect(onnxFilesOf(engine).sort()).toEqual(["net.onnx", "new.onnx", "old.onnx", "ten.onnx"]);
});

it("every version up to a bound has one file, and every other the other one", () => {
	const majors = fc.integer({ min: 1, max: 99 });
	fc.assert(
		fc.property(majors, majors, (bound, major) => {
			const { onnx } = engineOn(`"<${bound}": a.onnx, ">=${bound}": b.onnx`, `${major}.1`);
			expect(onnx).toBe(major < bound ? "a.onnx" : "b.onnx");
		}),
	);
});

it("a version without a file is one error that names the ranges and a fix", () => {
	const config = loaded(withModel(withFiles('"<11": a.onnx, "12": b.onnx')));
	let caught: unknown;
	try {
		onTensorRt(config, "11.2.1");
	} catch (error) {
		caught = error;
	}
	expect(caught).toMatchObject({
		code: "config-value",
		message: 'net/fp16 has no ONNX file for TensorRT 11.2.1; its `onnx` names files for "12", "<11".',
		location: { path: "trtgate.yml", line: 3 },
		fix: 'Add one, such as "11": models/net.onnx.',
	});
});

it.each([
	['"~11": a.onnx', "config-value", "is no such range"],
	['"11.2": a.onnx', "config-value", 'such as "11", "<11" or ">=11"'],
	['"<11": a.onnx, "10": b.onnx', "config-value", 'overlaps with "10"'],
	['">=10": a.onnx, "11": b.onnx', "config-value", 'overlaps with "11"'],
	['"<11": ../a.onnx', "path-outside-workspace", "out of the workspace"],
	['"<11": /a.onnx', "path-outside-workspace", "absolute"],
	['"<11": a.plan', "config-value", "an engine by its name"],
	['"<11": 3', "config-schema", "files by version"],
	["", "config-schema", "at least 1 entry"],
])("the files { %s } are refused", (files, code, says) => {
	const found = refusalOf(withFiles(files));
	expect(found).toMatchObject({ code });
	expect(found.pointer).toContain("/models/net/engines/fp16/onnx");
	expect(found.message).toContain(says);
});

it("anything else is refused with what the key takes", () => {
	expect(refusalOf("engines: { fp16: { precision: fp16, onnx: [a.onnx] } }").message).toContain(
		'a path, or files by version such as { "<11": a.onnx, "11": b.onnx }',
	);
});
