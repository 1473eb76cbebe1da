import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { GoldenManifest, TensorFile } from "../../generated/golden.ts";
import { encodeNpy } from "../../src/formats/tensor/npy.ts";
import { expectExit, runCli, temporaryFolder, writeProject } from "../support/project.ts";
import { encoder, oracle } from "../support/text-encoder.ts";

const golden = (words: string, cwd: string) => runCli(["golden", ...words.split(" ")], { cwd });

it("golden record makes a case of each line of text, and records the stored ids again without the text", async () => {
	const cwd = writeProject(temporaryFolder(), {
		"net.onnx": encoder,
		"in/s.txt": "the quick fox\n\nA lazy dog jumps over the brown fox.\r\nunhappy cafe\n",
		"tok.json": JSON.stringify(oracle.texts.tokenizers["word-piece"]),
		"how.json": '{ "kind": "text", "tokenizer": "tok.json", "length": 8 }',
	});
	const record = "record net.onnx --out golden --quiet --time-limit 10m --author Ann";
	const run = await golden(`${record} --inputs in --preprocess how.json`, cwd);
	expectExit(run, 0);
	expect(run.stdout).toMatch(/^Inputs: 3 real texts \(in\/\*\.txt\)\.\n/);
	const manifest: GoldenManifest = JSON.parse(readFileSync(join(cwd, "golden/golden.json"), "utf8"));
	expect(manifest.cases.map(({ id }) => id)).toEqual(["s-1", "s-2", "s-3"]);
	const valuesOf = (file: TensorFile | undefined): number[] => {
		const npy = readFileSync(join(cwd, "golden", file?.path ?? ""));
		return [...new BigInt64Array(Uint8Array.from(npy.subarray(10 + npy.readUInt16LE(8))).buffer)].map(Number);
	};
	const first = manifest.cases[0]?.inputs;
	expect(["input_ids", "attention_mask", "token_type_ids"].map((name) => valuesOf(first?.[name]))).toEqual([
		[2, 4, 5, 7, 3, 0, 0, 0],
		[1, 1, 1, 1, 1, 0, 0, 0],
		[0, 0, 0, 0, 0, 0, 0, 0],
	]);
	expect(valuesOf(manifest.cases[1]?.inputs["input_ids"]).at(-1)).toBe(3);
	expect(manifest.producer.inputs).toMatchObject({ input_ids: "given as texts (in/*.txt)" });
	expect(manifest.producer.preprocess).toMatchObject({
		input_ids: {
			kind: "text",
			tokenizer: "tok.json",
			length: 8,
			padding: 0,
			sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
		},
	});
	const inspected = await golden("inspect golden/golden.json", cwd);
	expect(inspected.stdout).toContain("Inputs: 3 real texts (in/*.txt).\n");
	const again = await golden(`${record} --reason Again.`, cwd);
	expectExit(again, 0);
	expect(again.stdout).toContain("Nothing was written");
});

it("golden record names the real inputs that hold NaN or infinity", async () => {
	const npy = (first: number) => {
		const values = Float32Array.from([first, 1, 2, 3, 4, 5, 6, 7]);
		return encodeNpy({ dtype: "float32", shape: [1, 8], data: new Uint8Array(values.buffer) });
	};
	const cwd = writeProject(temporaryFolder(), {
		"net.onnx": "fixture:model.onnx",
		"in/good.npy": npy(0),
		"in/odd.npy": npy(Number.NaN),
	});
	const run = await golden("record net.onnx --out golden --inputs in --quiet --time-limit 10m", cwd);
	expect(run.stderr).toContain(
		'note: Values are NaN or infinite in "x" of case "odd": leave these cases out',
	);
	expect(run.stderr).not.toContain("good");
});
