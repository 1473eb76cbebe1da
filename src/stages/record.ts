// Records a golden, step by step: each step adds evidence, and the golden is put together from all of it.

import type { GoldenManifest, Precision, SensitivityRecord } from "../../generated/golden.ts";
import type { LeastShares } from "../core/golden/record/defects/share.ts";
import type { RunOutputs } from "../core/golden/record/noise-floor.ts";
import { findInsensitive } from "../core/golden/record/sensitivity.ts";
import { findSensitivityWeaknesses } from "../core/golden/record/sensitivity-findings.ts";
import { findWeaknesses, type Weakness } from "../core/golden/record/weaknesses.ts";
import { quoteName } from "../core/onnx/quote.ts";
import { counted } from "../core/text/labels.ts";
import type { ReferenceVariant } from "../ports/reference.ts";
import type { ModelOnDisk } from "../ports/world.ts";
import { follow } from "./follow.ts";
import { type Evidence, type Limits, proposeLimits, withLimits } from "./record-limits.ts";
import { measureScatter } from "./record-noise.ts";
import {
	type Answers,
	type CaseToRecord,
	keepAnswers,
	makeReference,
	withoutLarge,
} from "./record-reference.ts";
import { measureRounding, roundingTable } from "./record-rounding.ts";
import { assertFinished, type RecordPorts, testSensitivity } from "./record-sensitivity.ts";

export interface RecordInput {
	model: ModelOnDisk;
	cases: readonly CaseToRecord[];
	/** Nobody asked for this many cases: of large outputs, fewer will do. */
	mayDrop: boolean;
	/** An unfinished recording of these cases: it goes on with the trial. */
	begun: { manifest: GoldenManifest; outputs: RunOutputs } | null;
	/** The limits of an earlier revision, which a person reviewed; null: propose some. */
	given: Pick<GoldenManifest, "outputs" | "detections" | "policy"> | null;
	/** Makes the whole manifest of what was recorded. */
	assemble(evidence: Evidence, limits: Limits): GoldenManifest;
	/** Whether the golden of before is the same, so that there is nothing to keep. */
	isKnown(draft: GoldenManifest): boolean;
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
	seed: number;
	/** What the golden has to notice. */
	least: LeastShares;
	/** Time limit of the whole recording; after it, no more defects are tried. */
	limitMs: number;
	/** Keeps the golden as it is so far: usable, but not tested to the end. */
	save(manifest: GoldenManifest): Promise<void>;
	scratchFolder: string;
	timeoutMs: number;
}

export interface Recorded {
	/** known: the golden of before is the same. */
	state: "recorded" | "known";
	manifest: GoldenManifest;
	/** Those to refuse first. */
	findings: Weakness[];
	/** Why each proposed limit is what it is, by output; empty where they were given. */
	why: { output: string; sentences: string[] }[];
	notes: string[];
}

/** @throws ToolError where it was stopped; what was saved until then stays. */
export async function record(input: RecordInput, ports: RecordPorts): Promise<Recorded> {
	const startedMs = ports.clock.now();
	const notes: string[] = [];
	const { draft, answers, why } =
		input.begun === null ? await draftGolden(input, ports, notes) : recall(input.begun, input.cases);
	const state = input.isKnown(draft) ? "known" : "recorded";
	const findings = findRecordWeaknesses({ manifest: draft, cases: answers.outputs });
	if (findings.some(({ severity }) => severity === "refuse"))
		return { state, manifest: draft, findings, why, notes };
	// What is known stays as it is, but its limits may have been changed by hand since it was tested.
	const kept = state === "known" ? { ...input, save: async () => {} } : input;
	const tested = await testGolden({ draft, answers, spentMs: ports.clock.now() - startedMs }, kept, ports);
	notes.push(...tested.notes);
	const manifest = { ...draft, sensitivity: tested.record };
	return { state, manifest, findings: [...tested.findings, ...findings], why, notes };
}

interface Drafted {
	draft: GoldenManifest;
	answers: Pick<Answers, "variant" | "cases" | "outputs">;
	why: Recorded["why"];
}

async function draftGolden(input: RecordInput, ports: RecordPorts, notes: string[]): Promise<Drafted> {
	const evidence = await gatherEvidence(input, ports, notes);
	if (input.given !== null)
		return {
			draft: input.assemble(evidence, { ...input.given, why: [] }),
			answers: evidence.answers,
			why: [],
		};
	ports.progress.stage("limits", 0);
	const limits = proposeLimits(evidence);
	const deriving = withLimits(input.assemble(evidence, limits), limits, evidence);
	const { manifest: draft, why } = await follow(deriving, (step) => ports.progress.detail(step));
	ports.progress.done(counted(Object.keys(draft.outputs).length, "output"));
	return { draft, answers: evidence.answers, why };
}

/** Goes on with the outputs that are stored. */
function recall(
	{ manifest, outputs }: NonNullable<RecordInput["begun"]>,
	given: readonly CaseToRecord[],
): Drafted {
	const { backend, optimisation, threads } = manifest.producer;
	const variant = {
		flavour: backend.endsWith("native") ? "native" : "wasm",
		level: optimisation ?? "basic",
		threads: threads ?? 1,
	};
	const cases = manifest.cases.map(({ id }, index) => ({
		id,
		inputs: {},
		...given.find((one) => one.id === id),
		outputs: outputs[index] ?? {},
	}));
	return { draft: manifest, answers: { variant: variant as ReferenceVariant, cases, outputs }, why: [] };
}

/** Of the time limit, for the trial, however long the steps before it took. */
const minTrialShare = 0.15;
/** The rest is for the start, the defects that are being tried when the time is up, and the last save. */
const usableShare = 0.92;

type ToTest = Pick<Drafted, "draft" | "answers"> & { spentMs: number };

async function testGolden({ draft, answers, spentMs }: ToTest, input: RecordInput, ports: RecordPorts) {
	const trial = {
		manifest: draft,
		reference: answers.outputs,
		relativeL2: input.relativeL2,
		rounding: roundingTable(draft, input.model.onnx.graph, answers.outputs),
	};
	const save = (record: SensitivityRecord): Promise<void> => input.save({ ...draft, sensitivity: record });
	const limitMs = Math.max(minTrialShare * input.limitMs, usableShare * input.limitMs - spentMs);
	const job = {
		...jobOf(input, answers),
		variant: answers.variant,
		trial,
		seed: input.seed,
		known: draft.sensitivity ?? null,
		limitMs,
		save,
	};
	const tested = await testSensitivity(job, ports);
	assertFinished(tested);
	const facts = {
		record: tested.record,
		graph: input.model.onnx.graph,
		reference: answers.outputs,
		least: input.least,
	};
	return { ...tested, findings: findSensitivityWeaknesses(facts) };
}

async function gatherEvidence(input: RecordInput, ports: RecordPorts, notes: string[]): Promise<Evidence> {
	const answers = withoutLarge(await makeReference(input, ports), input.mayDrop);
	const made = { reference: answers.outputs, made: answers.variant };
	const scatter = await measureScatter(
		{ ...jobOf(input, answers), ...made, dropsNoise: input.given === null },
		ports,
	);
	const kept = keepAnswers(answers, scatter.kept);
	const {
		rounded,
		rounding,
		notes: roundingNotes,
	} = await measureRounding({ ...jobOf(input, kept), answers: kept }, ports);
	notes.push(...answers.notes, ...scatter.notes, ...roundingNotes);
	return {
		model: input.model,
		answers: kept,
		noise: scatter.noise,
		rounding,
		strayed: { noise: scatter.runs, rounded },
	};
}

/** The model and the cases that it answered, as every later step runs them. */
function jobOf({ model, scratchFolder, timeoutMs }: RecordInput, { cases }: Pick<Answers, "cases">) {
	return { model, cases: cases.map(({ id, inputs }) => ({ id, inputs })), scratchFolder, timeoutMs };
}

/** Before any weight is changed: what makes the golden useless whatever its limits are. */
function findRecordWeaknesses({
	manifest,
	cases,
}: {
	manifest: GoldenManifest;
	cases: RunOutputs;
}): Weakness[] {
	const hard = findInsensitive(manifest, cases).map((finding) => ({
		...finding,
		severity: "refuse" as const,
	}));
	if (hard.length > 0) return hard;
	const unsure = Object.entries(manifest.noiseFloor?.outputs ?? {}).filter(
		([, spread]) => !Number.isFinite(spread.relativeL2),
	);
	const found = unsure.map(
		([output]): Weakness => ({
			kind: "non-finite",
			severity: "refuse",
			output,
			message: `output ${quoteName(output)} is NaN or infinite in some runs and a number in others`,
			fix: "Fix the model: this result depends on the order of its sums.",
		}),
	);
	return found.length > 0 ? found : findWeaknesses({ manifest, cases });
}
