// Damages outputs and weights, and counts what the golden notices while time is left.

import type { SensitivityRecord } from "../../../generated/golden.ts";
import { ToolError } from "../../core/errors.ts";
import type { InferCase } from "../../ports/backend.ts";
import type { Ports } from "../../ports/ports.ts";
import type { DefectResult, PlannedDefect, Reference, ReferenceVariant } from "../../ports/reference.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { nextTurn } from "../../stages/follow.ts";
import type { DefectVerdict, Trial } from "../core/record/defects/judge.ts";
import { type TriedOutput, tryOutputDefects } from "../core/record/defects/judge.ts";
import { emptyRecord, withOutputDefects, withWeightDefect } from "../core/record/defects/record.ts";
import { planDefects } from "../core/record/defects/weights.ts";
import type { RecordBudget } from "./budget.ts";

export type RecordPorts = Pick<Ports, "progress" | "clock"> & { reference: Reference };

export interface RecordJob {
	model: ModelOnDisk;
	scratchFolder: string;
	budget: RecordBudget;
	timeoutMs: number;
	/** Each stage adds its own, and to `unfinished` what its time left out. */
	notes: string[];
	unfinished: string[];
}

interface SensitivityInput extends RecordJob {
	cases: readonly InferCase[];
	variant: ReferenceVariant;
	trial: Trial;
	seed: number;
	known: SensitivityRecord | null;
	limitMs: number;
	save(record: SensitivityRecord): Promise<void>;
}

const minSample = 30;

/** @throws ToolError if it was stopped, or the machine is at fault; what was found until then is saved. */
export async function testSensitivity(
	input: SensitivityInput,
	ports: RecordPorts,
): Promise<SensitivityRecord> {
	const { known, model, seed, notes } = input;
	const endMs = ports.clock.now() + input.limitMs;
	const { places, unplaced } = await ports.reference.weights(model);
	const planned = planDefects(places, seed).flatMap((defect, number) => {
		const place = places[defect.index];
		return place === undefined ? [] : [{ number, place, defect }];
	});
	const empty = emptyRecord({ seed, planned: planned.length, tensors: places.length });
	// Another version may have planned different defects.
	const before = known?.planned === empty.planned ? known : empty;
	const ofOutputs = await tryOutputs(input, ports);
	const tally = createTally(withOutputDefects(before, ofOutputs.tried), planned);
	const { tested } = tally.record();
	await input.save({ ...tally.record(), state: tested === 0 ? "untested" : "unfinished" });
	const limitMs = endMs - ports.clock.now();
	const end = await tryWeights(tally, planned.slice(tested), { ...input, limitMs }, ports);
	const found = tally.record();
	const record = { ...found, state: stateOf(end, found, ofOutputs.isWhole) };
	await input.save(record);
	if (end.state === "failed") {
		const next = "The golden that was written is usable; rerun the same command to continue testing it.";
		throw new ToolError({ ...end.failure, fix: [end.failure.fix, next].filter(Boolean).join(" ") });
	}
	if (record.state !== "complete")
		notes.push(
			`The time limit was reached: ${triedText(record, ofOutputs.isWhole)}. The same command tries more; --time-limit gives more time.`,
		);
	const weights = places.length + unplaced.length;
	if (weights === 0) notes.push("The model has no float weights: only faults of its outputs were tried.");
	else if (unplaced.length > 0)
		notes.push(
			`${unplaced.length} of ${weights} weight tensors cannot be changed, so it is unknown whether the golden notices faults in them.`,
		);
	return record;
}

function triedText({ tested, planned }: SensitivityRecord, isWhole: boolean): string {
	const ofWeights = `${tested} of ${planned} defects`;
	return isWhole
		? `${ofWeights} were tried`
		: `${ofWeights} of weights, and a part of those of outputs, were tried`;
}

/** Time may run out right after the last verdict. */
function stateOf(
	{ state }: DefectResult,
	{ tested, planned }: SensitivityRecord,
	isWhole: boolean,
): SensitivityRecord["state"] {
	if (state === "done" || (state === "time" && tested === planned)) return isWhole ? "complete" : "sampled";
	if (tested === 0) return "untested";
	return state === "time" && tested >= minSample ? "sampled" : "unfinished";
}

/** The rest is for weights. A busy machine gets as long as most models need. */
const outputsShare = 0.75;
const minOutputsMs = 5000;

async function tryOutputs({ trial, limitMs }: SensitivityInput, ports: RecordPorts) {
	const tried: TriedOutput[] = [];
	const endMs = ports.clock.now() + Math.max(outputsShare * limitMs, minOutputsMs);
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

/** Verdicts arrive roughly in order; the record keeps them up to the first defect that was not tried. */
function createTally(start: SensitivityRecord, planned: readonly PlannedDefect[]) {
	const verdicts = new Map<number, DefectVerdict | null>();
	let record = start;
	return {
		add: (number: number, verdict: DefectVerdict | null) => void verdicts.set(number, verdict),
		tried: () => verdicts.size,
		record() {
			for (;;) {
				const one = planned[record.tested];
				const verdict = verdicts.get(record.tested);
				if (one === undefined || verdict === undefined) return record;
				record = withWeightDefect(record, { kind: one.defect.kind, weight: one.place.name, verdict });
			}
		},
	};
}

const progressMs = 1_000;
/** A worker process takes longer to start. */
const startMs = 200;
const saveMs = 10_000;

async function tryWeights(
	tally: ReturnType<typeof createTally>,
	open: readonly PlannedDefect[],
	input: SensitivityInput,
	{ clock, progress, reference }: RecordPorts,
): Promise<DefectResult> {
	if (open.length === 0) return { state: "done" };
	if (input.limitMs < startMs) return { state: "time" };
	const before = tally.record().tested;
	const text = () => `${before + tally.tried()} of ${before + open.length} defects`;
	const startedMs = clock.now();
	let [shownMs, savedMs] = [startedMs, startedMs];
	let saving = Promise.resolve();
	const onVerdict = (number: number, verdict: DefectVerdict | null) => {
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
				...{ model, cases, variant, trial, scratchFolder, timeoutMs, onVerdict },
				defects: open.filter((_defect, index) => index % workers === worker),
				logPath: `${scratchFolder}/defects-${worker}.log`,
			}),
		),
	);
	await saving;
	progress.done(`${text()} tried`);
	const ended = (state: DefectResult["state"]) => results.find((result) => result.state === state);
	return ended("failed") ?? ended("time") ?? { state: "done" };
}
