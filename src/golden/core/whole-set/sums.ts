// The comparators that cover all cases together, each with its sum.
import type {
	BoxComparatorSpec,
	Detections,
	GoldenCase,
	GoldenManifest,
	GoldenOutput,
	OutputSlice,
	Precision,
} from "../../../../generated/golden.ts";
import type { Bound, GoldenCheck } from "../../../../generated/result.ts";
import { type BoxSides, boxKinds, boxLimit, matchImages } from "../boxes/check-boxes.ts";
import { precisionTally } from "../boxes/mean-average-precision.ts";
import { layoutCheck } from "../compare/checks.ts";
import {
	type Comparator,
	isMetricSpec,
	type MetricSpec,
	resolveComparators,
} from "../compare/comparators.ts";
import { coveredSides } from "../compare/coverage.ts";
import { makePair } from "../compare/difference.ts";
import { metrics, setTally } from "../compare/registry.ts";
import { defaultTolerances, toleranceAt } from "../compare/tolerances.ts";
import { defaultMetricOptions, type Range } from "../metrics/measured.ts";
import { elementCount } from "../tensor/tensor.ts";
import type { SetMeasured } from "./tally.ts";

export interface Sum {
	output: string;
	metric: GoldenCheck["metric"];
	slice?: OutputSlice;
	bound: Bound;
	range: Range;
	severity: "fail" | "warn";
	/** False if the case holds nothing that can be compared. */
	add(golden: GoldenCase, sides: Omit<BoxSides, "base">): boolean;
	measure(): SetMeasured;
	allowed(): number;
}

interface SumContext {
	precision: Precision;
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
}

export function sumsOf(manifest: GoldenManifest, context: SumContext): Sum[] {
	const isOfSet = ({ scope }: { scope?: string }): boolean => scope === "set";
	const ofOutputs = Object.entries(manifest.outputs).flatMap(([name, output]) =>
		(output.comparators ?? [])
			.filter(isOfSet)
			.filter(isMetricSpec)
			.map((spec, index) => outputSum(name, output, { spec, index }, context)),
	);
	const ofBoxes = (manifest.detections ?? []).flatMap((group) =>
		(group.comparators ?? []).filter(isOfSet).map((spec) => boxSum(group, spec, context.precision)),
	);
	return [...ofOutputs, ...ofBoxes];
}

/** @param index its place among the output's comparators of the whole set. */
function outputSum(
	name: string,
	output: GoldenOutput,
	{ spec, index }: { spec: MetricSpec; index: number },
	context: SumContext,
): Sum {
	const { bound, range } = metrics[spec.kind];
	const tally = setTally(spec.kind);
	// The limit of accuracy is a share of the golden's own accuracy.
	const own = spec.kind === "accuracy" ? setTally(spec.kind) : null;
	let last: Comparator | undefined;
	return {
		output: name,
		metric: spec.kind,
		slice: spec.slice,
		bound,
		range,
		severity: spec.severity ?? "fail",
		add(golden, sides) {
			if (!Object.hasOwn(golden.outputs, name)) return true;
			const [expected, got] = [sides.expected.get(name), sides.got.get(name)];
			if (expected === undefined || got === undefined || layoutCheck(name, expected, got) !== null)
				return false;
			if (makePair(expected, got).difference().nonFinite.differing > 0) return false;
			if (elementCount(expected.shape) === 0) return true;
			const labels = Object.hasOwn(golden.labels ?? {}, name) ? golden.labels?.[name] : undefined;
			const all = resolveComparators(output, { ...context, expected, labels });
			last = all.filter(({ scope }) => scope === "set")[index] ?? last;
			if (last === undefined) return false;
			const covered = coveredSides({ expected, got }, last);
			tally?.add(makePair(covered.expected, covered.got), last, golden.id);
			own?.add(makePair(covered.expected, covered.expected), last, golden.id);
			return true;
		},
		measure() {
			const measured = tally?.measure(last ?? defaultMetricOptions) ?? { value: Number.NaN, elements: 0 };
			const reached = own?.measure(defaultMetricOptions).value ?? Number.NaN;
			if (Number.isNaN(reached)) return measured;
			const ofGolden = `the golden itself reaches ${Number(reached.toPrecision(4))}`;
			return { ...measured, detail: [ofGolden, measured.detail].filter(Boolean).join("; ") };
		},
		allowed() {
			if (own === null || toleranceAt(spec.tolerance, context.precision) !== undefined)
				return last?.allowed ?? Number.NaN;
			return own.measure(defaultMetricOptions).value * defaultTolerances[context.precision].topK;
		},
	};
}

function boxSum(group: Detections, spec: BoxComparatorSpec, precision: Precision): Sum {
	const { bound, range, set } = boxKinds[spec.kind];
	const sums = { matches: 0, missing: 0, extra: 0 };
	let imageCount = 0;
	let boxes = 0;
	const tally = precisionTally();
	return {
		output: group.name,
		metric: spec.kind,
		bound,
		range,
		severity: spec.severity ?? "fail",
		allowed: () => boxLimit(spec, precision),
		add(_, sides) {
			const images = matchImages(group, sides, precision);
			if (typeof images === "string") return false;
			for (const image of images) {
				imageCount += 1;
				boxes += image.expected.length;
				if (spec.kind === "map") tally.add(image);
				sums.matches += image.matches.length;
				sums.missing += image.missing.length;
				sums.extra += image.extra.length;
			}
			return true;
		},
		measure() {
			const { matches, missing, extra } = sums;
			const detail = `${imageCount} images: ${matches} boxes match, ${missing} missing, ${extra} extra`;
			const value = imageCount === 0 ? undefined : set?.({ ...sums, map: tally.value });
			return { value: value ?? Number.NaN, elements: boxes, detail };
		},
	};
}
