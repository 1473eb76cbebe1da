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

export type RoundingTable = Readonly<Partial<Record<Precision, Readonly<Record<string, Spread>>>>>;

export interface Trial {
	manifest: GoldenManifest;
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

type Outputs = Readonly<Record<string, Tensor>>;

export interface DefectWatch {
	/** Takes the outputs of one case. @returns whether the verdict is settled, so that the other cases need not run. */
	see(index: number, outputs: Outputs): boolean;
	verdict(): DefectVerdict;
}

const timesRounding = rules.room;
const enoughCases = 3;
const littleOfThreshold = 0.5;

export function watchDefect(trial: Trial): DefectWatch {
	const watched = precisionsOf(trial).map((precision) => ({
		precision,
		times: 0,
		moved: false,
		noticed: false,
		unjudged: [] as number[],
	}));
	// Nearly every defect fails relative L2, which takes a twentieth of the time of SSIM.
	const quick = { ...trial, manifest: byRelativeL2(trial.manifest) };
	const seen: Outputs[] = [];
	const fails = (index: number, precision: Precision): boolean =>
		[quick, trial].some((by) => failsCase(by, index, seen[index] ?? {}, precision));
	let furthest = { size: 0, output: null as string | null, times: 0 };
	return {
		see(index, outputs) {
			seen[index] = outputs;
			const changes = changesOf(trial, index, outputs);
			for (const one of watched) {
				one.times = Math.max(one.times, ...changes.map((change) => timesOf(trial, one.precision, change)));
				one.moved = one.times > timesRounding;
				one.unjudged.push(index);
				if (!one.moved || one.noticed) continue;
				one.noticed = one.unjudged.some((at) => fails(at, one.precision));
				one.unjudged = [];
			}
			for (const change of changes) {
				const times = timesOf(trial, referencePrecision, change);
				if (times > furthest.times) furthest = { ...change, times };
			}
			const isStill = Object.keys(seen).length >= enoughCases;
			return watched.every(({ moved, noticed, times }) =>
				moved ? noticed : isStill && times < littleOfThreshold * timesRounding,
			);
		},
		verdict() {
			const isWhole = seen.length === trial.reference.length && !seen.includes(undefined as never);
			const states = watched.map(({ precision, moved, noticed }) => {
				if (!moved) return [precision, "unmoved"];
				return [precision, noticed || (isWhole && failsSet(trial, seen, precision)) ? "noticed" : "missed"];
			});
			return { states: Object.fromEntries(states), change: furthest.size, output: furthest.output };
		},
	};
}

export function brokenVerdict(trial: Trial): DefectVerdict {
	const states = Object.fromEntries(precisionsOf(trial).map((precision) => [precision, "noticed"]));
	return { states, change: Number.POSITIVE_INFINITY, output: null };
}

/** The reference's own precision, the one that most engines are built for, and those that the limits name. */
function precisionsOf({ manifest }: Trial): Precision[] {
	const specs = [...Object.values(manifest.outputs), ...(manifest.detections ?? [])].flatMap(
		({ comparators }): { tolerance?: ComparatorSpec["tolerance"] }[] => comparators ?? [],
	);
	const named = specs.flatMap(({ tolerance }) => {
		const keys = typeof tolerance === "object" ? (Object.keys(tolerance) as Precision[]) : [];
		// A limit for every precision is about none of them in particular.
		return keys.length < Object.keys(usualRounding).length ? keys : [];
	});
	return [...new Set<Precision>(["fp32", "fp16", ...named])];
}

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

/** Relative L2 by which an output, or the part of it that a comparator covers, differs from the golden. */
interface Change {
	output: string;
	slice?: OutputSlice;
	size: number;
}

function timesOf(
	{ rounding, manifest, reference }: Trial,
	precision: Precision,
	{ output, slice, size }: Change,
): number {
	if (size === 0) return 0;
	const dtype = reference[0]?.[output]?.dtype ?? "float32";
	const noise = floorOf(noiseOfPart(manifest.noiseFloor?.outputs[output], slice), dtype);
	if (noise === 0) return size / Number.MIN_VALUE;
	const measured = noiseOfPart(rounding[precision]?.[output], slice)?.relativeL2;
	return size / Math.max(noise, measured ?? usualRounding[precision]);
}

function changesOf(trial: Trial, index: number, outputs: Outputs): Change[] {
	const { manifest, reference } = trial;
	return changedNames(trial, index, outputs).flatMap((output) => {
		const tensor = reference[index]?.[output];
		if (tensor === undefined) return [];
		const got = outputs[output];
		const specs = Object.hasOwn(manifest.outputs, output) ? manifest.outputs[output]?.comparators : undefined;
		const covered = new Map<string, Pick<ComparatorSpec, "slice" | "floor">>(
			(specs ?? []).map((spec) => [JSON.stringify([spec.slice, spec.floor]), spec]),
		);
		if (covered.size === 0) covered.set("", {});
		return [...covered.values()].map((of): Change => {
			const apart = got === undefined ? null : distance(tensor, got, of);
			return { output, slice: of.slice, size: apart?.relativeL2 ?? Number.POSITIVE_INFINITY };
		});
	});
}

/** A defect of one output leaves the others as they are, and models may have a hundred. Boxes are judged with their scores and classes. */
function changedNames({ manifest, reference }: Trial, index: number, outputs: Outputs): string[] {
	const names = Object.keys(reference[index] ?? {});
	const changed = new Set(names.filter((name) => outputs[name] !== reference[index]?.[name]));
	for (const { boxes, scores, classes, count } of manifest.detections ?? []) {
		const group = [boxes, scores, classes, count].filter((name) => name !== undefined);
		if (group.some((name) => changed.has(name))) for (const name of group) changed.add(name);
	}
	return names.filter((name) => changed.has(name));
}

function placeOf({ manifest, relativeL2 }: Trial, precision: Precision) {
	return { manifest, relativeL2, model: "", engine: "", precision, modelSha256: manifest.model.sha256 };
}

function failsCase(trial: Trial, index: number, outputs: Outputs, precision: Precision): boolean {
	const golden = trial.manifest.cases[index];
	const expected = trial.reference[index];
	const names = changedNames(trial, index, outputs);
	if (golden === undefined || expected === undefined || names.length === 0) return false;
	const pick = <Value>(all: Readonly<Record<string, Value>>): Record<string, Value> =>
		Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)));
	const { state } = judgeCase({
		...placeOf(trial, precision),
		caseId: golden.id,
		golden: { ...golden, outputs: pick(golden.outputs) },
		expected,
		got: pick(outputs),
	});
	return state === "mismatch";
}

function failsSet(trial: Trial, outputs: RunOutputs, precision: Precision): boolean {
	const seen = trial.manifest.cases.map((golden, index) => ({
		golden,
		sides: { expected: trial.reference[index] ?? {}, got: outputs[index] ?? {} },
	}));
	return judgeSet(placeOf(trial, precision), seen)?.state === "mismatch";
}
