// Records a golden: reference, noise, rounding, limits, sensitivity.
import type {
	GoldenManifest,
	GoldenOutput,
	NoiseFloor,
	RoundingRecord,
	SensitivityRecord,
	Sequence,
} from "../../../generated/golden.ts";
import { defaultGates } from "../../core/config/config.ts";
import { feeds, isQuantised, type OnnxModel } from "../../core/onnx/model.ts";
import { quoteName } from "../../core/text/escape.ts";
import { counted } from "../../core/text/labels.ts";
import type { ReferenceVariant } from "../../ports/reference.ts";
import { follow } from "../../stages/follow.ts";
import { isEquivalentGolden } from "../core/manifest/draft.ts";
import { findSensitivityWeaknesses, type LeastShares } from "../core/record/defects/record.ts";
import { type DerivedLimits, deriveLimits, type LimitEvidence } from "../core/record/derive-limits.ts";
import { networkTraits } from "../core/record/limits.ts";
import type { RunOutputs } from "../core/record/noise-floor.ts";
import { isBatched, proposeOutput } from "../core/record/propose.ts";
import { proposeDetections } from "../core/record/propose-semantic.ts";
import { findInsensitive, findWeaknesses, type Weakness } from "../core/record/sensitivity.ts";
import { own } from "../core/tensor/tensor.ts";
import { measureRounding, roundingTable } from "./record-rounding.ts";
import {
	type Answers,
	type CaseToRecord,
	makeReference,
	measureScatter,
	withoutLarge,
} from "./record-runs.ts";
import { type RecordJob, type RecordPorts, testSensitivity } from "./record-sensitivity.ts";

export interface RecordInput extends RecordJob {
	cases: readonly CaseToRecord[];
	mayDrop: boolean;
	begun: { manifest: GoldenManifest; outputs: RunOutputs } | null;
	/** The golden on disk, or null. Its limits stay, because a person reviewed them, unless others are to be proposed. */
	old: GoldenManifest | null;
	proposes: boolean;
	assemble(evidence: Evidence, limits: DerivedLimits): GoldenManifest;
	seed: number;
	least: LeastShares;
	save(manifest: GoldenManifest): Promise<void>;
}

export interface Evidence {
	answers: Answers;
	noise: NoiseFloor | null;
	rounding: RoundingRecord | null;
	strayed: Pick<LimitEvidence, "noise" | "rounded">;
	unfinished: GoldenManifest["unfinished"];
}

export interface Recorded extends Pick<DerivedLimits, "why"> {
	state: "recorded" | "known";
	manifest: GoldenManifest;
	findings: Weakness[];
}

/** @throws ToolError if it was stopped; what was saved until then stays. */
export async function record(input: RecordInput, ports: RecordPorts): Promise<Recorded> {
	const { begun, old, budget } = input;
	const { draft, answers, why } =
		begun === null
			? await draftGolden(input, ports)
			: { draft: begun.manifest, answers: recall(begun, input.cases), why: [] };
	const { unfinished } = draft;
	const isKnown =
		begun === null && old !== null && old.unfinished === undefined && isEquivalentGolden(old, draft);
	const state = isKnown ? "known" : "recorded";
	const findings = findRecordWeaknesses(draft, answers.outputs);
	if (findings.some(({ severity }) => severity === "refuse"))
		return { state, manifest: draft, findings, why };
	// What the rest of the evidence changes has to be tested again.
	const withTest = (tested: SensitivityRecord): GoldenManifest => {
		const isOver = tested.state === "sampled" || tested.state === "complete";
		const state = unfinished !== undefined && isOver ? "unfinished" : tested.state;
		return { ...draft, sensitivity: { ...tested, state } };
	};
	const sensitivity = await testSensitivity(
		{
			...input,
			cases: answers.cases,
			variant: answers.variant,
			trial: {
				manifest: draft,
				reference: answers.outputs,
				relativeL2: defaultGates.relativeL2,
				rounding: roundingTable(draft, input.model.onnx, answers.outputs),
			},
			known: draft.sensitivity ?? null,
			limitMs: Math.max(minTrialShare * budget.limitMs, budget.whole.leftMs()),
			// A known golden stays unchanged, but its limits may have been edited since it was tested.
			save: async (tested) => (isKnown ? undefined : input.save(withTest(tested))),
		},
		ports,
	);
	const weaknesses = findSensitivityWeaknesses(sensitivity, answers.outputs, input.least);
	return { state, manifest: withTest(sensitivity), findings: [...weaknesses, ...findings], why };
}

const minTrialShare = 0.1;

async function draftGolden(input: RecordInput, ports: RecordPorts) {
	const evidence = await gatherEvidence(input, ports);
	const { answers } = evidence;
	if (input.old !== null && !input.proposes)
		return { draft: input.assemble(evidence, { ...input.old, why: [] }), answers, why: [] };
	ports.progress.stage("limits", 0);
	const { onnx, sequence } = input.model;
	const proposed = proposeLimits(evidence, onnx, sequence);
	const manifest = input.assemble(evidence, proposed);
	const network = networkTraits(onnx);
	const deriving = deriveLimits(manifest, { reference: answers.outputs, ...evidence.strayed, network });
	const { outputs, detections, why } = await follow(deriving, (step) => ports.progress.detail(step));
	ports.progress.done(counted(Object.keys(outputs).length, "output"));
	return { draft: { ...manifest, outputs, detections }, answers, why: [...proposed.why, ...why] };
}

function recall(
	{ manifest, outputs }: NonNullable<RecordInput["begun"]>,
	given: readonly CaseToRecord[],
): Pick<Answers, "variant" | "cases" | "outputs"> {
	const { backend, optimisation, threads } = manifest.producer;
	const flavour = backend.endsWith("native") ? "native" : "wasm";
	const variant = { flavour, level: optimisation ?? "basic", threads: threads ?? 1 } as ReferenceVariant;
	const cases = manifest.cases.map(({ id }, index) => {
		const known = given.find((one) => one.id === id);
		return { id, inputs: {}, ...known, outputs: outputs[index] ?? {} };
	});
	return { variant, cases, outputs };
}

const installShare = 0.7;

async function gatherEvidence(input: RecordInput, ports: RecordPorts): Promise<Evidence> {
	const { budget, model, mayDrop } = input;
	// It may have to be installed, beside the first runs.
	const installMs = installShare * budget.evidence.leftMs();
	const other = isQuantised(model.onnx.graph) ? ports.reference.otherBuild(installMs) : null;
	const made = await makeReference(input.cases, mayDrop, input, ports);
	const fitting = mayDrop ? withoutLarge(made, input.notes) : made;
	const { answers, noise, runs } = await measureScatter(
		fitting,
		input.old === null || input.proposes,
		input,
		ports,
	);
	const { rounded, rounding } = await measureRounding(answers, other, input, ports);
	const [first, ...others] = input.unfinished;
	if (first !== undefined)
		input.notes.push(
			`The time limit left out ${[first, ...others].join("; ")}. The same command goes on and proposes the limits again; --time-limit gives more time.`,
		);
	const unfinished: Evidence["unfinished"] = first === undefined ? undefined : [first, ...others];
	return { answers, noise, rounding, strayed: { noise: runs, rounded }, unfinished };
}

function proposeLimits(
	{ answers, noise }: Evidence,
	{ graph }: OnnxModel,
	sequence: Sequence | undefined,
): DerivedLimits {
	const cases = answers.outputs;
	const outputs: Record<string, GoldenOutput> = {};
	const group = proposeDetections(cases, noise?.outputs ?? {});
	const inputs = feeds(graph).map((feed) => feed.dims);
	const why: string[] = [];
	for (const name of Object.keys(cases[0] ?? {})) {
		const dims = graph.outputs.find((value) => value.name === name)?.dims ?? null;
		const tensors = cases.flatMap((outputsOfCase) => outputsOfCase[name] ?? []);
		// A file may declare its outputs wrongly, even their rank.
		const batched = isBatched(dims, inputs) && tensors.every(({ shape }) => shape.length === dims?.length);
		const steps = sequence && (own(sequence.outputs, name) ?? 0);
		const proposal = proposeOutput({ tensors, noise: noise?.outputs[name], batched, steps });
		const { comparators, ...plain } = proposal.output;
		const isGrouped = group?.outputs.includes(name) === true;
		const value = isGrouped ? plain : proposal.output;
		Object.defineProperty(outputs, name, { value, enumerable: true, configurable: true, writable: true });
		if (!isGrouped) why.push(...proposal.why.map((sentence) => `${quoteName(name, "")}: ${sentence}`));
	}
	if (group === null) return { outputs, why };
	return {
		outputs,
		detections: [group.detections],
		why: [...why, `${quoteName(group.detections.name, "")}: ${group.why}`],
	};
}

function findRecordWeaknesses(manifest: GoldenManifest, cases: RunOutputs) {
	const hard = findInsensitive(manifest, cases);
	if (hard.length > 0) return hard;
	const unsure = Object.entries(manifest.noiseFloor?.outputs ?? {})
		.filter(([, spread]) => !Number.isFinite(spread.relativeL2))
		.map(
			([output]): Weakness => ({
				kind: "non-finite",
				severity: "refuse",
				output,
				message: `output ${quoteName(output)} is NaN or infinite in some runs and a number in others`,
				fix: "Fix the model: the result depends on the order of its sums.",
			}),
		);
	return unsure.length > 0 ? unsure : findWeaknesses(manifest, cases);
}
