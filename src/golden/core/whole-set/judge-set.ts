// Entry of whole-set/: judges all cases of a golden together.
import type {
	BoxComparatorSpec,
	Detections,
	GoldenCase,
	GoldenManifest,
	GoldenOutput,
	Precision,
} from "../../../../generated/golden.ts";
import type { GoldenCheck, GoldenVerdict } from "../../../../generated/result.ts";
import { quoteName } from "../../../core/text/escape.ts";
import { type BoxSides, boxKinds, boxLimit, matchImages } from "../boxes/check-boxes.ts";
import { precisionTally } from "../boxes/mean-average-precision.ts";
import { coveredParts, layoutCheck, markExisting, mismatchState, toNumeric } from "../compare/checks.ts";
import { type Comparator, isMetricSpec, type MetricSpec, resolveComparator } from "../compare/comparators.ts";
import { makePair } from "../compare/difference.ts";
import { existingGrowthChecks, growthRule } from "../compare/growth.ts";
import { aboutCase, type CaseInput } from "../compare/judge.ts";
import { metrics, setTally } from "../compare/registry.ts";
import { defaultTolerances, toleranceAt } from "../compare/tolerances.ts";
import { defaultMetricOptions, keepsLimit, type Range, within } from "../metrics/element-errors.ts";
import { elementCount, own, type Tensors } from "../tensor/tensor.ts";
import { type SetMeasured, wholeSet } from "./tally.ts";

export interface SetRef extends Omit<CaseInput, "caseId" | "golden" | "expected" | "got" | "base"> {
	isNewSet?: boolean;
}

type SetSides = Pick<CaseInput, "expected" | "got" | "base">;

export interface SetWatch {
	see(golden: GoldenCase, sides: SetSides | null): void;
	/** null if the golden is stale by its own policy, so that nothing is compared. */
	verdict(): GoldenVerdict | null;
}

export function watchSet(ref: SetRef): SetWatch | null {
	const { manifest, precision } = ref;
	const sums = sumsOf(manifest, ref);
	if (sums.length === 0) return null;
	const baseSums = sumsOf(manifest, { ...ref, precision: ref.basePrecision ?? precision });
	let baseIsWhole = true;
	const lost: string[] = [];
	let seen = 0;
	return {
		see(golden, sides) {
			seen += 1;
			if (!addAll(sums, golden, sides?.expected, sides?.got)) lost.push(golden.id);
			baseIsWhole = baseIsWhole && addAll(baseSums, golden, sides?.expected, sides?.base);
		},
		verdict() {
			const own = aboutCase({ ...ref, caseId: wholeSet });
			if (own.modelChanged && (manifest.policy?.onModelChange ?? "compare") !== "compare") return null;
			const about = { ...own, scope: "set" as const, cases: seen };
			if (lost.length > 0 || seen === 0) {
				const first = quoteName(lost[0] ?? "");
				const some = `${lost.length} of ${seen} cases cannot be compared (the first is ${first}), so there is no result for the whole set.`;
				return { ...about, state: "error", message: seen === 0 ? "No case was compared." : some, checks: [] };
			}
			const checks = sums.map((sum, index) => {
				const { existing, ...check } = checkOf(sum, baseIsWhole ? baseSums[index] : undefined);
				return existing === true && ref.isNewSet !== true ? { ...check, existing } : check;
			});
			const state = mismatchState(checks) ?? "match";
			const grown = state === "mismatch" ? [] : existingGrowthChecks(checks, growthRule(ref));
			return { ...about, state: mismatchState(grown) ?? state, checks: [...checks, ...grown] };
		},
	};
}

export function judgeSet(
	ref: SetRef,
	cases: readonly { golden: GoldenCase; sides: SetSides | null }[],
): GoldenVerdict | null {
	const watch = watchSet(ref);
	for (const { golden, sides } of cases) watch?.see(golden, sides);
	return watch?.verdict() ?? null;
}

function addAll(
	sums: readonly Sum[],
	golden: GoldenCase,
	expected: Tensors | undefined,
	got: Tensors | undefined,
) {
	if (expected === undefined || got === undefined) return false;
	return sums.map((sum) => sum.add(golden, { expected, got })).every(Boolean);
}

function checkOf(sum: Sum, base: Sum | undefined) {
	const { bound } = sum.about;
	const { value, elements, detail } = within(sum.measure(), sum.range);
	const allowed = sum.allowed();
	const ofBase = base?.measure().value;
	const check: GoldenCheck = {
		...sum.about,
		got: toNumeric(value),
		allowed: Number.isFinite(allowed) ? allowed : null,
		pass: keepsLimit(value, bound, allowed),
		base: ofBase === undefined ? undefined : toNumeric(ofBase),
		elements,
		detail: Number.isNaN(value) ? (detail ?? "nothing was compared") : detail,
	};
	const baseFails = base !== undefined && ofBase !== undefined && !keepsLimit(ofBase, bound, base.allowed());
	return markExisting(check, baseFails);
}

interface Sum {
	about: Pick<GoldenCheck, "output" | "metric" | "slice" | "bound" | "severity">;
	range: Range;
	add(golden: GoldenCase, sides: Omit<BoxSides, "base">): boolean;
	measure(): SetMeasured;
	allowed(): number;
}

type SumContext = Pick<CaseInput, "precision" | "relativeL2">;

function sumsOf(manifest: GoldenManifest, context: SumContext) {
	const isOfSet = ({ scope }: { scope?: string }) => scope === "set";
	const ofOutputs = Object.entries(manifest.outputs).flatMap(([name, output]) =>
		(output.comparators ?? [])
			.filter(isOfSet)
			.filter(isMetricSpec)
			.map((spec) => outputSum(name, output, spec, context)),
	);
	const ofBoxes = (manifest.detections ?? []).flatMap((group) =>
		(group.comparators ?? []).filter(isOfSet).map((spec) => boxSum(group, spec, context.precision)),
	);
	return [...ofOutputs, ...ofBoxes];
}

function outputSum(name: string, output: GoldenOutput, spec: MetricSpec, context: SumContext): Sum {
	const { kind, slice, severity = "fail" } = spec;
	const { bound, range } = metrics[kind];
	const tally = setTally(kind);
	// The limit of accuracy is a share of the golden's own accuracy.
	const ofGolden = kind === "accuracy" ? setTally(kind) : null;
	let last: Comparator | undefined;
	return {
		about: { output: name, metric: kind, slice, bound, severity },
		range,
		add(golden, sides) {
			if (!Object.hasOwn(golden.outputs, name)) return true;
			const [expected, got] = [own(sides.expected, name), own(sides.got, name)];
			if (expected === undefined || got === undefined || layoutCheck(name, expected, got) !== null)
				return false;
			if (makePair(expected, got).difference().nonFinite.differing > 0) return false;
			if (elementCount(expected.shape) === 0) return true;
			const labels = own(golden.labels, name);
			last = resolveComparator(spec, output, { ...context, expected, labels });
			const [covered = { expected, got }] = coveredParts({ expected, got }, last);
			tally?.add(makePair(covered.expected, covered.got), last, golden.id);
			ofGolden?.add(makePair(covered.expected, covered.expected), last, golden.id);
			return true;
		},
		measure() {
			const measured = tally?.measure(last ?? defaultMetricOptions) ?? { value: NaN, elements: 0 };
			const reached = ofGolden?.measure(defaultMetricOptions).value ?? NaN;
			if (Number.isNaN(reached)) return measured;
			const reach = `the golden itself reaches ${Number(reached.toPrecision(4))}`;
			return { ...measured, detail: [reach, measured.detail].filter(Boolean).join("; ") };
		},
		allowed() {
			if (ofGolden === null || toleranceAt(spec.tolerance, context.precision) !== undefined)
				return last?.allowed ?? NaN;
			return ofGolden.measure(defaultMetricOptions).value * defaultTolerances[context.precision].topK;
		},
	};
}

function boxSum(group: Detections, spec: BoxComparatorSpec, precision: Precision): Sum {
	const { kind, severity = "fail" } = spec;
	const { bound, range, set } = boxKinds[kind];
	const sums = { matches: 0, missing: 0, extra: 0 };
	let imageCount = 0;
	let boxes = 0;
	const tally = precisionTally();
	return {
		about: { output: group.name, metric: kind, bound, severity },
		range,
		allowed: () => boxLimit(spec, precision),
		add(_, sides) {
			const images = matchImages(group, sides, precision);
			if (typeof images === "string") return false;
			for (const image of images) {
				imageCount += 1;
				boxes += image.expected.length;
				if (kind === "map") tally.add(image);
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
			return { value: value ?? NaN, elements: boxes, detail };
		},
	};
}
