// Runs a model as an engine of another precision would, by rewriting its graph so that ONNX Runtime rounds weights and results.

import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { asFailure } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { oldestRoundedOpset, planRounding, type RoundingPlan } from "../../core/onnx/rounding/round.ts";
import { memorySource } from "../../formats/bytes/byte-source.ts";
import { readOnnx } from "../../formats/onnx/reader.ts";
import { rewriteOnnx } from "../../formats/onnx/write.ts";
import type { InferResult, InferredCase } from "../../ports/backend.ts";
import type { EmulationJob, EmulationResult, ReferenceJob } from "../../ports/reference.ts";
import { readInput } from "../process/input-file.ts";
import { makeFolders, orWriteError } from "../process/write-error.ts";
import { copyExternal } from "./model-files.ts";

const maxModelBytes = 1024 ** 3;

type Run = (job: ReferenceJob) => Promise<InferResult>;

export async function runEmulation(job: EmulationJob, run: Run): Promise<EmulationResult> {
	const { model, precision } = job;
	const bytes = model.onnx.bytes + model.external.reduce((sum, file) => sum + file.neededBytes, 0);
	const opset = model.onnx.opsets[""] ?? 0;
	if (bytes > maxModelBytes) return absent("is larger than 1 GiB");
	if (opset < oldestRoundedOpset)
		return absent(`uses operator set ${opset}, which lacks what rounding takes`);
	const original = await readInput(model.path, inputKinds.model);
	const plan = planRounding(readOnnx(memorySource(original), model.path), precision);
	if (plan === null) return absent("computes nothing in fp32 that could be rounded");
	const folder = join(job.scratchFolder, `rounded-${precision}`);
	try {
		await makeFolders(folder);
		await copyExternal(model, folder);
		const path = join(folder, "model.onnx");
		await orWriteError(writeFile(path, rewriteOnnx(original, plan.edit)), path);
		const result = await run({ ...job, model: { ...model, path }, scratchFolder: folder });
		if (result.state === "failed") return result;
		const beyond = new Set<string>();
		return {
			state: "done",
			cases: result.cases.map((item) => withoutRanges(item, plan, beyond)),
			tensors: plan.tensors.length,
			beyondRange: [...beyond],
			wallMs: result.wallMs,
		};
	} catch (error) {
		return { state: "failed", failure: asFailure(error) };
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

function absent(why: string): EmulationResult {
	return { state: "absent", sentence: `the model ${why}` };
}

function withoutRanges(
	item: InferredCase,
	{ rangeOutput, tensors }: RoundingPlan,
	beyond: Set<string>,
): InferredCase {
	if (item.state === "failed") return item;
	const { [rangeOutput]: ranges, ...outputs } = item.outputs;
	const view = ranges && new DataView(ranges.data.buffer, ranges.data.byteOffset, ranges.data.byteLength);
	// The first number is a zero, so that the output is never empty.
	// A sequence has them once for each step.
	for (let step = 0; view && step < view.byteLength; step += 4 * (1 + tensors.length))
		for (const [index, name] of tensors.entries())
			if (!Number.isFinite(view.getFloat32(step + 4 + index * 4, true))) beyond.add(name);
	return { ...item, outputs };
}
