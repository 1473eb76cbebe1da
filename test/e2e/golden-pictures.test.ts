import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { PNG } from "pngjs";
import { expect, it } from "vitest";
import type { GoldenManifest } from "../../generated/golden.ts";
import { expectExit, readResult, runCli, temporaryFolder } from "../support/project.ts";

const classifier = resolve("examples/quickstart/base/models/classifier.onnx");

const cli = (words: string, cwd: string) => runCli(words.split(" "), { cwd });

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
    dims: { batch: { min: 1, opt: 2, max: 2 } }
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

function hashes({ cases }: GoldenManifest, side: "inputs" | "outputs"): unknown {
	return cases.map(({ id, [side]: files }) => [id, ...Object.values(files).map(({ sha256 }) => sha256)]);
}

it("a golden of pictures is recorded from PNG files, checked, and judged by the gate with a command and a number over the whole set, and recorded again for another model", async () => {
	const cwd = temporaryFolder();
	cpSync(classifier, join(cwd, "net.onnx"));
	writePictures(cwd, 4);
	writeFileSync(join(cwd, "trtgate.yml"), config);
	writeFileSync(join(cwd, "furthest.mjs"), furthest);
	const record = "golden record --model net --author Ann --quiet --time-limit 10ms";
	const recorded = await cli(`${record} --inputs pictures`, cwd);
	expectExit(recorded, 0);
	const path = join(cwd, "golden/golden.json");
	const manifest: GoldenManifest = JSON.parse(readFileSync(path, "utf8"));
	const image = manifest.cases[0]!.inputs["image"]!;
	expect(image).toMatchObject({
		path: "r1/bars-0/in-image.png",
		format: "image",
		preprocess: { colour: "grey", resize: [48, 48], layout: "nchw" },
		tensorSha256: expect.stringMatching(/^[0-9a-f]{64}$/),
	});
	expect(readFileSync(join(cwd, "golden", image.path))).toEqual(
		readFileSync(join(cwd, "pictures/bars-0.png")),
	);

	const output = manifest.outputs["logits"]!;
	output.comparators!.push(
		{ kind: "top-k", scope: "set", tolerance: 1 },
		{ kind: "custom", name: "furthest", tolerance: 1e-3 },
	);
	writeFileSync(path, JSON.stringify(manifest));
	const checking = "golden check golden/golden.json --outputs golden/r1";
	const alone = await cli(checking, cwd);
	expect(alone).toMatchObject({ exit: 1, stdout: expect.stringContaining("trtgate.yml has no command") });
	const check = await cli(`${checking} --config trtgate.yml`, cwd);
	expectExit(check, 0);
	expect(check.stdout).toContain("4 of 4 cases match, 1 of 1 whole set");

	expectExit(await cli("run --out out", cwd), 0);
	const result = readResult(join(cwd, "out"));
	expect(result.golden.map(({ case: name, state }) => [name, state])).toEqual([
		...["bars-0", "bars-1", "bars-2", "bars-3"].map((name) => [name, "match"]),
		["whole set", "match"],
		["rows of bars-0…bars-1 at batch 2", "match"],
	]);
	expect(result.golden[1]?.checks.at(-1)).toMatchObject({
		metric: "custom furthest",
		pass: true,
		detail: "asked about bars-1",
	});
	expect(readFileSync(join(cwd, "out/report.md"), "utf8")).toContain("5 of 5 cases match, 1 of 1 whole set");

	image.preprocess!.scale = 1;
	writeFileSync(path, JSON.stringify(manifest));
	expectExit(await cli("run --out out", cwd), 1);
	expect(readFileSync(join(cwd, "out/report.md"), "utf8")).toContain("a tensor of SHA-256");

	delete image.preprocess!.scale;
	writeFileSync(path, JSON.stringify(manifest));
	const retrained = readFileSync(classifier);
	// In the mantissa of a weight.
	retrained.writeUInt8(retrained.readUInt8(20_001) ^ 0x40, 20_001);
	writeFileSync(join(cwd, "net.onnx"), retrained);
	const again = await cli(`${record} --reason Retrained.`, cwd);
	expectExit(again, 0);
	expect(again.stdout).toMatch(/^Inputs: 4 real pictures.*\nRecorded golden@2 with 4 cases/);
	expect(again.stderr).toContain("The 4 cases of golden@1 are recorded again with the stored inputs");
	const after: GoldenManifest = JSON.parse(readFileSync(path, "utf8"));
	expect(after.outputs).toEqual(manifest.outputs);
	expect(hashes(after, "inputs")).toEqual(hashes(manifest, "inputs"));
	expect(hashes(after, "outputs")).not.toEqual(hashes(manifest, "outputs"));
});
