// Judges whether the golden notices a defect at each precision, and tries defects of the outputs themselves.
import type {
	ComparatorSpec,
	GoldenManifest,
	GoldenOutput,
	Precision,
} from "../../../../../generated/golden.ts";
import type { Coverage } from "../../compare/checks.ts";
import { judgeCase, outputsOf } from "../../compare/judge.ts";
import { elementCount, isFloating, own, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { valuesOf } from "../../tensor/values.ts";
import { judgeSet } from "../../whole-set/judge-set.ts";
import { canEncode, encodeTensor, splitMix64 } from "../generators/encode.ts";
import { anyEngine, byRelativeL2, rules } from "../limits.ts";
import { distance, floorOf, noiseOfPart, type RunOutputs } from "../noise-floor.ts";
import { constantOf } from "../sensitivity.ts";

export type RoundingTable = Readonly<Partial<Record<Precision, Readonly<Record<string, number>>>>>;

export function partKey(output: string, slice: Coverage["slice"]): string {
	return JSON.stringify([output, slice ?? null]);
}

export interface Trial {
	manifest: GoldenManifest;
	reference: RunOutputs;
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
	rounding: RoundingTable;
}

/** unmoved: no output moves by much more than its rounding, so no golden could tell it from a correct engine. */
export type DefectState = "noticed" | "missed" | "unmoved";

export interface DefectVerdict {
	states: Readonly<Partial<Record<Precision, DefectState>>>;
	change: number;
}

/** A defect that stays below half of the smallest change that counts is given up after this many cases. */
const enoughCases = 3;

export function watchDefect(trial: Trial) {
	const watched = precisionsOf(trial).map((precision) => ({ precision, times: 0, noticed: false }));
	// Nearly every defect fails relative L2, which takes a twentieth of SSIM's time.
	const quick = { ...trial, manifest: byRelativeL2(trial.manifest) };
	const seen = new Map<number, Tensors>();
	let change = 0;
	return {
		/** @returns whether the verdict is settled, so that the other cases need not run. */
		see(index: number, outputs: Tensors) {
			seen.set(index, outputs);
			const names = changedNames(trial, index, outputs);
			const changes = names.flatMap((name) => changesOf(trial, index, name, outputs[name]));
			change = changes.reduce((most, { size }) => Math.max(most, size), change);
			for (const one of watched) {
				const times = changes.map((part) => timesRounding(trial, one.precision, part));
				const most = Math.max(0, ...times);
				one.times = Math.max(one.times, most);
				if (most > rules.room && !one.noticed)
					one.noticed = [quick, trial].some((by) => failsCase(by, index, { outputs, names }, one.precision));
			}
			const isStill = seen.size >= enoughCases;
			return watched.every(({ times, noticed }) => noticed || (isStill && times < rules.room / 2));
		},
		verdict() {
			const isWhole = seen.size === trial.reference.length;
			const states = watched.map(({ precision, times, noticed }): [Precision, DefectState] => {
				if (times <= rules.room) return [precision, "unmoved"];
				return [precision, noticed || (isWhole && failsSet(trial, seen, precision)) ? "noticed" : "missed"];
			});
			return { states: Object.fromEntries(states), change };
		},
	};
}

export function brokenVerdict(trial: Trial): DefectVerdict {
	const states = Object.fromEntries(precisionsOf(trial).map((precision) => [precision, "noticed"]));
	return { states, change: Infinity };
}

function precisionsOf({ manifest }: Trial) {
	const specs = [...Object.values(manifest.outputs), ...(manifest.detections ?? [])].flatMap(
		({ comparators }): Pick<ComparatorSpec, "tolerance">[] => comparators ?? [],
	);
	const named = specs.flatMap(({ tolerance }) => {
		const keys = typeof tolerance === "object" ? (Object.keys(tolerance) as Precision[]) : [];
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

interface Change {
	output: string;
	slice: Coverage["slice"];
	size: number;
}

function timesRounding(trial: Trial, precision: Precision, { output, slice, size }: Change) {
	if (size === 0) return 0;
	const { rounding, manifest, reference } = trial;
	const dtype = reference[0]?.[output]?.dtype ?? "float32";
	const noise = floorOf(noiseOfPart(manifest.noiseFloor?.outputs[output], slice), dtype);
	if (noise === 0) return Infinity;
	const measured = rounding[precision] ?? {};
	const own = measured[partKey(output, slice)] ?? measured[partKey(output, undefined)];
	return size / Math.max(noise, own ?? usualRounding[precision]);
}

export function coveredParts(spec: GoldenOutput | undefined): Coverage[] {
	const parts = new Map(
		(spec?.comparators ?? []).map(({ slice, floor }) => [JSON.stringify([slice, floor]), { slice, floor }]),
	);
	return parts.size === 0 ? [{}] : [...parts.values()];
}

function changesOf({ manifest, reference }: Trial, index: number, output: string, got: Tensor | undefined) {
	const expected = reference[index]?.[output];
	if (expected === undefined) return [];
	const spec = own(manifest.outputs, output);
	return coveredParts(spec).map((part) => {
		const apart = got === undefined ? null : distance(expected, got, part);
		return { output, slice: part.slice, size: apart?.relativeL2 ?? Infinity };
	});
}

/** A defect in one of a hundred outputs leaves the others unchanged. Boxes are judged with their scores and classes. */
function changedNames({ manifest, reference }: Trial, index: number, outputs: Tensors) {
	const names = Object.keys(reference[index] ?? {});
	const changed = new Set(names.filter((name) => outputs[name] !== reference[index]?.[name]));
	for (const group of (manifest.detections ?? []).map(outputsOf))
		if (group.some((name) => changed.has(name))) for (const name of group) changed.add(name);
	return names.filter((name) => changed.has(name));
}

function failsCase(
	trial: Trial,
	index: number,
	{ outputs, names }: { outputs: Tensors; names: readonly string[] },
	precision: Precision,
) {
	const golden = trial.manifest.cases[index];
	const expected = trial.reference[index];
	if (golden === undefined || expected === undefined) return false;
	const pick = <Value>(all: Readonly<Record<string, Value>>) =>
		Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)));
	const { state } = judgeCase({
		...anyEngine(trial, precision),
		caseId: golden.id,
		golden: { ...golden, outputs: pick(golden.outputs) },
		expected,
		got: pick(outputs),
	});
	return state === "mismatch";
}

function failsSet(trial: Trial, outputs: ReadonlyMap<number, Tensors>, precision: Precision) {
	const seen = trial.manifest.cases.map((golden, index) => ({
		golden,
		sides: { expected: trial.reference[index] ?? {}, got: outputs.get(index) ?? {} },
	}));
	return judgeSet(anyEngine(trial, precision), seen)?.state === "mismatch";
}

interface Channels {
	count: number;
	inner: number;
}

type Damage = (values: Float64Array, channels: Channels) => (index: number) => number;

export const outputDefects = {
	"output-scale-up": { label: "scaled by 1.5", damage: (values) => (at) => 1.5 * (values[at] ?? 0) },
	"output-noise": {
		label: "with 5 % of noise",
		damage: (values) => {
			const random = splitMix64(1);
			return (at) => (values[at] ?? 0) * (1 + 0.05 * random.normal());
		},
	},
	"channel-zero": {
		label: "one class or channel zeroed",
		damage: (values, channels) => (at) =>
			channelOf(at, channels) === channels.count - 1 ? 0 : (values[at] ?? 0),
	},
	"channels-shuffled": {
		label: "classes or channels shuffled",
		damage: (values, channels) => (at) => {
			const channel = channelOf(at, channels);
			return values[at + (((channel + 1) % channels.count) - channel) * channels.inner] ?? 0;
		},
	},
	"output-zero": { label: "zeroed", damage: () => () => 0 },
	"other-case": { label: "of another case", damage: null },
} as const satisfies Readonly<Record<string, { label: string; damage: Damage | null }>>;

export type OutputDefectKind = keyof typeof outputDefects;

export interface TriedOutput {
	kind: OutputDefectKind;
	output: string;
	verdict: DefectVerdict;
}

/** Kind by kind, so that a time limit leaves some of all outputs. */
export function* tryOutputDefects(trial: Trial): Generator<TriedOutput> {
	const { reference } = trial;
	const tensors = new Map<string, Tensor[]>();
	for (const outputs of reference)
		for (const [name, tensor] of Object.entries(outputs))
			tensors.set(name, [...(tensors.get(name) ?? []), tensor]);
	for (const kind of Object.keys(outputDefects) as OutputDefectKind[])
		for (const [output, ofOutput] of tensors) {
			if (ofOutput.length < reference.length || constantOf(ofOutput) !== null) continue;
			const verdict = tryOne(trial, output, kind, ofOutput);
			if (verdict !== null) yield { kind, output, verdict };
		}
}

function tryOne(trial: Trial, output: string, kind: OutputDefectKind, tensors: readonly Tensor[]) {
	const watch = watchDefect(trial);
	let isDamaged = false;
	for (const [index, outputs] of trial.reference.entries()) {
		const damaged = damageOutput(tensors, index, kind);
		isDamaged ||= damaged !== null;
		if (watch.see(index, damaged === null ? outputs : { ...outputs, [output]: damaged })) break;
	}
	return isDamaged ? watch.verdict() : null;
}

export function damageOutput(
	tensors: readonly Tensor[],
	index: number,
	kind: OutputDefectKind,
): Tensor | null {
	const tensor = tensors[index];
	if (tensor === undefined) return null;
	const { dtype, shape } = tensor;
	const { damage } = outputDefects[kind];
	if (damage === null) {
		const isUniform = tensors.every((other) => other.shape.join() === shape.join());
		return tensors.length < 2 || !isUniform ? null : (tensors[(index + 1) % tensors.length] ?? null);
	}
	if (elementCount(shape) === 0 || !canEncode(dtype)) return null;
	if (!isFloating(dtype) && kind !== "output-zero") return null;
	const channels = channelsOf(shape);
	if (kind.startsWith("channel") && channels.count < 2) return null;
	return encodeTensor(dtype, shape, damage(valuesOf(tensor), channels));
}

/** Before or behind the height and width of a map; else the shortest axis except the first, which counts samples. */
function channelsOf(shape: readonly number[]) {
	const axes = shape.length === 4 ? [1, 3] : [...shape.keys()].slice(shape.length > 1 ? 1 : 0);
	let shortest = axes[0] ?? 0;
	for (const axis of axes) if ((shape[axis] ?? 1) < (shape[shortest] ?? 1)) shortest = axis;
	return { count: shape[shortest] ?? 1, inner: elementCount(shape.slice(shortest + 1)) };
}

function channelOf(at: number, { count, inner }: Channels) {
	return Math.floor(at / inner) % count;
}
