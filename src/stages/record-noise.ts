// Measures how far one model's outputs scatter on this machine: builds of the runtime, levels, threads, and repeated runs.
import { type LabelledRun, measureNoise, type OutputParts, type RunOutputs } from "../core/golden/record/noise-floor.ts";
import { outputParts } from "../core/golden/record/propose.ts";
import type { NoiseFloor } from "../core/schema/golden.ts";
import type { InferCase } from "../ports/backend.ts";
import type { Reference, ReferenceVariant } from "../ports/reference.ts";
import type { ModelOnDisk, Progress } from "../ports/world.ts";

export interface NoiseInput {
	model: ModelOnDisk;
	cases: readonly InferCase[];
	reference: RunOutputs;
	/** The variant that made the reference; it is run once more. */
	made: ReferenceVariant;
	scratchFolder: string;
	timeoutMs: number;
}

export interface NoiseMeasured {
	noise: NoiseFloor | null;
	/** Sentences about variants that did not run. */
	notes: string[];
}

/** Each differs from the reference in one thing, the last two in several. */
function variantsOf(made: ReferenceVariant, flavours: readonly ReferenceVariant["flavour"][]): ReferenceVariant[] {
	const changes: Omit<ReferenceVariant, "flavour">[] = [
		{ level: made.level, threads: made.threads },
		{ level: "disabled", threads: 1 },
		{ level: "all", threads: 1 },
		{ level: "all", threads: 2 },
	];
	return flavours.flatMap((flavour) => changes.map((change) => ({ flavour, ...change })));
}

export function formatVariant({ flavour, level, threads }: ReferenceVariant): string {
	return `${flavour}, ${level}, ${threads === 1 ? "1 thread" : `${threads} threads`}`;
}

export async function measureScatter(input: NoiseInput, ports: { reference: Reference; progress: Progress }): Promise<NoiseMeasured> {
	const flavours = (await ports.reference.builds()).map(({ flavour }) => flavour);
	const runs: LabelledRun[] = [];
	const notes: string[] = [];
	const variants = variantsOf(input.made, flavours);
	ports.progress.stage("noise", variants.length);
	for (const variant of variants) {
		const label = formatVariant(variant);
		ports.progress.item(label);
		const result = await ports.reference.run({
			model: input.model,
			cases: input.cases,
			variant,
			scratchFolder: input.scratchFolder,
			logPath: `${input.scratchFolder}/noise-${variant.flavour}-${variant.level}-${variant.threads}.log`,
			timeoutMs: input.timeoutMs,
		});
		const outputs = result.state === "done" ? result.cases.flatMap((item) => (item.state === "done" ? [item.outputs] : [])) : [];
		if (outputs.length === input.cases.length) runs.push({ label, outputs });
		else notes.push(`The noise floor is without "${label}", which did not run.`);
	}
	ports.progress.done(`${runs.length} of ${variants.length} runs`);
	return { noise: measureNoise(input.reference, runs, partsOf(input.reference)), notes };
}

function partsOf(reference: RunOutputs): OutputParts {
	const names = [...new Set(reference.flatMap((outputs) => Object.keys(outputs)))];
	return Object.fromEntries(
		names.map((name) => [
			name,
			outputParts(
				name,
				reference.flatMap((outputs) => outputs[name] ?? []),
			),
		]),
	);
}
