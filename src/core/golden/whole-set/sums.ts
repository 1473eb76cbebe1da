// The comparators that cover all cases together, each with its sum.
import type {
	BoxComparatorKind,
	BoxComparatorSpec,
	ComparatorSpec,
	Detections,
	GoldenCase,
	GoldenManifest,
	GoldenOutput,
	OutputSlice,
	Precision,
} from "../../../../generated/golden.ts";
import type { Bound, GoldenCheck } from "../../../../generated/result.ts";
import { type BoxSides, boxKind, boxLimit, readSides } from "../boxes/check-boxes.ts";
import { precisionTally } from "../boxes/mean-average-precision.ts";
import { layoutCheck } from "../compare/checks.ts";
import {
	type Comparator,
	isMetricSpec,
	type MetricSpec,
	resolveComparators,
	toleranceAt,
} from "../compare/comparators.ts";
import { coveredSides } from "../compare/coverage.ts";
import { makePair, type Pair } from "../compare/difference.ts";
import { metrics } from "../compare/registry.ts";
import { defaultTolerances } from "../compare/tolerances.ts";
import { accuracy } from "../metrics/classification.ts";
import { defaultMetricOptions, type Range } from "../metrics/measured.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { isSetKind, meanTally, type SetMeasured, setTally } from "./tally.ts";

interface CaseSides {
	expected: ReadonlyMap<string, Tensor>;
	got: ReadonlyMap<string, Tensor>;
}

export interface Sum {
	output: string;
	metric: GoldenCheck["metric"];
	slice: OutputSlice | undefined;
	bound: Bound;
	range: Range;
	severity: "fail" | "warn";
	/** false: the case holds nothing that can be compared. */
	add(golden: GoldenCase, sides: CaseSides): boolean;
	measure(): SetMeasured;
	/** When all cases were added. */
	allowed(): number;
}

interface SumContext {
	precision: Precision;
	/** The config's limits, for outputs whose golden names none. */
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
}

/** Empty where every comparator covers one case only. */
export function sumsOf(manifest: GoldenManifest, context: SumContext): Sum[] {
	const ofOutputs = Object.entries(manifest.outputs).flatMap(([name, output]) => {
		const listed: readonly ComparatorSpec[] = output.comparators ?? [];
		const specs = listed.filter(isMetricSpec);
		return specs.flatMap((spec, at) => {
			const index = specs.slice(0, at).filter(({ scope }) => scope === "set").length;
			return spec.scope === "set" ? [outputSum({ name, output, spec, index }, context)] : [];
		});
	});
	const ofBoxes = (manifest.detections ?? []).flatMap((group) =>
		(group.comparators ?? [])
			.filter(({ scope }) => scope === "set")
			.map((spec) => boxSum(group, spec, context.precision)),
	);
	return [...ofOutputs, ...ofBoxes];
}

interface SetComparator {
	name: string;
	output: GoldenOutput;
	spec: MetricSpec;
	/** Among the output's comparators of the set. */
	index: number;
}

function outputSum({ name, output, spec, index }: SetComparator, context: SumContext): Sum {
	const tally = isSetKind(spec.kind) ? setTally(spec.kind) : null;
	// What the golden itself reaches by the labels: the limit of accuracy is a share of it.
	const own = spec.kind === "accuracy" ? meanTally(accuracy, "at-least") : null;
	let last: Comparator | undefined;
	return {
		output: name,
		metric: spec.kind,
		slice: spec.slice,
		bound: metrics[spec.kind].bound,
		range: metrics[spec.kind].range,
		severity: spec.severity ?? "fail",
		add(golden, sides) {
			if (!Object.hasOwn(golden.outputs, name)) return true;
			const pair = pairOf(name, sides);
			if (pair === null) return false;
			if (elementCount(pair.expected.shape) === 0) return true;
			const labels = Object.hasOwn(golden.labels ?? {}, name) ? golden.labels?.[name] : undefined;
			const all = resolveComparators(output, { ...context, expected: pair.expected, labels });
			last = all.filter(({ scope }) => scope === "set")[index] ?? last;
			if (last === undefined) return false;
			const { expected, got } = coveredSides(pair, last);
			tally?.add(makePair(expected, got), last, golden.id);
			own?.add(makePair(expected, expected), last, golden.id);
			return true;
		},
		measure: () =>
			withOwn(
				tally?.measure(last ?? defaultMetricOptions) ?? { value: Number.NaN, elements: 0 },
				own?.measure(defaultMetricOptions).value,
			),
		allowed() {
			if (own === null || toleranceAt(spec.tolerance, context.precision) !== undefined)
				return last?.allowed ?? Number.NaN;
			return own.measure(defaultMetricOptions).value * defaultTolerances[context.precision].topK;
		},
	};
}

/** null: what the engine gave cannot be compared at all. */
function pairOf(name: string, sides: CaseSides): Pair | null {
	const [expected, got] = [sides.expected.get(name), sides.got.get(name)];
	if (expected === undefined || got === undefined || layoutCheck(name, expected, got) !== null) return null;
	const pair = makePair(expected, got);
	return pair.difference().nonFinite.differing > 0 ? null : pair;
}

function withOwn(measured: SetMeasured, own: number | undefined): SetMeasured {
	if (own === undefined || Number.isNaN(own)) return measured;
	const detail = [`the golden itself reaches ${Number(own.toPrecision(4))}`, measured.detail]
		.filter((text) => text !== undefined)
		.join("; ");
	return { ...measured, detail };
}

function boxSum(group: Detections, spec: BoxComparatorSpec, precision: Precision): Sum {
	const tally = boxTally(group, spec, precision);
	return {
		output: group.name,
		metric: spec.kind,
		slice: undefined,
		bound: boxKind(spec.kind).bound,
		range: boxKind(spec.kind).range,
		severity: spec.severity ?? "fail",
		add: (_, sides) => tally.add(sides),
		measure: tally.measure,
		allowed: () => tally.allowed,
	};
}

interface BoxTally {
	/** false: the case's outputs hold no detections that can be compared. */
	add(sides: Omit<BoxSides, "base">): boolean;
	measure(): { value: number; elements: number; detail: string };
	allowed: number;
}

function boxTally(group: Detections, spec: BoxComparatorSpec, precision: Precision): BoxTally {
	const sums = { matches: 0, missing: 0, extra: 0, images: 0, boxes: 0 };
	const tally = precisionTally();
	return {
		allowed: boxLimit(spec, precision),
		add(sides) {
			const read = readSides(group, sides, precision);
			if (typeof read === "string") return false;
			for (const [index, pair] of read.pairs.entries()) {
				const image = read.images[index];
				sums.images += 1;
				sums.boxes += pair.expected.length;
				if (spec.kind === "map") tally.add(pair);
				sums.matches += image?.matches.length ?? 0;
				sums.missing += image?.missing.length ?? 0;
				sums.extra += image?.extra.length ?? 0;
			}
			return true;
		},
		measure() {
			const { matches, missing, extra, images, boxes } = sums;
			const detail = `${images} images: ${matches} boxes match, ${missing} missing, ${extra} extra`;
			const value = images === 0 ? Number.NaN : measureSums(spec.kind, { ...sums, map: tally.value });
			return { value, elements: boxes, detail };
		},
	};
}

interface BoxSums {
	matches: number;
	missing: number;
	extra: number;
	map(): number;
}

function measureSums(kind: BoxComparatorKind, { matches, missing, extra, map }: BoxSums): number {
	if (kind === "map") return map();
	if (kind === "box-missing") return missing;
	if (kind === "box-extra") return extra;
	// Counts of all images together; two empty sets agree fully.
	const lone = missing + extra;
	return lone === 0 ? 1 : (2 * matches) / (2 * matches + lone);
}
