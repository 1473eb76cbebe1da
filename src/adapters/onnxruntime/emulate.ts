// Runs a model as an engine of another precision would: its graph is rewritten so that ONNX Runtime rounds weights and results.

import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { asFailure } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import type { OnnxModel } from "../../core/onnx/model.ts";
import { planFolding } from "../../core/onnx/rounding/fold.ts";
import { oldestRoundedOpset, planRounding, type RoundingPlan } from "../../core/onnx/rounding/round.ts";
import { memorySource } from "../../formats/bytes/byte-source.ts";
import { readOnnx } from "../../formats/onnx/reader.ts";
import { rewriteOnnx } from "../../formats/onnx/rewrite.ts";
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
	const folded = foldModel(await readInput(model.path, inputKinds.model), model.path);
	// What fp16 makes 0 or infinite says how an engine without care errs, not how far a right one deviates.
	const guarded = precision === "fp16";
	const plan = planRounding(folded.onnx, { precision, guarded });
	if (plan === null) return absent("computes nothing in fp32 that could be rounded");
	const folder = join(job.scratchFolder, `rounded-${precision}`);
	try {
		await makeFolders(folder);
		await copyExternal(model, folder);
		const first = await runPlan(job, folded, plan, { folder, run });
		if (first.state !== "done" || first.beyondRange.length === 0 || guarded) return first;
		// Infinities spread: in a second run whatever is beyond the range stays as it is, and only that counts.
		const second = planRounding(folded.onnx, { precision, guarded: true });
		return second === null ? first : await runPlan(job, folded, second, { folder, run });
	} catch (error) {
		return { state: "failed", failure: asFailure(error) };
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

function absent(why: string): EmulationResult {
	return { state: "absent", sentence: `the model ${why}` };
}

interface Folded {
	bytes: Uint8Array;
	onnx: OnnxModel;
}

function foldModel(bytes: Uint8Array, path: string): Folded {
	const onnx = readOnnx(memorySource(bytes), path);
	const folding = planFolding(onnx);
	if (folding === null) return { bytes, onnx };
	const folded = rewriteOnnx(bytes, folding);
	return { bytes: folded, onnx: readOnnx(memorySource(folded), path) };
}

async function runPlan(
	job: EmulationJob,
	folded: Folded,
	plan: RoundingPlan,
	{ folder, run }: { folder: string; run: Run },
): Promise<EmulationResult> {
	const path = join(folder, "model.onnx");
	await orWriteError(writeFile(path, rewriteOnnx(folded.bytes, plan.edit)), path);
	const result = await run({ ...job, model: { ...job.model, path }, scratchFolder: folder });
	if (result.state === "failed") return result;
	const beyond = new Set<string>();
	const cases = result.cases.map((item) => withoutRanges(item, plan, beyond));
	return {
		state: "done",
		cases,
		tensors: plan.tensors.length,
		beyondRange: [...beyond],
		wallMs: result.wallMs,
	};
}

function withoutRanges(
	item: InferredCase,
	{ rangeOutput, tensors }: RoundingPlan,
	beyond: Set<string>,
): InferredCase {
	if (item.state === "failed") return item;
	const { [rangeOutput]: ranges, ...outputs } = item.outputs;
	const view = ranges && new DataView(ranges.data.buffer, ranges.data.byteOffset, ranges.data.byteLength);
	for (const [index, name] of tensors.entries())
		if (view && !Number.isFinite(view.getFloat32(index * 4, true))) beyond.add(name);
	return { ...item, outputs };
}
