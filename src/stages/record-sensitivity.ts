// The trial: damages outputs and weights, tests whether the golden notices, and keeps adding up for as long as there is time.

import type { SensitivityRecord } from "../../generated/golden.ts";
import { ToolError } from "../core/errors.ts";
import type { DefectVerdict, Trial } from "../core/golden/record/defects/judge.ts";
import { type TriedOutput, tryOutputDefects } from "../core/golden/record/defects/outputs.ts";
import { planDefects } from "../core/golden/record/defects/plan.ts";
import { emptyRecord, withOutputDefects, withWeightDefects } from "../core/golden/record/defects/record.ts";
import { counted } from "../core/text/labels.ts";
import type { InferCase } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";
import type { DefectResult, PlannedDefect, Reference, ReferenceVariant } from "../ports/reference.ts";
import type { ModelOnDisk, ToolFailure } from "../ports/world.ts";
import { nextTurn } from "./follow.ts";

interface SensitivityInput {
	model: ModelOnDisk;
	cases: readonly InferCase[];
	variant: ReferenceVariant;
	trial: Trial;
	seed: number;
	known: SensitivityRecord | null;
	limitMs: number;
	scratchFolder: string;
	save(record: SensitivityRecord): Promise<void>;
}

export type RecordPorts = Pick<Ports, "progress" | "clock"> & { reference: Reference };

interface SensitivityTest {
	record: SensitivityRecord;
	notes: string[];
	failure: ToolFailure | null;
}

const minSample = 30;

export async function testSensitivity(input: SensitivityInput, ports: RecordPorts): Promise<SensitivityTest> {
	const { places, unplaced } = await ports.reference.weights(input.model);
	const planned = planDefects(places, { model: input.model.onnx, seed: input.seed }).flatMap(
		(defect, number): PlannedDefect[] => {
			const place = places[defect.index];
			return place === undefined ? [] : [{ number, place, defect }];
		},
	);
	const startedMs = ports.clock.now();
	const ofOutputs = await tryOutputs(input, ports);
	const empty = emptyRecord({ seed: input.seed, planned: planned.length, tensors: places.length });
	const start = withOutputDefects(input.known ?? empty, ofOutputs.tried);
	const tally = createTally(start, planned);
	await input.save({ ...start, state: start.tested === 0 ? "untested" : "unfinished" });
	const limitMs = input.limitMs - (ports.clock.now() - startedMs);
	const isDone = planned.length === start.tested;
	const end: DefectResult = isDone
		? { state: "done" }
		: await tryAll(tally, planned.slice(start.tested), { ...input, limitMs }, ports);
	const found = tally.record();
	const record = { ...found, state: stateOf(end, found.tested, ofOutputs.isWhole) };
	await input.save(record);
	const notes: string[] = [];
	if (!ofOutputs.isWhole)
		notes.push(
			`The time limit was reached: only ${counted(ofOutputs.tried.length, "defect")} of outputs tried.`,
		);
	if (record.tensors === 0)
		notes.push(
			"The model has no weights that can be changed, so it is unknown whether the golden would notice wrong ones.",
		);
	if (record.state !== "complete")
		notes.push(
			`The time limit was reached: ${record.tested} of ${record.planned} defects were tried. The same command tries more; --time-limit gives more time.`,
		);
	if (unplaced.length > 0)
		notes.push(`${unplaced.length} weight tensors cannot be changed in place and were not tested.`);
	return { record, notes, failure: end.state === "failed" ? end.failure : null };
}

function stateOf({ state }: DefectResult, tested: number, isWhole: boolean): SensitivityRecord["state"] {
	if (state === "done") return isWhole ? "complete" : "sampled";
	if (tested === 0) return "untested";
	return state === "time" && tested >= minSample ? "sampled" : "unfinished";
}

/** Share of the time limit; the rest is for weights. And what most models need, so that a busy machine tries no fewer. */
const outputsShare = 0.75;
const leastOutputsMs = 5000;

async function tryOutputs({ trial, limitMs }: SensitivityInput, ports: RecordPorts) {
	const tried: TriedOutput[] = [];
	const endMs = ports.clock.now() + Math.max(outputsShare * limitMs, leastOutputsMs);
	let isWhole = true;
	ports.progress.stage("defects of outputs", 0);
	for (const one of tryOutputDefects(trial)) {
		tried.push(one);
		ports.progress.detail(`${tried.length} tried`);
		await nextTurn();
		isWhole = ports.clock.now() < endMs;
		if (!isWhole) break;
	}
	ports.progress.done(`${tried.length} tried`);
	return { tried, isWhole };
}

/** Verdicts arrive nearly in the order of the plan; the record holds its beginning, up to the first defect that was not tried. */
function createTally(start: SensitivityRecord, planned: readonly PlannedDefect[]) {
	const verdicts = new Map<number, DefectVerdict | null>();
	const begun = new Set(planned.slice(0, start.tested).map(({ defect }) => defect.index));
	let record = start;
	return {
		add: (number: number, verdict: DefectVerdict | null) => void verdicts.set(number, verdict),
		tried: () => verdicts.size,
		record(): SensitivityRecord {
			for (;;) {
				const one = planned[record.tested];
				const verdict = verdicts.get(record.tested);
				if (one === undefined || verdict === undefined) return record;
				const { kind, index } = one.defect;
				const tried = { kind, weight: one.place.name, first: !begun.has(index), verdict };
				begun.add(index);
				record = withWeightDefects(record, [tried]);
			}
		},
	};
}

const progressMs = 1_000;
const saveMs = 10_000;

async function tryAll(
	tally: ReturnType<typeof createTally>,
	open: readonly PlannedDefect[],
	input: SensitivityInput,
	{ clock, progress, reference }: RecordPorts,
): Promise<DefectResult> {
	const before = tally.record().tested;
	const text = (): string => `${before + tally.tried()} of ${before + open.length} defects`;
	const startedMs = clock.now();
	let shownMs = startedMs;
	let savedMs = startedMs;
	let saving = Promise.resolve();
	const onVerdict = (number: number, verdict: DefectVerdict | null): void => {
		tally.add(number, verdict);
		const now = clock.now();
		if (now - shownMs >= progressMs) {
			shownMs = now;
			const spentMs = now - startedMs;
			const neededMs = (spentMs / tally.tried()) * (open.length - tally.tried());
			progress.item(text(), Math.max(0, Math.min(input.limitMs - spentMs, neededMs)));
		}
		if (now - savedMs < saveMs) return;
		savedMs = now;
		saving = saving.then(() => input.save({ ...tally.record(), state: "unfinished" }));
	};
	progress.stage("sensitivity", 0);
	const workers = Math.min(open.length, reference.parallelRuns(input.model));
	const { model, cases, variant, trial, scratchFolder, limitMs: timeoutMs } = input;
	const results = await Promise.all(
		Array.from({ length: workers }, (_, worker) =>
			reference.tryDefects({
				model,
				cases,
				variant,
				trial,
				scratchFolder,
				timeoutMs,
				defects: open.filter((_defect, index) => index % workers === worker),
				logPath: `${scratchFolder}/defects-${worker}.log`,
				onVerdict,
			}),
		),
	);
	await saving;
	progress.done(`${text()} tried`);
	const ended = (state: DefectResult["state"]) => results.find((result) => result.state === state);
	return ended("failed") ?? ended("time") ?? { state: "done" };
}

/** @throws ToolError where the trial was stopped, or the machine is at fault. */
export function assertFinished({ failure }: SensitivityTest): void {
	if (failure === null) return;
	const next = "The golden that was written is usable; rerun the same command to continue testing it.";
	throw new ToolError({ ...failure, fix: failure.fix === undefined ? next : `${failure.fix} ${next}` });
}
