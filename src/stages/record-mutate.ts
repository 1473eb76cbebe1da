// Changes the model's weights, one tensor at a time, and tests whether the golden detects it; a sample where time is short.
import { ToolError } from "../core/errors.ts";
import { mutationOrder, type WeightLocation } from "../core/golden/record/mutate.ts";
import { tightenDetections } from "../core/golden/record/mutate-boxes.ts";
import { judgeMutation, type MutationContext, type MutationFinding, mutationRecord } from "../core/golden/record/mutate-judge.ts";
import { canBeNoticed, describeUnnoticed, tightenOutputs } from "../core/golden/record/mutate-tighten.ts";
import type { Weakness } from "../core/golden/record/sensitivity-tolerance.ts";
import type { GoldenManifest } from "../core/schema/golden.ts";
import { counted } from "../core/text/labels.ts";
import type { InferCase } from "../ports/backend.ts";
import type { Reference, ReferenceVariant } from "../ports/reference.ts";
import type { Clock, ModelOnDisk, Progress } from "../ports/world.ts";

export interface MutateInput {
	model: ModelOnDisk;
	cases: readonly InferCase[];
	variant: ReferenceVariant;
	context: MutationContext;
	relative: number;
	seed: number;
	/** After this no new batch begins. */
	limitMs: number;
	scratchFolder: string;
	timeoutMs: number;
}

export interface MutationTest {
	/** With the results and the limits that follow from them. */
	manifest: GoldenManifest;
	findings: Weakness[];
	notes: string[];
}

/** `mayTighten`: the limits are proposed, not given, so the results may tighten them. */
export async function testMutations(input: MutateInput & { mayTighten: boolean }, ports: MutatePorts): Promise<MutationTest> {
	const mutated = await mutateModel(input, ports);
	const { manifest } = input.context;
	const tightened = input.mayTighten ? tighten(manifest, mutated.findings) : manifest;
	const states = mutated.findings.map((finding) => (input.mayTighten ? afterTightening(finding) : finding));
	const { relative, seed } = input;
	const tensors = mutated.tensors - states.filter(({ state }) => state === "unchanged").length;
	const mutation = mutationRecord(states, { relative, seed, tensors });
	return {
		manifest: { ...tightened, mutation },
		findings: weaknessesOf(states, { manifest, relative }),
		notes: notesOf(mutated, mutation.tested),
	};
}

/** A limit below the change was set. */
function afterTightening(finding: MutationFinding): MutationFinding {
	return finding.state === "unnoticed" && canBeNoticed(finding) ? { ...finding, state: "noticed" } : finding;
}

function tighten(manifest: GoldenManifest, findings: readonly MutationFinding[]): GoldenManifest {
	const changes = findings.flatMap(({ boxes }) => boxes ?? []);
	const detections = tightenDetections(manifest.detections, changes);
	return { ...manifest, outputs: tightenOutputs(manifest, findings), ...(detections === undefined ? {} : { detections }) };
}

const mostNamed = 3;

function weaknessesOf(
	findings: readonly MutationFinding[],
	{ manifest, relative }: { manifest: GoldenManifest; relative: number },
): Weakness[] {
	const unnoticed = findings.filter(({ state }) => state === "unnoticed").sort((left, right) => right.change - left.change);
	return unnoticed
		.map((finding, index) => {
			const { message, fix } = describeUnnoticed(finding, manifest, relative);
			const more =
				index === mostNamed - 1 && unnoticed.length > mostNamed ? `; ${counted(unnoticed.length - mostNamed, "more weight")} like it` : "";
			const severity = canBeNoticed(finding) ? "refuse" : "warn";
			return {
				kind: "unnoticed" as const,
				severity,
				...(finding.output === null ? {} : { output: finding.output }),
				message: `${message}${more}`,
				fix,
			} satisfies Weakness;
		})
		.slice(0, mostNamed);
}

function notesOf({ findings, tensors, unplaced }: Mutated, tested: number): string[] {
	const left = tensors - findings.length;
	const notes: string[] = [];
	if (tested === 0)
		notes.push(
			"No weight was changed: the model holds no float weights that are not zero, so it is unknown whether the golden would detect a wrong one.",
		);
	if (left > 0)
		notes.push(
			`The time limit was reached: ${findings.length} of ${tensors} weight tensors were changed, drawn by the seed; --mutation-limit gives more time.`,
		);
	if (unplaced.length > 0) notes.push(`${unplaced.length} weight tensors cannot be changed in place and were not tested.`);
	return notes;
}

export interface Mutated {
	findings: MutationFinding[];
	/** Weights that can be changed in place. */
	tensors: number;
	unplaced: readonly string[];
}

interface MutatePorts {
	reference: Reference;
	progress: Progress;
	clock: Clock;
}

/** One process holds a batch: long enough to be worth its start, short enough to stop in time. */
const batchMs = 10_000;
/** Outputs that lie on disk and in memory at once. */
const batchBytes = 256 * 1024 * 1024;
const mostPerBatch = 64;

export async function mutateModel(input: MutateInput, ports: MutatePorts): Promise<Mutated> {
	const { places, unplaced } = await ports.reference.weights(input.model);
	const order = mutationOrder(places.length, input.seed);
	ports.progress.stage("mutate", order.length);
	const findings: MutationFinding[] = [];
	const started = ports.clock.now();
	let size = Math.min(2, mostFor(input));
	while (findings.length < order.length) {
		const before = ports.clock.now();
		if (findings.length > 0 && before - started > input.limitMs) break;
		const batch = order.slice(findings.length, findings.length + size);
		findings.push(...(await mutateBatch(batch, { places, input, ports, done: findings.length })));
		const perWeightMs = Math.max(1, (ports.clock.now() - before) / batch.length);
		size = Math.max(1, Math.min(mostFor(input), Math.floor(batchMs / perWeightMs)));
	}
	ports.progress.done(`${findings.length} of ${order.length} weight tensors changed`);
	return { findings, tensors: places.length, unplaced };
}

function mostFor({ context }: MutateInput): number {
	const bytes = context.reference.reduce((sum, outputs) => sum + Object.values(outputs).reduce((all, { data }) => all + data.length, 0), 0);
	return Math.max(1, Math.min(mostPerBatch, Math.floor(batchBytes / Math.max(1, bytes))));
}

interface Batching {
	places: readonly WeightLocation[];
	input: MutateInput;
	ports: MutatePorts;
	/** Weights before this batch. */
	done: number;
}

async function mutateBatch(batch: readonly number[], { places, input, ports, done }: Batching): Promise<MutationFinding[]> {
	const weights = batch.flatMap((index) => (places[index] === undefined ? [] : [{ place: places[index], index }]));
	const { model, cases, variant, relative, seed, scratchFolder, timeoutMs } = input;
	const result = await ports.reference.mutate({
		model,
		cases,
		variant,
		weights,
		relative,
		seed,
		scratchFolder,
		timeoutMs,
		logPath: `${scratchFolder}/mutate-${done}.log`,
		onWeight: (count) => ports.progress.item(weights[count - 1]?.place.name ?? ""),
	});
	if (result.state === "failed") throw new ToolError({ ...result.failure });
	return result.runs.map((run) => judgeMutation(run, input.context));
}
