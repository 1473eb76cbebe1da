// The comparators of a golden that speak of all cases together, each with its sum.
import type {
	BoxComparatorSpec,
	ComparatorSpec,
	Detections,
	GoldenCase,
	GoldenManifest,
	GoldenOutput,
	Precision,
} from "../../schema/golden.ts";
import type { Bound, GoldenCheck } from "../../schema/result.ts";
import { boxKind } from "../boxes/check-boxes.ts";
import { layoutCheck } from "../compare/checks.ts";
import { type Comparator, isMetricSpec, type MetricSpec, resolveComparators, toleranceAt } from "../compare/comparators.ts";
import { makePair, type Pair } from "../compare/difference.ts";
import { metrics } from "../compare/registry.ts";
import { defaultTolerances } from "../compare/tolerances.ts";
import { accuracy } from "../metrics/accuracy.ts";
import { plainQuestion, type Range } from "../metrics/measured.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { boxTally } from "./box-tally.ts";
import { isSetKind } from "./kinds.ts";
import type { SetMeasured } from "./measured.ts";
import { meanTally, setTally } from "./tally.ts";

export interface CaseSides {
	expected: ReadonlyMap<string, Tensor>;
	got: ReadonlyMap<string, Tensor>;
}

export interface Sum {
	output: string;
	metric: GoldenCheck["metric"];
	bound: Bound;
	range: Range;
	severity: "fail" | "warn";
	/** false: the case holds nothing that can be compared. */
	add(golden: GoldenCase, sides: CaseSides): boolean;
	measure(): SetMeasured;
	/** When all cases were added. */
	allowed(): number;
}

export interface SumContext {
	precision: Precision;
	/** The config's limits, for outputs whose golden names none. */
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
}

/** Empty where every comparator is content with one case. */
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
		(group.comparators ?? []).filter(({ scope }) => scope === "set").map((spec) => boxSum(group, spec, context.precision)),
	);
	return [...ofOutputs, ...ofBoxes];
}

interface Asked {
	name: string;
	output: GoldenOutput;
	spec: MetricSpec;
	/** Among the output's comparators of the set. */
	index: number;
}

function outputSum({ name, output, spec, index }: Asked, context: SumContext): Sum {
	const tally = isSetKind(spec.kind) ? setTally(spec.kind) : null;
	// What the golden itself reaches by the labels: the limit of accuracy is a share of it.
	const own = spec.kind === "accuracy" ? meanTally(accuracy, "at-least") : null;
	let last: Comparator | undefined;
	return {
		output: name,
		metric: spec.kind,
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
			tally?.add(pair, last, golden.id);
			own?.add(makePair(pair.expected, pair.expected), last, golden.id);
			return true;
		},
		measure: () => withOwn(tally?.measure(last ?? plainQuestion) ?? { value: Number.NaN, elements: 0 }, own?.measure(plainQuestion).value),
		allowed() {
			if (own === null || toleranceAt(spec.tolerance, context.precision) !== undefined) return last?.allowed ?? Number.NaN;
			return own.measure(plainQuestion).value * defaultTolerances[context.precision].topK;
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
		bound: boxKind(spec.kind).bound,
		range: boxKind(spec.kind).range,
		severity: spec.severity ?? "fail",
		add: (_, sides) => tally.add(sides),
		measure: tally.measure,
		allowed: () => tally.allowed,
	};
}
