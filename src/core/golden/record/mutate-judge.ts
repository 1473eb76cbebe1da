// Judges for each changed weight tensor whether the golden detects it.
import type { GoldenManifest, MutationRecord, Precision } from "../../schema/golden.ts";
import { judgeCase } from "../compare/judge.ts";
import { judgeSet } from "../whole-set/judge-set.ts";
import { type BoxChange, groupOf, measureBoxChange } from "./mutate-boxes.ts";
import { distance, floorOf, type RunOutputs, referencePrecision } from "./noise-floor.ts";

/** The result of running the model with one changed tensor. */
export type MutationRun = { tensor: string } & ({ state: "ran"; outputs: RunOutputs } | { state: "broke" } | { state: "unchanged" });

export interface MutationFinding {
	tensor: string;
	/** broke: the model no longer runs, which every golden detects. below-noise: no output changes by more than the noise floor. */
	state: "noticed" | "unnoticed" | "below-noise" | "broke" | "unchanged";
	/** Relative L2 of the output with the largest change relative to its floor. */
	change: number;
	/** Of that output. */
	output: string | null;
	case: string | null;
	floor: number;
	/** Where that output holds detections and nothing noticed. */
	boxes?: BoxChange;
}

export interface MutationContext {
	manifest: GoldenManifest;
	/** The golden's outputs, case by case. */
	reference: RunOutputs;
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
}

export function judgeMutation(run: MutationRun, context: MutationContext): MutationFinding {
	if (run.state !== "ran") return { tensor: run.tensor, state: run.state, change: 0, output: null, case: null, floor: 0 };
	const moved = furthest(run.outputs, context);
	const noticed = context.reference.some((_, index) => failsCase(index, run.outputs, context)) || failsSet(run.outputs, context);
	const state = noticed ? "noticed" : moved.change > moved.floor ? "unnoticed" : "below-noise";
	const group = state === "unnoticed" ? groupOf(context.manifest, moved.output) : undefined;
	const boxes = group === undefined ? {} : { boxes: measureBoxChange(group, run.outputs, context) };
	return { tensor: run.tensor, state, ...moved, ...boxes };
}

function furthest(
	outputs: RunOutputs,
	{ manifest, reference }: MutationContext,
): Pick<MutationFinding, "change" | "output" | "case" | "floor"> {
	let found = { change: 0, output: null as string | null, case: null as string | null, floor: 0 };
	let most = 0;
	for (const [index, expected] of reference.entries()) {
		for (const [name, tensor] of Object.entries(expected)) {
			const got = outputs[index]?.[name];
			const floor = floorOf(manifest.noiseFloor?.outputs[name], tensor.dtype);
			const change = (got === undefined ? null : distance(tensor, got))?.relativeL2 ?? Number.POSITIVE_INFINITY;
			// Integers have no noise to measure against: any difference is infinitely far above it.
			const above = change === 0 ? 0 : change / floor;
			if (above <= most) continue;
			most = above;
			found = { change, output: name, case: manifest.cases[index]?.id ?? null, floor };
		}
	}
	return found;
}

function failsCase(index: number, outputs: RunOutputs, context: MutationContext): boolean {
	const { manifest, reference, relativeL2 } = context;
	const [golden, expected, got] = [manifest.cases[index], reference[index], outputs[index]];
	if (golden === undefined || expected === undefined || got === undefined) return false;
	const place = { manifest, caseId: golden.id, model: "", engine: "", precision: referencePrecision, modelSha256: manifest.model.sha256 };
	return judgeCase({ ...place, expected, got, relativeL2 }).state === "mismatch";
}

function failsSet(outputs: RunOutputs, { manifest, reference, relativeL2 }: MutationContext): boolean {
	const place = { manifest, model: "", engine: "", precision: referencePrecision, modelSha256: manifest.model.sha256, relativeL2 };
	const seen = manifest.cases.map((golden, index) => ({ golden, sides: { expected: reference[index] ?? {}, got: outputs[index] ?? {} } }));
	return judgeSet(place, seen)?.state === "mismatch";
}

const unseenNamed = 1000;

export function mutationRecord(
	findings: readonly MutationFinding[],
	about: { relative: number; seed: number; tensors: number },
): MutationRecord {
	const ran = findings.filter((finding) => finding.state !== "unchanged");
	const of = (...states: MutationFinding["state"][]): MutationFinding[] => ran.filter(({ state }) => states.includes(state));
	const above = of("noticed", "unnoticed")
		.map(({ change }) => change)
		.filter((change) => change > 0 && Number.isFinite(change));
	const unseen = of("below-noise")
		.map(({ tensor }) => tensor)
		.slice(0, unseenNamed);
	return {
		...about,
		tested: ran.length,
		noticed: of("noticed", "broke").length,
		belowNoise: of("below-noise").length,
		...(above.length === 0 ? {} : { smallest: Math.min(...above) }),
		...(unseen.length === 0 ? {} : { unseen }),
	};
}
