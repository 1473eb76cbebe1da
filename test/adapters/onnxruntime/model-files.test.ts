import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	statSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { readModel } from "../../../src/adapters/files/model-reader.ts";
import { editModel, placeModel } from "../../../src/adapters/onnxruntime/model-files.ts";
import { cutAt } from "../../../src/core/onnx/walk.ts";
import { externalTensor, model, value } from "../../support/onnx-writer.ts";
import { modelAt } from "../../support/ort-jobs.ts";
import { temporaryFolder, writeProject } from "../../support/project.ts";

let [folder, engines, source] = ["", "", ""];
beforeEach(() => {
	folder = temporaryFolder();
	engines = join(folder, "engines");
	mkdirSync(engines);
	source = join(folder, "m.onnx");
	writeFileSync(source, "model");
});
const external = (location: string, path: string | null) =>
	({ location, path, neededBytes: 4, problem: null }) as const;

it("placeModel does not change when the model is written again", async () => {
	const engine = await placeModel(modelAt(source), engines);
	writeFileSync(source, "another");
	expect(readFileSync(engine.path, "utf8")).toBe("model");
	expect((await placeModel(modelAt(source), engines)).bytes).toBe(7);
	expect(readFileSync(engine.path, "utf8")).toBe("another");
});

it("placeModel links a model that is too large to copy", async () => {
	writeFileSync(join(folder, "small.onnx"), "");
	truncateSync(source, 256 * 1024 * 1024);
	const model = { ...modelAt(join(folder, "small.onnx")), path: source, sha256: "x" };
	const engine = await placeModel(model, engines);
	expect(engine).toMatchObject({ bytes: 256 * 1024 * 1024 });
	expect(statSync(engine.path).ino).toBe(statSync(source).ino);
});

it("placeModel counts external data, in folders of its own too", async () => {
	writeProject(folder, { "deep/w.bin": "1234" });
	const model = modelAt(source, [external("deep/w.bin", join(folder, "deep/w.bin"))]);
	const engine = await placeModel(model, engines);
	expect(engine.bytes).toBe(9);
	expect(readFileSync(join(engines, "deep/w.bin"), "utf8")).toBe("1234");
});

it("placeModel never writes outside the engine folder", async () => {
	writeFileSync(join(folder, "w.bin"), "1234");
	const outside = [
		external("../evil.bin", join(folder, "w.bin")),
		external("/tmp/evil-w.bin", join(folder, "w.bin")),
		external("w.bin", null),
	];
	const engine = await placeModel(modelAt(source, outside), engines);
	expect(engine.bytes).toBe(5);
	expect(existsSync(join(folder, "evil.bin")) || existsSync("/tmp/evil-w.bin")).toBe(false);
});

it("editModel copies the external data that a cut model reads, and no other", async () => {
	writeProject(folder, { "near.bin": "12345678", "far.bin": "12345678" });
	const initializers = ["near", "far"].map((name) => externalTensor(name, [2], { location: `${name}.bin` }));
	const graph = { nodes: "a = Add(x, near); y = Add(a, far)", inputs: [value("x", [2])], initializers };
	writeFileSync(source, model(graph));
	const whole = await readModel(source);
	const cut = await editModel(whole, cutAt(whole.onnx, { name: "a", dtype: "float", dims: [2] }), engines);
	expect(cut.external.map(({ path }) => path)).toEqual([join(engines, "near.bin")]);
	expect(readdirSync(engines).sort()).toEqual(["m.onnx", "near.bin"]);
	expect((await readModel(cut.path)).external).toMatchObject([{ problem: null }]);
});
