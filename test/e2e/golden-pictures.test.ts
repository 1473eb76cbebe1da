// Goldens of pictures and of test data sets through the built bundle: recorded, checked, and run through the gate with numbers of one's own.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { deflateSync } from "node:zlib";
import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";
import type { GoldenManifest } from "../../src/core/schema/golden.ts";
import type { Result } from "../../src/core/schema/result.ts";
import { pngChunk, pngHeader, pngSignature } from "../support/png-writer.ts";
import { runCli, temporaryFolder } from "../support/project.ts";

const dist = process.env["TRTGATE_DIST"];
const classifier = resolve("examples/quickstart/base/models/classifier.onnx");

function cli(argv: readonly string[], cwd: string) {
	return runCli([...argv], { cwd, ...(dist === undefined ? {} : { dist: resolve(dist) }) });
}

/** Bars of another width and direction in each. */
function writePictures(cwd: string, count: number): void {
	mkdirSync(join(cwd, "pictures"));
	for (let nth = 0; nth < count; nth += 1) {
		const png = new PNG({ width: 96, height: 80 });
		for (let at = 0; at < 96 * 80; at += 1) {
			const [x, y] = [at % 96, Math.floor(at / 96)];
			const value = 128 + 120 * Math.sin(((nth % 2 === 0 ? x : y) + nth * x * 0.3) / (4 + 2 * nth));
			png.data.set([value, value, value, 255], 4 * at);
		}
		writeFileSync(join(cwd, `pictures/bars-${nth}.png`), PNG.sync.write(png));
	}
}

const config = `version: 1
backend: onnxruntime
onnxruntime: wasm
models:
  net:
    onnx: net.onnx
    dims: { batch: { min: 1, opt: 1, max: 1 } }
    golden: golden/golden.json
comparators:
  furthest:
    command: [${JSON.stringify(process.execPath)}, furthest.mjs, "3"]
    timeout: 5m
measure: { pairs: [5], warm-up: 1ms, duration: 1ms }
`;

const furthest = `
import { readFileSync } from "node:fs";
const [least, expected, got] = process.argv.slice(2);
const read = (path) => { const b = readFileSync(path); return new Float32Array(b.buffer.slice(b.byteOffset + 10 + b.readUInt16LE(8), b.byteOffset + b.length)); };
const [a, b] = [read(expected), read(got)];
const { case: name } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify({ value: Math.max(...a.map((x, i) => Math.abs(x - b[i]))), pass: a.length >= Number(least), detail: "asked about " + name }));
`;

describe("a golden of pictures", () => {
	it("is recorded from PNG files, checked, and judged by the gate with a command and a number over the whole set", async () => {
		const cwd = temporaryFolder();
		cpSync(classifier, join(cwd, "net.onnx"));
		writePictures(cwd, 4);
		writeFileSync(join(cwd, "trtgate.yml"), config);
		writeFileSync(join(cwd, "furthest.mjs"), furthest);
		const recorded = await cli(["golden", "record", "--model", "net", "--inputs", "pictures", "--author", "Ann", "--quiet"], cwd);
		expect(recorded, recorded.stderr).toMatchObject({ exit: 0 });
		const path = join(cwd, "golden/golden.json");
		const manifest: GoldenManifest = JSON.parse(readFileSync(path, "utf8"));
		const image = manifest.cases[0]!.inputs["image"]!;
		expect(image).toMatchObject({
			path: "r1/bars-0/in-image.png",
			format: "image",
			preprocess: { colour: "grey", resize: [48, 48], layout: "nchw" },
			tensorSha256: expect.stringMatching(/^[0-9a-f]{64}$/),
		});
		expect(readFileSync(join(cwd, "golden", image.path))).toEqual(readFileSync(join(cwd, "pictures/bars-0.png")));

		const output = manifest.outputs["logits"]!;
		output.comparators!.push({ kind: "top-k", scope: "set", tolerance: 1 }, { kind: "custom", name: "furthest", tolerance: 1e-3 });
		writeFileSync(path, JSON.stringify(manifest));
		const alone = await cli(["golden", "check", "golden/golden.json", "--outputs", "golden/r1"], cwd);
		expect(alone).toMatchObject({ exit: 1, stdout: expect.stringContaining("trtgate.yml has no command") });
		const check = await cli(["golden", "check", "golden/golden.json", "--outputs", "golden/r1", "--config", "trtgate.yml"], cwd);
		expect(check, check.stderr).toMatchObject({ exit: 0, stdout: expect.stringContaining("4 of 4 cases match, 1 of 1 whole set") });

		const gate = await cli(["run", "--out", "out"], cwd);
		expect(gate, gate.stdout + gate.stderr).toMatchObject({ exit: 0 });
		const result: Result = JSON.parse(readFileSync(join(cwd, "out/result.json"), "utf8"));
		expect(result.golden.map(({ case: name, state }) => [name, state])).toEqual([
			...["bars-0", "bars-1", "bars-2", "bars-3"].map((name) => [name, "match"]),
			["whole set", "match"],
		]);
		expect(result.golden[1]?.checks.at(-1)).toMatchObject({ metric: "custom furthest", pass: true, detail: "asked about bars-1" });
		expect(readFileSync(join(cwd, "out/report.md"), "utf8")).toContain("4 of 4 cases match, 1 of 1 whole set");

		const again = await cli(["golden", "record", "--model", "net", "--author", "Ann", "--reason", "Again.", "--quiet"], cwd);
		expect(again, again.stderr).toMatchObject({ exit: 0, stdout: expect.stringContaining("Nothing was written") });

		image.preprocess!.scale = 1;
		writeFileSync(path, JSON.stringify(manifest));
		const other = await cli(["run", "--out", "out"], cwd);
		expect(other.exit, other.stdout + other.stderr).toBe(1);
		expect(readFileSync(join(cwd, "out/report.md"), "utf8")).toContain("a tensor of SHA-256");
	});
});

describe("a picture that claims more than it holds", () => {
	const kind = { width: 48, height: 48, depth: 8, colour: 0, interlaced: false };
	const pixels = (bytes: number): Buffer => pngChunk("IDAT", deflateSync(new Uint8Array(bytes)));
	it.each([
		["a second header", [pngHeader(kind), pngHeader({ ...kind, width: 30_000, height: 30_000 }), pixels(5)], "a second IHDR chunk"],
		["an interlaced bomb", [pngHeader({ ...kind, interlaced: true }), pixels(300_000_000)], "a complete PNG image"],
		[
			"eight thousand pixels a side",
			[pngHeader({ ...kind, width: 8192, height: 8192, interlaced: true }), pixels(5)],
			"1 to 16777216 pixels",
		],
	])("is refused before memory is taken for it: %s", async (_, chunks, words) => {
		const cwd = temporaryFolder();
		mkdirSync(join(cwd, "pictures"));
		writeFileSync(join(cwd, "pictures/a.png"), Buffer.concat([pngSignature, ...chunks, pngChunk("IEND", new Uint8Array())]));
		const recorded = await cli(["golden", "record", classifier, "--out", "golden", "--inputs", "pictures", "--dims", "batch=1"], cwd);
		expect(recorded).toMatchObject({ exit: 2, stderr: expect.stringContaining(words) });
		expect(recorded.stderr).toContain("[tensor-invalid]");
	});
});

describe("a golden of test data sets", () => {
	it("is recorded from the folders beside an ONNX model, and checked against them", async () => {
		const cwd = temporaryFolder();
		for (const set of [0, 1]) {
			mkdirSync(join(cwd, `sets/test_data_set_${set}`), { recursive: true });
			writeFileSync(join(cwd, `sets/test_data_set_${set}/input_0.pb`), protoOf(set));
		}
		const record = ["golden", "record", classifier, "--out", "golden", "--inputs", "sets", "--author", "Ann", "--quiet"];
		const other = await cli([...record, "--dims", "batch=2"], cwd);
		expect(other.exit).toBe(2);
		expect(other.stderr).toMatch(/--dims asks for batch=2, and the stored input "image" of case "test_data_set_0" has 1\. \[usage\]/);
		expect(other.stderr).toContain("or give inputs of this size.");
		const recorded = await cli(record, cwd);
		expect(recorded, recorded.stderr).toMatchObject({ exit: 0 });
		const manifest: GoldenManifest = JSON.parse(readFileSync(join(cwd, "golden/golden.json"), "utf8"));
		expect(manifest.cases.map(({ id, inputs }) => [id, inputs["image"]?.shape])).toEqual([
			["test_data_set_0", [1, 1, 48, 48]],
			["test_data_set_1", [1, 1, 48, 48]],
		]);
		for (const [set, { id }] of manifest.cases.entries()) {
			cpSync(join(cwd, `golden/r1/${id}/out-logits.npy`), join(cwd, `sets/test_data_set_${set}/output_0.npy`));
		}
		expect(await cli(["golden", "check", "golden/golden.json", "--outputs", "sets"], cwd)).toMatchObject({ exit: 0 });
	});
});

/** A TensorProto of [1, 1, 48, 48] floats: dims (field 1), data type 1 (field 2), raw data (field 9). */
function protoOf(set: number): Uint8Array {
	const values = Float32Array.from({ length: 48 * 48 }, (_, at) => 0.5 + 0.5 * Math.sin((set === 0 ? at % 48 : Math.floor(at / 48)) / 3));
	const bytes = new Uint8Array(values.buffer);
	const head = [8, 1, 8, 1, 8, 48, 8, 48, 16, 1, 0x4a, (bytes.length & 127) | 128, bytes.length >> 7];
	return Uint8Array.from([...head, ...bytes]);
}
