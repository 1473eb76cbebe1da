// The trial: damages outputs and weights, tests whether the golden notices, and keeps adding up for as long as there is time.

import type { SensitivityRecord } from "../../generated/golden.ts";
import { ToolError } from "../core/errors.ts";
import type { DefectVerdict, Trial } from "../core/golden/record/defects/judge.ts";
import { planDefects } from "../core/golden/record/defects/plan.ts";
import {
	emptyRecord,
	type TriedDefect,
	withOutputDefects,
	withWeightDefects,
} from "../core/golden/record/defects/record.ts";
import { type TriedOutput, tryOutputDefects } from "../core/golden/record/defects/try-outputs.ts";
import { counted } from "../core/text/labels.ts";
import type { InferCase } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";
import type { DefectResult, PlannedDefect, Reference, ReferenceVariant } from "../ports/reference.ts";
import type { ModelOnDisk, ToolFailure } from "../ports/world.ts";
import { nextTurn } from "./follow.ts";

export interface SensitivityInput {
	model: ModelOnDisk;
	cases: readonly InferCase[];
	variant: ReferenceVariant;
	trial: Trial;
	seed: number;
	/** What an earlier, unfinished trial of the same golden found. */
	known: SensitivityRecord | null;
	/** After this no more defects are tried. */
	limitMs: number;
	scratchFolder: string;
	/** Keeps what was found so far. */
	save(record: SensitivityRecord): Promise<void>;
}

export type RecordPorts = Pick<Ports, "progress" | "clock"> & { reference: Reference };

export interface SensitivityTest {
	record: SensitivityRecord;
	notes: string[];
	/** Why it stopped early; what was found until then is in the record. */
	failure: ToolFailure | null;
}

export async function testSensitivity(input: SensitivityInput, ports: RecordPorts): Promise<SensitivityTest> {
	const { places, unplaced } = await ports.reference.weights(input.model);
	const plan = planDefects(places, { model: input.model.onnx, seed: input.seed });
	const planned = plan.flatMap((defect, number): PlannedDefect[] => {
		const place = places[defect.index];
		return place === undefined ? [] : [{ number, place, defect }];
	});
	const known =
		input.known ?? emptyRecord({ seed: input.seed, planned: planned.length, tensors: places.length });
	const startedMs = ports.clock.now();
	const ofOutputs = await tryOutputs(input, ports);
	const start = withOutputDefects(known, ofOutputs.tried);
	const tally = createTally(start, planned);
	await input.save({ ...start, state: start.tested === 0 ? "untested" : "unfinished" });
	const limitMs = input.limitMs - (ports.clock.now() - startedMs);
	const end =
		planned.length === start.tested
			? { state: "done" as const }
			: await tryAll(tally, { ...input, limitMs }, ports);
	const state = stateOf(end, tally.record().tested);
	const record = {
		...tally.record(),
		state: state === "complete" && !ofOutputs.isWhole ? ("sampled" as const) : state,
	};
	await input.save(record);
	const notes = ofOutputs.isWhole
		? []
		: [`The time limit was reached: only ${counted(ofOutputs.tried.length, "defect")} of outputs tried.`];
	return {
		record,
		notes: [...notes, ...notesOf(record, unplaced)],
		failure: end.state === "failed" ? end.failure : null,
	};
}

/** Of the time limit, the rest is for defects of weights; and what most models need, so that a busy machine tries no fewer. */
const outputsShare = 0.75;
const leastOutputsMs = 5000;

async function tryOutputs({ trial, limitMs }: SensitivityInput, { progress, clock }: RecordPorts) {
	const tried: TriedOutput[] = [];
	const endMs = clock.now() + Math.max(outputsShare * limitMs, leastOutputsMs);
	let isWhole = true;
	progress.stage("defects of outputs", 0);
	for (const one of tryOutputDefects(trial)) {
		tried.push(one);
		progress.detail(`${tried.length} tried`);
		await nextTurn();
		isWhole = clock.now() < endMs;
		if (!isWhole) break;
	}
	progress.done(`${tried.length} tried`);
	return { tried, isWhole };
}

/** Fewer defects are no fair sample. */
const minSample = 30;

function stateOf({ state }: DefectResult, tested: number): SensitivityRecord["state"] {
	if (state === "done") return "complete";
	if (tested === 0) return "untested";
	return state === "time" && tested >= minSample ? "sampled" : "unfinished";
}

function notesOf(
	{ state, tested, planned, tensors }: SensitivityRecord,
	unplaced: readonly string[],
): string[] {
	const notes: string[] = [];
	if (tensors === 0)
		notes.push(
			"The model has no weights that can be changed, so it is unknown whether the golden would notice wrong ones.",
		);
	if (state !== "complete")
		notes.push(
			`The time limit was reached: ${tested} of ${planned} defects were tried. The same command tries more; --time-limit gives more time.`,
		);
	if (unplaced.length > 0)
		notes.push(`${unplaced.length} weight tensors cannot be changed in place and were not tested.`);
	return notes;
}

interface Tally {
	open(): PlannedDefect[];
	add(number: number, verdict: DefectVerdict | null): void;
	/** How many were tried, in any order. */
	tried(): number;
	/** Of the plan's beginning, up to the first defect that was not tried. */
	record(): SensitivityRecord;
}

/** Workers take turns, so verdicts arrive nearly in the order of the plan. */
function createTally(start: SensitivityRecord, planned: readonly PlannedDefect[]): Tally {
	const waiting = new Map<number, DefectVerdict | null>();
	const begun = new Set(planned.slice(0, start.tested).map(({ defect }) => defect.index));
	let record = start;
	let tried = start.tested;
	const next = (): TriedDefect | null => {
		const one = planned[record.tested];
		if (one === undefined || !waiting.has(record.tested)) return null;
		const first = !begun.has(one.defect.index);
		begun.add(one.defect.index);
		return {
			kind: one.defect.kind,
			weight: one.place.name,
			first,
			verdict: waiting.get(record.tested) ?? null,
		};
	};
	return {
		open: () => planned.slice(start.tested),
		add(number, verdict) {
			tried += waiting.has(number) ? 0 : 1;
			waiting.set(number, verdict);
		},
		tried: () => tried,
		record() {
			for (let one = next(); one !== null; one = next()) record = withWeightDefects(record, [one]);
			return record;
		},
	};
}

/** Between two lines of progress, and between two times that the golden is written. */
const progressMs = 1_000;
const saveMs = 10_000;

async function tryAll(tally: Tally, input: SensitivityInput, ports: RecordPorts): Promise<DefectResult> {
	const open = tally.open();
	const done = tally.tried();
	const startedMs = ports.clock.now();
	const last = { shownMs: startedMs, savedMs: startedMs };
	let saving = Promise.resolve();
	const onVerdict = (number: number, verdict: DefectVerdict | null): void => {
		tally.add(number, verdict);
		const now = ports.clock.now();
		if (now - last.shownMs >= progressMs) {
			last.shownMs = now;
			const perDefectMs = (now - startedMs) / (tally.tried() - done);
			const leftMs = Math.min(
				input.limitMs - (now - startedMs),
				perDefectMs * (done + open.length - tally.tried()),
			);
			ports.progress.item(`${tally.tried()} of ${done + open.length} defects`, Math.max(0, leftMs));
		}
		if (now - last.savedMs < saveMs) return;
		last.savedMs = now;
		saving = saving.then(() => input.save({ ...tally.record(), state: "unfinished" }));
	};
	ports.progress.stage("sensitivity", 0);
	const workers = Math.min(open.length, ports.reference.parallelRuns(input.model));
	const { model, cases, variant, trial, scratchFolder, limitMs: timeoutMs } = input;
	const results = await Promise.all(
		Array.from({ length: workers }, (_, worker) => {
			const defects = open.filter((_defect, index) => index % workers === worker);
			const logPath = `${scratchFolder}/defects-${worker}.log`;
			return ports.reference.tryDefects({
				model,
				cases,
				variant,
				trial,
				scratchFolder,
				timeoutMs,
				defects,
				logPath,
				onVerdict,
			});
		}),
	);
	await saving;
	ports.progress.done(`${tally.tried()} of ${done + open.length} defects tried`);
	return (
		results.find(({ state }) => state === "failed") ??
		results.find(({ state }) => state === "time") ?? { state: "done" }
	);
}

/** @throws ToolError where the trial was stopped, or the machine is at fault. */
export function assertFinished({ failure }: SensitivityTest): void {
	if (failure === null) return;
	const fix = [
		failure.fix,
		"The golden that was written is usable; rerun the same command to continue testing it.",
	];
	throw new ToolError({ ...failure, fix: fix.filter((part) => part !== undefined).join(" ") });
}
