import { expect, it } from "vitest";
import type { Precision } from "../../../generated/golden.ts";
import { readModel } from "../../../src/adapters/files/model-reader.ts";
import { judgeCase } from "../../../src/golden/core/compare/judge.ts";
import { deriveLimits } from "../../../src/golden/core/record/derive-limits.ts";
import { emulatedPrecisions, networkTraits } from "../../../src/golden/core/record/limits.ts";
import { proposeOutput } from "../../../src/golden/core/record/propose.ts";
import type { Tensor } from "../../../src/golden/core/tensor/tensor.ts";
import { finish } from "../../support/finish.ts";
import { manifestOf, modelSha256 } from "../../support/golden-tensors.ts";
import { referenceJob, testReference } from "../../support/ort-jobs.ts";
import { temporaryFolder } from "../../support/project.ts";
import { recordedBytes, recordedRuns } from "../../support/recorded-goldens.ts";

type Outputs = Record<string, Tensor>;

function recorded(name: string) {
	const { inputs, outputs } = recordedRuns[`trtexec-10.6/golden-${name}`]!;
	type Entry<Key extends string> = Pick<Tensor, "dtype" | "shape"> & Record<Key, string>;
	const read = <Key extends string>(entries: Record<string, Entry<Key>>, key: Key) => {
		const tensors: Outputs = {};
		for (const [name, { dtype, shape, [key]: data }] of Object.entries(entries))
			tensors[name] = { dtype, shape, data: recordedBytes(data) };
		return tensors;
	};
	return { inputs: read(inputs, "tensor"), expected: read(outputs, "reference"), got: read(outputs, "got") };
}

async function recordGolden(
	name: string,
	runs: readonly ReturnType<typeof recorded>[],
	precisions: readonly Precision[],
) {
	const model = await readModel(`test/fixtures/models/${name}.onnx`);
	const rounded = [];
	const inputs = runs.map((run) => run.inputs);
	for (const precision of emulatedPrecisions.filter((one) => precisions.includes(one))) {
		const job = referenceJob(temporaryFolder(), model, inputs);
		const result = await testReference().emulate({ ...job, precision });
		if (result.state !== "done") throw new Error(JSON.stringify(result));
		const outputs = result.cases.map((item) => (item.state === "done" ? item.outputs : {}));
		rounded.push({ precision, outputs });
	}
	const reference = runs.map(({ expected }) => expected);
	const specs = Object.keys(reference[0]!).map((output) => {
		const tensors = reference.map((outputs) => outputs[output]!);
		return [output, proposeOutput({ tensors, batched: true }).output];
	});
	const manifest = manifestOf(reference[0]!, Object.fromEntries(specs));
	const evidence = { reference, noise: [], rounded, network: networkTraits(model.onnx) };
	return { ...manifest, ...finish(deriveLimits(manifest, evidence)) };
}

it.each(["classifier", "detector", "encoder", "segmenter"])(
	"limits derived from emulated rounding accept recorded engines of the %s",
	async (name) => {
		const runs = (precision: Precision) => [0, 1].map((run) => recorded(`${name}-${precision}-${run}`));
		// These fp32 engines computed in TF32.
		const single = name === "detector" || name === "encoder" ? "tf32" : "fp32";
		const manifest = await recordGolden(name, runs("fp16"), ["fp16", single]);
		const all = [
			...runs("fp16").map((run) => ({ ...run, precision: "fp16" as const })),
			...runs("fp32").map((run) => ({ ...run, precision: single as Precision })),
		];
		for (const { precision, expected, got } of all) {
			const place = { manifest, caseId: "only", model: name, engine: precision, modelSha256, relativeL2: {} };
			const { checks } = judgeCase({ ...place, precision, expected, got });
			expect(checks.filter(({ pass }) => !pass)).toEqual([]);
		}
	},
);
