// Records a golden, step by step: each step adds evidence, and the golden is put together from all of it.
import { describeTightened } from "../core/golden/record/mutate-tighten.ts";
import type { Weakness } from "../core/golden/record/sensitivity-tolerance.ts";
import type { GoldenManifest, NoiseFloor, Precision } from "../core/schema/golden.ts";
import type { Reference } from "../ports/reference.ts";
import type { Clock, ModelOnDisk, Progress } from "../ports/world.ts";
import { type Limits, proposeLimits } from "./record-limits.ts";
import { testMutations } from "./record-mutate.ts";
import { measureScatter } from "./record-noise.ts";
import { type Answers, type CaseToRecord, makeReference } from "./record-reference.ts";
import { findRecordWeaknesses } from "./record-weaknesses.ts";

export interface RecordInput {
	model: ModelOnDisk;
	cases: readonly CaseToRecord[];
	/** The limits of an earlier revision, which a person reviewed; null: propose some. */
	given: Pick<GoldenManifest, "outputs" | "detections" | "policy"> | null;
	/** Makes the whole manifest of what was recorded. */
	assemble(evidence: Evidence, limits: Limits): GoldenManifest;
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
	seed: number;
	mutation: { relative: number; limitMs: number };
	scratchFolder: string;
	timeoutMs: number;
}

/** What the steps found out, before any limit. A later step reads what the earlier ones found. */
export interface Evidence {
	model: ModelOnDisk;
	answers: Answers;
	noise: NoiseFloor | null;
}

export interface Recorded {
	manifest: GoldenManifest;
	/** Those to refuse first. */
	findings: Weakness[];
	/** Why each proposed limit is what it is, by output; empty where they were given. */
	why: { output: string; sentences: string[] }[];
	notes: string[];
}

export interface RecordPorts {
	reference: Reference;
	progress: Progress;
	clock: Clock;
}

export async function record(input: RecordInput, ports: RecordPorts): Promise<Recorded> {
	const notes: string[] = [];
	const evidence = await gatherEvidence(input, ports, notes);
	const { answers } = evidence;
	const limits = input.given === null ? proposeLimits(evidence) : { ...input.given, why: [] };
	const draft = input.assemble(evidence, limits);
	const context = { manifest: draft, reference: answers.outputs, relativeL2: input.relativeL2 };
	const findings = findRecordWeaknesses(context);
	if (findings.some(({ severity }) => severity === "refuse")) return { manifest: draft, findings, why: limits.why, notes };
	const job = { ...jobOf(input, answers), variant: answers.variant, context, seed: input.seed, ...input.mutation };
	const tested = await testMutations({ ...job, mayTighten: input.given === null }, ports);
	notes.push(...tested.notes);
	const tightened = describeTightened(draft, tested.manifest).map(({ output, sentence }) => ({ output, sentences: [sentence] }));
	return { manifest: tested.manifest, findings: [...tested.findings, ...findings], why: [...limits.why, ...tightened], notes };
}

async function gatherEvidence(input: RecordInput, ports: RecordPorts, notes: string[]): Promise<Evidence> {
	const answers = await makeReference(input, ports);
	const scatter = await measureScatter({ ...jobOf(input, answers), reference: answers.outputs, made: answers.variant }, ports);
	notes.push(...answers.notes, ...scatter.notes);
	return { model: input.model, answers, noise: scatter.noise };
}

/** The model and the cases that it answered, as every later step runs them. */
function jobOf({ model, scratchFolder, timeoutMs }: RecordInput, { cases }: Answers) {
	return { model, cases: cases.map(({ id, inputs }) => ({ id, inputs })), scratchFolder, timeoutMs };
}
