// Judges whether the golden notices a defect, precision by precision, case after case until all is settled.
import type {
	ComparatorSpec,
	GoldenManifest,
	OutputSlice,
	Precision,
	Spread,
} from "../../../../../generated/golden.ts";
import { judgeCase } from "../../compare/judge.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { judgeSet } from "../../whole-set/judge-set.ts";
import { byRelativeL2 } from "../comparator-errors.ts";
import { rules } from "../limits.ts";
import { distance, floorOf, noiseOfPart, type RunOutputs, referencePrecision } from "../noise-floor.ts";

/** How far rounding alone moves each output, and parts of it, by precision. */
export type RoundingTable = Readonly<Partial<Record<Precision, Readonly<Record<string, Spread>>>>>;

export interface Trial {
	manifest: GoldenManifest;
	/** The golden's outputs, case by case. */
	reference: RunOutputs;
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
	rounding: RoundingTable;
}

/** unmoved: no output moves by more than a multiple of its rounding, so that no golden could tell it from a right engine. */
export type DefectState = "noticed" | "missed" | "unmoved";

export interface DefectVerdict {
	states: Readonly<Partial<Record<Precision, DefectState>>>;
	/** Relative L2 of the output that moves furthest, against its rounding at the reference's precision. */
	change: number;
	output: string | null;
}

/** Smaller changes of an output may be rounding. */
const timesRounding = rules.room;

export interface DefectWatch {
	/** The outputs of one case. @returns whether the verdict is settled, so that the other cases need not run. */
	see(index: number, outputs: Readonly<Record<string, Tensor>>): boolean;
	/** After the last case. */
	verdict(): DefectVerdict;
}

interface Watched {
	precision: Precision;
	/** Largest change so far, in multiples of the rounding. */
	times: number;
	moved: boolean;
	noticed: boolean;
	/** Cases seen that were not judged: as long as nothing moves, it does not matter what the golden says. */
	unjudged: number[];
}

export function watchDefect(trial: Trial): DefectWatch {
	const watched = precisionsOf(trial).map(
		(precision): Watched => ({ precision, times: 0, moved: false, noticed: false, unjudged: [] }),
	);
	// Nearly every defect fails relative L2, which takes a twentieth of the time of SSIM.
	const quick = { ...trial, manifest: byRelativeL2(trial.manifest) };
	const fails = (index: number, precision: Precision): boolean => {
		const judged = { outputs: seen[index] ?? {}, precision };
		return failsCase(quick, index, judged) || failsCase(trial, index, judged);
	};
	const seen: Readonly<Record<string, Tensor>>[] = [];
	let furthest = { change: 0, output: null as string | null, times: 0 };
	return {
		see(index, outputs) {
			seen[index] = outputs;
			const changes = changesOf(trial, index, outputs);
			for (const one of watched) {
				one.times = Math.max(
					one.times,
					...changes.map((change) => timesOf(change, roundingOf(trial, one.precision, change))),
				);
				one.moved = one.times > timesRounding;
				one.unjudged.push(index);
				if (!one.moved || one.noticed) continue;
				one.noticed = one.unjudged.some((at) => fails(at, one.precision));
				one.unjudged = [];
			}
			for (const change of changes) {
				const times = timesOf(change, roundingOf(trial, referencePrecision, change));
				if (times > furthest.times) furthest = { change: change.size, output: change.output, times };
			}
			const cases = Object.keys(seen).length;
			return watched.every((one) => isSettled(one, cases));
		},
		verdict() {
			const whole = seen.length === trial.reference.length && !seen.includes(undefined as never);
			for (const one of watched) one.noticed ||= whole && one.moved && failsSet(trial, seen, one.precision);
			return {
				states: Object.fromEntries(watched.map((one) => [one.precision, stateOf(one)])),
				change: furthest.change,
				output: furthest.output,
			};
		},
	};
}

function timesOf({ size }: Change, rounding: number): number {
	return size === 0 ? 0 : size / Math.max(rounding, Number.MIN_VALUE);
}

/** What moves so little in so many cases is taken not to move in the others. */
const enoughCases = 3;
const littleOfThreshold = 0.5;

function isSettled({ moved, noticed, times }: Watched, cases: number): boolean {
	if (moved) return noticed;
	return cases >= enoughCases && times < littleOfThreshold * timesRounding;
}

/** Of a model that no longer runs, which every golden notices. */
export function brokenVerdict(trial: Trial): DefectVerdict {
	return {
		states: Object.fromEntries(precisionsOf(trial).map((precision) => [precision, "noticed"])),
		change: Number.POSITIVE_INFINITY,
		output: null,
	};
}

function stateOf({ moved, noticed }: Watched): DefectState {
	if (!moved) return "unmoved";
	return noticed ? "noticed" : "missed";
}

/** The reference's own precision, the one that most engines are built for, and those that the limits name. */
export function precisionsOf({ manifest }: Pick<Trial, "manifest">): Precision[] {
	const outputs = Object.values(manifest.outputs).flatMap(({ comparators }) =>
		(comparators ?? []).map(({ tolerance }) => tolerance),
	);
	const boxes = (manifest.detections ?? []).flatMap(({ comparators }) =>
		(comparators ?? []).map(({ tolerance }) => tolerance),
	);
	const named = [...outputs, ...boxes].flatMap((tolerance) => {
		const keys = typeof tolerance === "object" ? (Object.keys(tolerance) as Precision[]) : [];
		// A limit for every precision is about none of them in particular.
		return keys.length < Object.keys(usualRounding).length ? keys : [];
	});
	return [...new Set<Precision>(["fp32", "fp16", ...named])];
}

/** Where nothing was measured: so that the usual limits are three times as large. */
const usualRounding: Readonly<Record<Precision, number>> = {
	fp64: 7e-6,
	fp32: 7e-6,
	tf32: 1.7e-3,
	fp16: 1.7e-3,
	bf16: 7e-3,
	int8: 3.5e-2,
	fp8: 0.1,
	int4: 0.2,
	fp4: 0.2,
};

interface Change {
	output: string;
	/** The part that a comparator covers; absent: the whole output. */
	slice?: OutputSlice;
	/** Relative L2. */
	size: number;
}

function roundingOf(
	{ rounding, manifest, reference }: Trial,
	precision: Precision,
	{ output, slice }: Change,
): number {
	const dtype = reference[0]?.[output]?.dtype ?? "float32";
	const noise = floorOf(noiseOfPart(manifest.noiseFloor?.outputs[output], slice), dtype);
	if (noise === 0) return 0;
	const measured = noiseOfPart(rounding[precision]?.[output], slice)?.relativeL2;
	return Math.max(noise, measured ?? usualRounding[precision]);
}

function changesOf(
	{ manifest, reference }: Trial,
	index: number,
	outputs: Readonly<Record<string, Tensor>>,
): Change[] {
	return changedNames({ manifest, reference }, index, outputs).flatMap((output) => {
		const tensor = reference[index]?.[output];
		if (tensor === undefined) return [];
		const specs = Object.hasOwn(manifest.outputs, output)
			? (manifest.outputs[output]?.comparators ?? [])
			: [];
		const covered = new Map<string, Pick<ComparatorSpec, "slice" | "floor">>(
			specs.map((spec) => [JSON.stringify([spec.slice, spec.floor]), spec]),
		);
		return (specs.length === 0 ? [{}] : [...covered.values()]).map(
			(of: Pick<ComparatorSpec, "slice" | "floor">): Change => {
				const got = outputs[output];
				const size =
					(got === undefined ? null : distance(tensor, got, of))?.relativeL2 ?? Number.POSITIVE_INFINITY;
				return { output, size, slice: of.slice };
			},
		);
	});
}

/** A defect of one output leaves the others as they are, and models may have a hundred. Boxes are judged with their scores and classes. */
function changedNames(
	{ manifest, reference }: Pick<Trial, "manifest" | "reference">,
	index: number,
	outputs: Readonly<Record<string, Tensor>>,
): string[] {
	const names = Object.keys(reference[index] ?? {});
	const changed = new Set(names.filter((name) => outputs[name] !== reference[index]?.[name]));
	const groups = (manifest.detections ?? []).map(({ boxes, scores, classes, count }) => [
		boxes,
		scores,
		classes,
		count,
	]);
	const together = new Set(groups.filter((group) => group.some((name) => changed.has(name ?? ""))).flat());
	return names.filter((name) => changed.has(name) || together.has(name));
}

interface Judged {
	outputs: Readonly<Record<string, Tensor>>;
	precision: Precision;
}

function failsCase(
	{ manifest, reference, relativeL2 }: Trial,
	index: number,
	{ outputs, precision }: Judged,
): boolean {
	const [whole, expected] = [manifest.cases[index], reference[index]];
	if (whole === undefined || expected === undefined) return false;
	const names = changedNames({ manifest, reference }, index, outputs);
	if (names.length === 0) return false;
	const pick = <Value>(all: Readonly<Record<string, Value>>): Record<string, Value> =>
		Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)));
	const golden = { ...whole, outputs: pick(whole.outputs) };
	const place = {
		manifest,
		caseId: golden.id,
		golden,
		model: "",
		engine: "",
		precision,
		modelSha256: manifest.model.sha256,
	};
	return judgeCase({ ...place, expected, got: pick(outputs), relativeL2 }).state === "mismatch";
}

function failsSet(
	{ manifest, reference, relativeL2 }: Trial,
	outputs: RunOutputs,
	precision: Precision,
): boolean {
	const place = {
		manifest,
		model: "",
		engine: "",
		precision,
		modelSha256: manifest.model.sha256,
		relativeL2,
	};
	const seen = manifest.cases.map((golden, index) => ({
		golden,
		sides: { expected: reference[index] ?? {}, got: outputs[index] ?? {} },
	}));
	return judgeSet(place, seen)?.state === "mismatch";
}
