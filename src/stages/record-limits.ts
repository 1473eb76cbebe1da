// Proposes what each output is compared by, and its limits, from the evidence of a recording.

import type { GoldenManifest, GoldenOutput, NoiseFloor, RoundingRecord } from "../../generated/golden.ts";
import { deriveLimits, type LimitEvidence } from "../core/golden/record/derive-limits.ts";
import { isBatched, proposeOutput } from "../core/golden/record/propose.ts";
import { proposeDetections } from "../core/golden/record/propose-detections.ts";
import { feeds, isQuantised } from "../core/onnx/model.ts";
import type { ModelOnDisk } from "../ports/world.ts";
import type { Answers } from "./record-reference.ts";

/** What the steps found out, before any limit. A later step reads what the earlier ones found. */
export interface Evidence {
	model: ModelOnDisk;
	answers: Answers;
	noise: NoiseFloor | null;
	/** null: no precision was emulated. */
	rounding: RoundingRecord | null;
	/** Outputs of the runs that noise and rounding were measured on. */
	strayed: Pick<LimitEvidence, "noise" | "rounded">;
}

export interface Limits {
	outputs: GoldenManifest["outputs"];
	/** Groups of outputs that hold boxes. */
	detections?: GoldenManifest["detections"];
	/** Why each limit is what it is, by output. */
	why: { output: string; sentences: string[] }[];
}

/** Gives the proposed comparators of a manifest their limits; yields what it is at. */
export function* withLimits(
	draft: GoldenManifest,
	{ why: proposed }: Limits,
	evidence: Evidence,
): Generator<string, { manifest: GoldenManifest; why: Limits["why"] }> {
	const { model, answers, strayed } = evidence;
	const quantised = isQuantised(model.onnx.graph);
	const { why, outputs, detections } = yield* deriveLimits(draft, {
		reference: answers.outputs,
		...strayed,
		quantised,
	});
	const sentencesOf = (output: string): string[] =>
		why.flatMap((found) => (found.output === output ? found.sentences : []));
	return {
		manifest: { ...draft, outputs, ...(detections && { detections }) },
		why: proposed.map(({ output, sentences }) => ({
			output,
			sentences: [...sentences, ...sentencesOf(output)],
		})),
	};
}

/** Comparators alone. */
export function proposeLimits({ model, answers, noise }: Evidence): Limits {
	const cases = answers.outputs;
	const outputs: Record<string, GoldenOutput> = {};
	const group = proposeDetections(cases, noise?.outputs ?? {});
	const inputs = feeds(model.onnx.graph).map((feed) => feed.dims);
	const why = Object.keys(cases[0] ?? {}).map((name) => {
		const dims = model.onnx.graph.outputs.find((value) => value.name === name)?.dims ?? null;
		const tensors = cases.flatMap((outputsOfCase) => outputsOfCase[name] ?? []);
		// What a file declares of its outputs may be wrong, in rank too.
		const batched = isBatched(dims, inputs) && tensors.every(({ shape }) => shape.length === dims?.length);
		const proposal = proposeOutput({ name, tensors, noise: noise?.outputs[name], batched });
		const { comparators, ...plain } = proposal.output;
		const grouped = group?.outputs.includes(name) === true;
		const value = grouped ? plain : proposal.output;
		Object.defineProperty(outputs, name, { value, enumerable: true, configurable: true, writable: true });
		return {
			output: name,
			sentences: grouped
				? ["Compared box by box, together with the other outputs of the boxes."]
				: proposal.why,
		};
	});
	if (group === null) return { outputs, why };
	return {
		outputs,
		detections: [group.detections] as GoldenManifest["detections"],
		why: [...why, { output: group.detections.name, sentences: group.why }],
	};
}
