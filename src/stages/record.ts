// Records a golden, step by step: each step adds evidence, and the golden is put together from all of it.
import type { LeastShares } from "../core/golden/record/defects/share.ts";
import { findSensitivityWeaknesses } from "../core/golden/record/sensitivity-findings.ts";
import type { Weakness } from "../core/golden/record/weaknesses.ts";
import type { GoldenManifest, Precision, SensitivityRecord } from "../core/schema/golden.ts";
import type { Reference } from "../ports/reference.ts";
import type { Clock, ModelOnDisk, Progress } from "../ports/world.ts";
import { type Evidence, type Limits, proposeLimits } from "./record-limits.ts";
import { measureScatter } from "./record-noise.ts";
import { type Answers, type CaseToRecord, keepAnswers, makeReference } from "./record-reference.ts";
import { assertFinished, testSensitivity } from "./record-sensitivity.ts";
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
	/** What the golden has to notice. */
	least: LeastShares;
	/** Of the whole recording: after it no more defects are tried. */
	limitMs: number;
	/** Keeps the golden as it is so far: usable, but not tested to the end. */
	save(manifest: GoldenManifest): Promise<void>;
	scratchFolder: string;
	timeoutMs: number;
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

/** The least time for the trial, however long the steps before it took. */
const leastTrialMs = 5_000;

/** @throws ToolError where it was stopped; what was saved until then stays. */
export async function record(input: RecordInput, ports: RecordPorts): Promise<Recorded> {
	const startedMs = ports.clock.now();
	const notes: string[] = [];
	const evidence = await gatherEvidence(input, ports, notes);
	const limits = input.given === null ? proposeLimits(evidence) : { ...input.given, why: [] };
	const draft = input.assemble(evidence, limits);
	const findings = findRecordWeaknesses({ manifest: draft, cases: evidence.answers.outputs });
	if (findings.some(({ severity }) => severity === "refuse")) return { manifest: draft, findings, why: limits.why, notes };
	const limitMs = Math.max(leastTrialMs, input.limitMs - (ports.clock.now() - startedMs));
	const tested = await testGolden({ draft, evidence, known: null, limitMs }, input, ports);
	notes.push(...tested.notes);
	return { manifest: { ...draft, sensitivity: tested.record }, findings: [...tested.findings, ...findings], why: limits.why, notes };
}

interface GoldenToTest {
	draft: GoldenManifest;
	evidence: Evidence;
	known: SensitivityRecord | null;
	limitMs: number;
}

async function testGolden({ draft, evidence, known, limitMs }: GoldenToTest, input: RecordInput, ports: RecordPorts) {
	const { answers } = evidence;
	const trial = { manifest: draft, reference: answers.outputs, relativeL2: input.relativeL2, rounding: {} };
	const save = (record: SensitivityRecord): Promise<void> => input.save({ ...draft, sensitivity: record });
	const job = { ...jobOf(input, answers), variant: answers.variant, trial, seed: input.seed, known, limitMs, save };
	const tested = await testSensitivity(job, ports);
	assertFinished(tested);
	const facts = { record: tested.record, graph: input.model.onnx.graph, reference: answers.outputs, least: input.least };
	return { ...tested, findings: findSensitivityWeaknesses(facts) };
}

async function gatherEvidence(input: RecordInput, ports: RecordPorts, notes: string[]): Promise<Evidence> {
	const answers = await makeReference(input, ports);
	const made = { reference: answers.outputs, made: answers.variant };
	const scatter = await measureScatter({ ...jobOf(input, answers), ...made, dropsQuiet: input.given === null }, ports);
	notes.push(...answers.notes, ...scatter.notes);
	return { model: input.model, answers: keepAnswers(answers, scatter.kept), noise: scatter.noise };
}

/** The model and the cases that it answered, as every later step runs them. */
function jobOf({ model, scratchFolder, timeoutMs }: RecordInput, { cases }: Answers) {
	return { model, cases: cases.map(({ id, inputs }) => ({ id, inputs })), scratchFolder, timeoutMs };
}
