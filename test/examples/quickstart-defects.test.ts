import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fileStore } from "../../src/adapters/files/store.ts";
import { fileTensorReader } from "../../src/adapters/files/tensor-reader.ts";
import { judgeCase } from "../../src/golden/core/compare/judge.ts";
import { parseManifest } from "../../src/golden/core/manifest/parse-manifest.ts";
import { tryOutputDefects } from "../../src/golden/core/record/defects/judge.ts";
import {
	defaultLeastShares,
	emptyRecord,
	shortfalls,
	withOutputDefects,
} from "../../src/golden/core/record/defects/record.ts";
import type { Tensor } from "../../src/golden/core/tensor/tensor.ts";
import { readTensors } from "../../src/golden/stages/load-goldens.ts";
import { float32 } from "../support/golden-tensors.ts";

async function goldenOf(name: string) {
	const folder = `examples/quickstart/base/golden/${name}`;
	const manifest = parseManifest(readFileSync(join(folder, "golden.json"), "utf8"), name);
	const reference: Record<string, Tensor>[] = [];
	for (const { outputs } of manifest.cases)
		reference.push(await readTensors(outputs, folder, { files: fileStore(), tensors: fileTensorReader() }));
	return { manifest, reference };
}

const numbers = ({ data }: Tensor): number[] => [...new Float32Array(data.slice().buffer)];

it.each(["classifier", "detector", "segmenter", "superres"])(
	"the quickstart's goldens of the %s notice what moves an output beyond its rounding",
	async (name) => {
		const tried = [...tryOutputDefects({ ...(await goldenOf(name)), relativeL2: {}, rounding: {} })];
		const record = withOutputDefects(emptyRecord({ seed: 1, planned: 0, tensors: 0 }), tried);
		expect(tried.length).toBeGreaterThan(3);
		expect(shortfalls(record, defaultLeastShares)).toEqual([]);
	},
);

it.each([
	["boxes two thirds of their size away", "boxes", (values: number[]) => values.map((value) => value * 1.4)],
	[
		"one box of all gone",
		"scores",
		(values: number[]) => values.map((value) => (value === Math.max(...values) ? 0 : value)),
	],
	["scores of a tenth", "scores", (values: number[]) => values.map((value) => value / 10)],
])("the quickstart's goldens of the detector notice %s", async (_, output, change) => {
	const { manifest, reference } = await goldenOf("detector");
	const [golden, expected] = [manifest.cases[0]!, reference[0]!];
	const place = {
		manifest,
		caseId: golden.id,
		golden,
		model: "",
		engine: "",
		precision: "fp16",
		modelSha256: manifest.model.sha256,
	} as const;
	const judged = (got: Record<string, Tensor>) =>
		judgeCase({ ...place, expected, got, relativeL2: {} }).state;
	const wrong = float32(change(numbers(expected[output]!)), expected[output]!.shape);
	expect([judged(expected), judged({ ...expected, [output]: wrong })]).toEqual(["match", "mismatch"]);
});
