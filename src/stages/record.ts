// Records a golden: the reference's outputs, their noise floor, the limits, and whether the golden detects a changed weight.
import { ConfigError, ToolError } from "../core/errors.ts";
import type { RecordedCase } from "../core/golden/manifest/draft.ts";
import { describeTightened } from "../core/golden/record/mutate-tighten.ts";
import type { RunOutputs } from "../core/golden/record/noise-floor.ts";
import { isBatched, proposeOutput } from "../core/golden/record/propose.ts";
import { proposeDetections } from "../core/golden/record/propose-detections.ts";
import { findInsensitive } from "../core/golden/record/sensitivity.ts";
import { findWeaknesses, type Weakness } from "../core/golden/record/sensitivity-tolerance.ts";
import { tensorStatistics } from "../core/golden/tensor/values.ts";
import { feeds } from "../core/onnx/model.ts";
import { quoteName } from "../core/onnx/quote.ts";
import type { GoldenManifest, GoldenOutput, NoiseFloor, Precision } from "../core/schema/golden.ts";
import { counted } from "../core/text/labels.ts";
import type { InferCase, InferredCase } from "../ports/backend.ts";
import type { Reference, ReferenceVariant } from "../ports/reference.ts";
import type { Clock, ModelOnDisk, Progress } from "../ports/world.ts";
import { testMutations } from "./record-mutate.ts";
import { formatVariant, measureScatter } from "./record-noise.ts";

export interface CaseToRecord {
	id: string;
	tags?: readonly string[];
	labels?: NonNullable<RecordedCase["labels"]>;
	inputs: InferCase["inputs"];
	pictures?: NonNullable<RecordedCase["pictures"]>;
	/** A boundary case that the model cannot handle is left out, with a note. */
	mayFail: boolean;
}

export interface RecordInput {
	model: ModelOnDisk;
	cases: readonly CaseToRecord[];
	/** The limits of an earlier revision, which a person reviewed; null: propose some. */
	given: Pick<GoldenManifest, "outputs" | "detections" | "policy"> | null;
	/** Makes the whole manifest of what was recorded. */
	assemble(facts: RecordedFacts): GoldenManifest;
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
	seed: number;
	mutation: { relative: number; limitMs: number };
	scratchFolder: string;
	timeoutMs: number;
}

export interface RecordedFacts {
	variant: ReferenceVariant;
	version: string;
	cases: readonly RecordedCase[];
	outputs: GoldenManifest["outputs"];
	/** Where new limits are proposed: groups of outputs that hold boxes. */
	detections?: GoldenManifest["detections"];
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
	const made = await makeReference(input, ports, notes);
	const cases = made.cases.map(({ id, inputs }) => ({ id, inputs }));
	const outputs: RunOutputs = made.cases.map((recorded) => recorded.outputs);
	const scatter = await measureScatter({ ...input, cases, reference: outputs, made: made.variant }, ports);
	notes.push(...scatter.notes);
	const proposed = input.given === null ? propose(input.model, outputs, scatter.noise) : null;
	const limits = proposed ?? { outputs: input.given?.outputs ?? {}, detections: input.given?.detections };
	const draft = input.assemble({ ...made, outputs: limits.outputs, detections: limits.detections, noise: scatter.noise });
	const findings = findingsOf(draft, { outputs, relativeL2: input.relativeL2 });
	const why = proposed?.why ?? [];
	if (findings.some(({ severity }) => severity === "refuse")) return { manifest: draft, findings, why, notes };
	const context = { manifest: draft, reference: outputs, relativeL2: input.relativeL2 };
	const job = { model: input.model, cases, variant: made.variant, context, seed: input.seed, ...input.mutation };
	const { scratchFolder, timeoutMs } = input;
	const tested = await testMutations({ ...job, scratchFolder, timeoutMs, mayTighten: proposed !== null }, ports);
	notes.push(...tested.notes);
	const tightened = describeTightened(draft, tested.manifest).map(({ output, sentence }) => ({ output, sentences: [sentence] }));
	return { manifest: tested.manifest, findings: [...tested.findings, ...findings], why: [...why, ...tightened], notes };
}

interface Made {
	variant: ReferenceVariant;
	version: string;
	cases: RecordedCase[];
}

/** One thread and no rewriting but constant folding: the graph as it is written, in the order in which it is written. */
const referenceRun = { level: "basic", threads: 1 } as const;

async function makeReference(input: RecordInput, ports: RecordPorts, notes: string[]): Promise<Made> {
	const [build] = await ports.reference.builds();
	if (build === undefined) throw new ToolError({ code: "tool-missing", message: "There is no ONNX Runtime to record with." });
	const variant: ReferenceVariant = { flavour: build.flavour, ...referenceRun };
	ports.progress.stage("reference", 1);
	ports.progress.item(formatVariant(variant));
	const { model, scratchFolder, timeoutMs } = input;
	const result = await ports.reference.run({
		model,
		cases: input.cases,
		variant,
		scratchFolder,
		timeoutMs,
		logPath: `${scratchFolder}/reference.log`,
	});
	if (result.state === "failed") throw new ToolError({ ...result.failure });
	const cases = input.cases.flatMap((wanted, index) => answered(wanted, result.cases[index], notes));
	ports.progress.done(counted(cases.length, "case"));
	if (cases.length === 0) throw unanswered(input.cases[0]?.id ?? "", "no case is left");
	return { variant, version: build.version, cases };
}

/** @throws ConfigError golden-uninformative where a case that has to be answered is not. */
function answered(wanted: CaseToRecord, inferred: InferredCase | undefined, notes: string[]): RecordedCase[] {
	const { mayFail, ...recorded } = wanted;
	if (inferred?.state === "done" && !(mayFail && holdsNonFinite(inferred.outputs))) return [{ ...recorded, outputs: inferred.outputs }];
	const why = inferred?.state === "failed" ? inferred.message : "its outputs hold NaN or infinite values";
	if (!mayFail) throw unanswered(recorded.id, why);
	notes.push(`Case ${quoteName(recorded.id)} was left out: ${why.replace(/\.$/, "")}.`);
	return [];
}

function unanswered(id: string, why: string): ConfigError {
	return new ConfigError({
		code: "golden-uninformative",
		message: `ONNX Runtime failed on case ${quoteName(id)}: ${why.replace(/\.$/, "")}.`,
		details: { fix: "Give inputs that the model takes (--inputs, --generator, --dims), or fix the model." },
	});
}

function holdsNonFinite(outputs: RunOutputs[number]): boolean {
	return Object.values(outputs).some((tensor) => {
		const { nan, inf } = tensorStatistics(tensor);
		return nan + inf > 0;
	});
}

function propose(model: ModelOnDisk, cases: RunOutputs, noise: NoiseFloor | null) {
	const outputs: Record<string, GoldenOutput> = {};
	const group = proposeDetections(cases, noise?.outputs ?? {});
	const inputs = feeds(model.onnx.graph).map((feed) => feed.dims);
	const why = Object.keys(cases[0] ?? {}).map((name) => {
		const dims = model.onnx.graph.outputs.find((value) => value.name === name)?.dims ?? null;
		const tensors = cases.flatMap((outputsOfCase) => outputsOfCase[name] ?? []);
		const proposal = proposeOutput({ name, tensors, noise: noise?.outputs[name], batched: isBatched(dims, inputs) });
		const { comparators, ...plain } = proposal.output;
		const grouped = group?.outputs.includes(name) === true;
		const value = grouped ? plain : proposal.output;
		Object.defineProperty(outputs, name, { value, enumerable: true, configurable: true, writable: true });
		return { output: name, sentences: grouped ? ["Compared box by box, together with the other outputs of the boxes."] : proposal.why };
	});
	if (group === null) return { outputs, detections: undefined, why };
	return {
		outputs,
		detections: [group.detections] as GoldenManifest["detections"],
		why: [...why, { output: group.detections.name, sentences: group.why }],
	};
}

function findingsOf(manifest: GoldenManifest, of: { outputs: RunOutputs; relativeL2: RecordInput["relativeL2"] }): Weakness[] {
	const hard = findInsensitive(manifest, of.outputs).map((finding) => ({ ...finding, severity: "refuse" as const }));
	if (hard.length > 0) return hard;
	const unsure = Object.entries(manifest.noiseFloor?.outputs ?? {}).filter(([, spread]) => !Number.isFinite(spread.relativeL2));
	const found = unsure.map(
		([output]): Weakness => ({
			kind: "non-finite",
			severity: "refuse",
			output,
			message: `output ${quoteName(output)} is NaN or infinite in some runs and a number in others`,
			fix: "Fix the model: this result depends on the order of its sums.",
		}),
	);
	return found.length > 0 ? found : findWeaknesses({ manifest, cases: of.outputs, relativeL2: of.relativeL2 });
}
