// What every run of the reference needs: its runtime, its inputs as files, and a folder that is gone afterwards.

import type { InferCase } from "../../ports/backend.ts";
import type { ReferenceJob } from "../../ports/reference.ts";
import { orFailure } from "../process/failure.ts";
import { inNewFolder, makeFolders } from "../process/write-error.ts";
import type { OnnxRuntimeOptions } from "./backend.ts";
import { writeInputs } from "./infer.ts";
import type { TensorPlace } from "./protocol.ts";
import type { Runtime } from "./runtime.ts";

export interface ReferenceContext {
	options: OnnxRuntimeOptions;
	runtime: Runtime;
}

export function runtimeJob({ variant }: Pick<ReferenceJob, "variant">, { runtime }: ReferenceContext) {
	return { flavour: runtime.flavour, folder: runtime.folder, threads: variant.threads };
}

export async function placeCases(
	cases: readonly InferCase[],
	folder: string,
): Promise<{ inputs: TensorPlace[] }[]> {
	const placed: { inputs: TensorPlace[] }[] = [];
	for (const [index, item] of cases.entries())
		placed.push({ inputs: await writeInputs(item, folder, index) });
	return placed;
}

/** Runs in a folder of its own, which is gone afterwards; faults of the machine come back as values. */
export async function inFolder<Result>(
	{ scratchFolder }: ReferenceJob,
	work: (folder: string) => Promise<Result>,
): ReturnType<typeof orFailure<Result>> {
	await makeFolders(scratchFolder);
	return orFailure(() => inNewFolder("tensors-", work, scratchFolder));
}
