// Entry of polygraphy/: judges stored run results by the rules of Polygraphy's default comparator, and warns where a pass is doubtful.

import type { DType } from "../../../../generated/golden.ts";
import type { Bound, Numeric } from "../../../../generated/result.ts";
import { quoteName } from "../../onnx/quote.ts";
import { toNumeric } from "../compare/checks.ts";
import { elementCount, formatShape, type Tensor } from "../tensor/tensor.ts";
import { float64Reader, forEachChunk, longReader } from "../tensor/values.ts";

/** By the first runner's output; the empty name is for all others. */
export type ByOutput = ReadonlyMap<string, number>;

export interface PolygraphySettings {
	rtol: ByOutput;
	atol: ByOutput;
	infinitiesEqual: boolean;
}

/** Outputs by name, in the runner's order. */
type Iteration = ReadonlyMap<string, Tensor>;

export interface RunnerResults {
	runner: string;
	iterations: readonly Iteration[];
}

export interface ComparedOutput {
	output: string;
	/** The second runner's. */
	against: string;
	checks: { compare: "simple"; pass: boolean; measures: Measure[]; detail?: string }[];
}

export interface ComparedIteration {
	first: string;
	second: string;
	iteration: number;
	outputs: ComparedOutput[];
}

export interface RunsVerdict {
	passed: boolean;
	compared: ComparedIteration[];
	/** Why Polygraphy exits with an error; then nothing passes. */
	errors: string[];
	warnings: string[];
}

/** Each runner is compared with the next, over the iterations that all have. */
export function judgeRuns(runners: readonly RunnerResults[], settings: PolygraphySettings): RunsVerdict {
	const counts = runners.map(({ iterations }) => iterations.length);
	const shared = counts.length === 0 ? 0 : Math.min(...counts);
	const notes: Notes = { warnings: new Set(), errors: new Set() };
	if (shared === 0) notes.warnings.add("the runners share no iteration, so nothing was compared");
	else if (Math.max(...counts) > shared) {
		notes.warnings.add(
			`only the first ${shared} of ${Math.max(...counts)} iterations were compared: not all runners have more`,
		);
	}
	const compared: ComparedIteration[] = [];
	for (let iteration = 0; iteration < shared; iteration += 1) {
		for (const [index, first] of runners.slice(0, -1).entries()) {
			const second = runners[index + 1];
			const [got, wanted] = [first.iterations[iteration], second?.iterations[iteration]];
			if (second === undefined || got === undefined || wanted === undefined) continue;
			const outputs = compareIteration(got, wanted, { settings, notes });
			compared.push({ first: first.runner, second: second.runner, iteration, outputs });
		}
	}
	const failed = compared.some(({ outputs }) =>
		outputs.some(({ checks }) => checks.some(({ pass }) => !pass)),
	);
	return {
		passed: !failed && notes.errors.size === 0,
		compared,
		errors: [...notes.errors],
		warnings: [...notes.warnings],
	};
}

/** A note that repeats in every iteration is reported once. */
interface Notes {
	warnings: Set<string>;
	errors: Set<string>;
}

interface Comparing {
	settings: PolygraphySettings;
	notes: Notes;
}

function compareIteration(
	got: Iteration,
	wanted: Iteration,
	{ settings, notes }: Comparing,
): ComparedOutput[] {
	const names = { first: [...got.keys()], second: [...wanted.keys()] };
	const outputs: ComparedOutput[] = [];
	for (const [output, candidate] of got) {
		const against = matchingOutput(output, names.first, names.second);
		const golden = against === null ? undefined : wanted.get(against);
		if (against === null || golden === undefined) {
			notes.warnings.add(
				`output ${quoteName(output)} of the first runner was not compared: the second has no such output`,
			);
			continue;
		}
		if (against !== output)
			notes.warnings.add(
				`output ${quoteName(output)} was compared with ${quoteName(against)}, which has another name`,
			);
		outputs.push({
			output,
			against,
			checks: compareOutput(output, { candidate, golden }, { settings, notes }),
		});
	}
	const used = new Set(outputs.map(({ against }) => against));
	for (const name of names.second)
		if (!used.has(name))
			notes.warnings.add(`output ${quoteName(name)} of the second runner was not compared`);
	if (outputs.length === 0 && got.size + wanted.size > 0)
		notes.errors.add("the runners have no output in common");
	if (got.size + wanted.size === 0)
		notes.warnings.add("the runners have no outputs, so nothing was compared");
	return outputs;
}

function compareOutput(
	output: string,
	sides: RunnerOutputs,
	{ settings, notes }: Comparing,
): ComparedOutput["checks"] {
	const { candidate, golden } = sides;
	const name = quoteName(output);
	if (formatShape(candidate.shape) !== formatShape(golden.shape)) {
		const detail = `shape ${formatShape(candidate.shape)} against ${formatShape(golden.shape)}`;
		return [{ compare: "simple", pass: false, measures: [], detail }];
	}
	if (candidate.dtype !== golden.dtype)
		notes.warnings.add(
			`output ${name} is ${candidate.dtype} against ${golden.dtype}: dtypes are not compared`,
		);
	const measures = compareElements(sides, tolerancesOf(output, settings));
	const pass = measures[0]?.pass === true;
	if (pass && elementCount(golden.shape) === 0) notes.warnings.add(`output ${name} passes, but it is empty`);
	return [{ compare: "simple", pass, measures }];
}

/** With Polygraphy's defaults. */
function tolerancesOf(output: string, { atol, rtol, infinitiesEqual }: PolygraphySettings): Tolerances {
	const of = (given: ByOutput): number => given.get(output) ?? given.get("") ?? 1e-5;
	return { absolute: of(atol), relative: of(rtol), infinitiesEqual };
}

/** Of the same name; else of a name that holds the other whatever its case; else at the same place. null: none. */
export function matchingOutput(
	name: string,
	first: readonly string[],
	second: readonly string[],
): string | null {
	const found = findName(name, second, first.indexOf(name));
	if (found === null || found === name) return found;
	// An output that the first runner has by its very name is compared with that one alone.
	return findName(found, first, -1) === found ? null : found;
}

function findName(name: string, names: readonly string[], place: number): string | null {
	if (names.includes(name)) return name;
	const lower = name.toLowerCase();
	const similar = names.find(
		(other) => lower.includes(other.toLowerCase()) || other.toLowerCase().includes(lower),
	);
	return similar ?? names[place] ?? null;
}

// Polygraphy's default comparator: an element passes within its absolute or its relative tolerance.

interface Tolerances {
	absolute: number;
	relative: number;
	/** Whether infinities of the same sign are equal. */
	infinitiesEqual: boolean;
}

export interface Measure {
	name: string;
	value: Numeric;
	allowed: Numeric;
	bound: Bound;
	pass: boolean;
}

/** In Polygraphy's order: the candidate comes first. */
interface RunnerOutputs {
	candidate: Tensor;
	golden: Tensor;
}

/** 2^-52 replaces zeros of a floating-point reference, so that relative errors at zero are huge. */
const zeroReplacement = 2.220446049250313e-16;
const singles: ReadonlySet<DType> = new Set(["float16", "float32"]);
const doubles: ReadonlySet<DType> = new Set(["float64", ...singles]);

/** Computed in binary32 where both sides fit, as numpy does: values near a tolerance keep Polygraphy's verdict. */
function compareElements(sides: RunnerOutputs, tolerances: Tolerances): Measure[] {
	const { candidate, golden } = sides;
	const round =
		singles.has(candidate.dtype) && singles.has(golden.dtype) ? Math.fround : (value: number) => value;
	const differences = differenceReader(sides);
	const [readCandidate, readGolden] = [float64Reader(candidate), float64Reader(golden)];
	const isFloating = doubles.has(golden.dtype);
	let outside = 0;
	const largest = { absolute: Number.NEGATIVE_INFINITY, relative: Number.NEGATIVE_INFINITY };
	forEachChunk(elementCount(golden.shape), (start, count) => {
		const [got, wanted, difference] = [
			readCandidate(start, count),
			readGolden(start, count),
			differences(start, count),
		];
		for (let i = 0; i < count; i += 1) {
			const reference = Math.abs(wanted[i] as number);
			const isEqual =
				tolerances.infinitiesEqual && reference === Number.POSITIVE_INFINITY && got[i] === wanted[i];
			const absolute = isEqual ? 0 : round(Math.abs(difference[i] as number));
			const relative = round(absolute / (reference === 0 && isFloating ? zeroReplacement : reference));
			if (!(absolute <= tolerances.absolute) && !(relative <= tolerances.relative)) outside += 1;
			largest.absolute = Math.max(largest.absolute, absolute);
			largest.relative = Math.max(largest.relative, relative);
		}
	});
	return [
		measure("elements outside both tolerances", outside, 0),
		...(["absolute", "relative"] as const).map((error) =>
			measure(
				`largest ${error} error`,
				elementCount(golden.shape) === 0 ? 0 : largest[error],
				tolerances[error],
			),
		),
	];
}

/** 64-bit integers are subtracted exactly. */
function differenceReader({
	candidate,
	golden,
}: RunnerOutputs): (start: number, count: number) => ArrayLike<number> {
	const [longCandidate, longGolden] = [longReader(candidate), longReader(golden)];
	if (longCandidate !== null && longGolden !== null) {
		return (start, count) => {
			const wanted = longGolden(start, count);
			return Array.from(longCandidate(start, count), (value, i) => Number(value - (wanted[i] as bigint)));
		};
	}
	const [read, readGolden] = [float64Reader(candidate), float64Reader(golden)];
	return (start, count) => {
		const wanted = readGolden(start, count);
		return read(start, count).map((value, i) => value - (wanted[i] as number));
	};
}

function measure(name: string, value: number, allowed: number): Measure {
	return {
		name,
		value: toNumeric(value),
		allowed: toNumeric(allowed),
		bound: "at-most",
		pass: value <= allowed,
	};
}
