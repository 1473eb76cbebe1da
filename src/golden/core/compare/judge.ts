// Entry of compare/: judges one golden case, and growth of its error over the base's.

import type { Detections, GoldenCase, GoldenManifest, Precision } from "../../../../generated/golden.ts";
import type { GoldenCheck, GoldenState, GoldenVerdict } from "../../../../generated/result.ts";
import type { Threshold } from "../../../core/config/config.ts";
import { defaultGates } from "../../../core/config/defaults.ts";
import { BugError } from "../../../core/errors.ts";
import { quoteName } from "../../../core/onnx/quote.ts";
import { listNames } from "../../../core/text/labels.ts";
import { formatTimes, twoDigits } from "../../../core/text/units.ts";
import { type BoxSides, checkBoxes } from "../boxes/check-boxes.ts";
import {
	distance,
	emulatedRounding,
	leastErrorFloor,
	noiseOfPart,
	usualRoundings,
} from "../record/noise-floor.ts";
import { positionAfter } from "../sequence/sequence.ts";
import {
	elementCount,
	isFloating,
	ofSlice,
	own,
	type Tensor,
	type TensorSet,
	tensorMap,
} from "../tensor/tensor.ts";
import { type CommandAnswer, checkOutput, type OutputChecks } from "./check-output.ts";
import { markExisting, mismatchState, structuralCheck, toNumeric } from "./checks.ts";
import { metricLabels } from "./registry.ts";

interface CaseRef {
	manifest: GoldenManifest;
	caseId: string;
	golden?: GoldenCase;
	model: string;
	engine: string;
	precision: Precision;
	modelSha256: string;
}

export interface CaseInput extends CaseRef {
	expected: TensorSet;
	got: TensorSet;
	base?: TensorSet;
	basePrecision?: Precision | undefined;
	isNewCase?: boolean | undefined;
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
	errorGrowth?: Threshold;
	answers?: ReadonlyMap<string, readonly CommandAnswer[]>;
}

/** `match` only if something was compared and every check that may fail the case passes. */
export function judgeCase(input: CaseInput): GoldenVerdict {
	const { manifest } = input;
	const golden = input.golden ?? manifest.cases.find((candidate) => candidate.id === input.caseId);
	if (golden === undefined) throw bug(`Golden ${manifest.goldenId} has no case ${input.caseId}.`);
	const about = aboutCase(input);
	const policy = manifest.policy?.onModelChange ?? "compare";
	if (about.modelChanged && policy !== "compare") {
		const message = `${otherModel(input)}; its policy forbids a comparison: record it again.`;
		return { ...about, state: "stale", severity: policy, message, checks: [] };
	}
	const { checks: all, compared } = checkOutputs(input, golden);
	const checks = input.isNewCase === true ? all.map(({ existing: _, ...check }): GoldenCheck => check) : all;
	const state = mismatchState(checks) ?? (compared > 0 ? "match" : "error");
	const ofSet = checks.length === 0 ? "Its outputs are judged over the whole set only." : undefined;
	return { ...about, state, message: messageOf(state, input, about.modelChanged) ?? ofSet, checks };
}

function bug(message: string): BugError {
	return new BugError({ code: "internal", message });
}

export function judgeUnanswered(ref: CaseRef, message: string): GoldenVerdict {
	return { ...aboutCase(ref), state: "error", message, checks: [] };
}

function aboutCase({ model, engine, precision, caseId, manifest, modelSha256 }: CaseRef) {
	const modelChanged = manifest.model.sha256 !== modelSha256;
	return { model, engine, precision, case: caseId, golden: manifest.goldenId, modelChanged };
}

function checkOutputs(input: CaseInput, golden: GoldenCase): OutputChecks {
	const expected = tensorMap(input.expected);
	const got = tensorMap(input.got);
	const base = input.base && tensorMap(input.base);
	const sides = { expected, got, base };
	const all = Object.keys(golden.outputs).map((name) => checkNamed(name, input, golden, sides));
	const groups = (input.manifest.detections ?? []).filter((spec) =>
		outputsOf(spec).every((name) => Object.hasOwn(golden.outputs, name) && got.has(name)),
	);
	for (const spec of groups) {
		const { checks, compared } = checkBoxes(spec, sides, input.precision);
		const growth = hasNewFailure(checks) ? [] : boxGrowthChecks(checks, growthRule(input));
		all.push({ checks: [...checks, ...growth], compared });
	}
	const noSuchOutput = "the golden has no such output, so it was not compared: record the golden again";
	const extra = [...got.keys()]
		.filter((name) => !Object.hasOwn(golden.outputs, name))
		.map((name) => markExisting(structuralCheck(name, "missing", noSuchOutput), base?.has(name) === true));
	return {
		checks: [...all.flatMap(({ checks }) => checks), ...extra],
		compared: all.reduce((sum, { compared }) => sum + compared, 0),
	};
}

export function outputsOf({ boxes, scores, classes, count }: Partial<Detections>): string[] {
	return [boxes, scores, classes, count].filter((name) => name !== undefined);
}

function hasNewFailure(checks: readonly GoldenCheck[]): boolean {
	return checks.some(({ pass, existing }) => !pass && existing !== true);
}

function checkNamed(name: string, input: CaseInput, golden: GoldenCase, sides: BoxSides): OutputChecks {
	const expected = sides.expected.get(name);
	const got = sides.got.get(name);
	const base = sides.base?.get(name);
	if (expected === undefined) throw bug(`Output ${name} of golden case ${input.caseId} was not read.`);
	if (got === undefined) {
		const names = [...sides.got.keys()].map((present) => quoteName(present));
		const present = `the engine has no such output; it has ${listNames(names, 8)}`;
		const detail = names.length === 0 ? "the engine gave no outputs" : present;
		const isMissingInBase = sides.base !== undefined && base === undefined;
		return { checks: [markExisting(structuralCheck(name, "missing", detail), isMissingInBase)], compared: 0 };
	}
	const { outputs, detections, sequence } = input.manifest;
	const spec = own(outputs, name);
	// Boxes come in any order and number: element by element only if comparators ask for it.
	const grouped = detections?.some((group) => outputsOf(group).includes(name)) === true;
	if (grouped && spec?.comparators === undefined) return { checks: [], compared: 0 };
	const { precision, basePrecision, relativeL2 } = input;
	const labels = own(golden.labels, name);
	const answers = input.answers && (input.answers.get(name) ?? []);
	const positionOf = sequence && ((step: number) => positionAfter(sequence, golden.inputs, step));
	const context = { spec, precision, basePrecision, relativeL2, labels, answers, positionOf };
	const checked = checkOutput({ name, expected, got, base }, context);
	if (base === undefined || checked.compared === 0 || hasNewFailure(checked.checks)) return checked;
	const growth = errorGrowthChecks(checked.checks, name, { expected, got, base }, growthRule(input));
	return { ...checked, checks: [...checked.checks, ...growth] };
}

function otherModel({ manifest, modelSha256 }: CaseInput): string {
	const short = (sha256: string) => `${sha256.slice(0, 7)}…`;
	return `The golden was recorded from a different model (${short(manifest.model.sha256)}, this one is ${short(modelSha256)})`;
}

function messageOf(state: GoldenState, input: CaseInput, modelChanged: boolean): string | undefined {
	if (state === "error") return "Nothing was compared: every output of the case is empty.";
	if (!modelChanged) return undefined;
	if (state === "match") return `${otherModel(input)}; the outputs still match it.`;
	if (state === "existing")
		return `${otherModel(input)}, and the outputs of head and base differ from it: record the golden again.`;
	return `${otherModel(input)}: fix the change, or record the golden again.`;
}

type GrowthRule = ReturnType<typeof growthRule>;

export function growthRule({
	manifest,
	precision,
	basePrecision = precision,
	errorGrowth: { warn, fail } = defaultGates.errorGrowth,
}: Pick<CaseInput, "manifest" | "precision" | "basePrecision" | "errorGrowth">) {
	const most = manifest.policy?.mostErrorGrowth;
	const hasOtherBase = basePrecision !== precision;
	const limits: Threshold = { warn: most ?? warn };
	// A lower precision explains any growth; its own limits decide.
	if (!hasOtherBase && fail !== undefined) limits.fail = Math.max(fail, most ?? 0);
	return { precision, manifest, limits, hasOtherBase };
}

interface Growth {
	label: string;
	noise: number;
	/**
	 * Error that the precision explains; by default the noise. A builder may leave layers in fp32, so that the base's error lies below
	 * it: growth up to here is another choice of kernels, which warns and never fails.
	 */
	rounding?: number;
	errorOf?: (value: GoldenCheck["base"]) => number;
}

const relativeL2 = "relative-l2";

/** Of each relative L2 that the golden asks for, else of the whole output's, and of what head and base both fail. */
function errorGrowthChecks(
	checks: readonly GoldenCheck[],
	name: string,
	{ expected, got, base }: { expected: Tensor; got: Tensor; base: Tensor },
	rule: GrowthRule,
): GoldenCheck[] {
	const ofExisting = existingGrowthChecks(checks, rule);
	if (!isFloating(expected.dtype)) return ofExisting;
	const about = { output: name, elements: elementCount(expected.shape) };
	let asked: Partial<GoldenCheck>[] = checks.filter(({ metric }) => metric === relativeL2);
	if (asked.length === 0)
		asked = [{ got: distance(expected, got)?.relativeL2, base: distance(expected, base)?.relativeL2 }];
	const { manifest, precision } = rule;
	const { noiseFloor, rounding } = manifest;
	const grown = asked.flatMap((check) => {
		const { slice } = check;
		const measured = noiseOfPart(own(noiseFloor?.outputs, name), slice)?.relativeL2 ?? 0;
		const noise = Math.max(leastErrorFloor, measured);
		const emulated = emulatedRounding(rounding, { output: name, slice, precision });
		const explained = Math.max(noise, emulated ?? usualRoundings[precision]);
		const growth = { label: `relative L2${ofSlice(slice)}`, noise, rounding: explained };
		return growthCheck({ ...check, ...about }, growth, rule);
	});
	return [...grown, ...ofExisting];
}

function finite(value: GoldenCheck["base"]): number {
	return typeof value === "number" && Number.isFinite(value) ? value : NaN;
}

/** What the base fails too still fails the head if its error is far larger. */
export function existingGrowthChecks(checks: readonly GoldenCheck[], rule: GrowthRule): GoldenCheck[] {
	const labels: Readonly<Record<string, string>> = metricLabels;
	return checks.flatMap((check) => {
		const { existing = false, metric, bound, allowed } = check;
		if (!existing || metric === relativeL2 || allowed === null) return [];
		const errorOf = (value: GoldenCheck["base"]) => (bound === "at-most" ? finite(value) : 1 - finite(value));
		const floor = errorOf(allowed);
		if (floor < 0) return [];
		const name = own(labels, metric) ?? metric;
		const label = bound === "at-most" ? name : `loss of ${name}`;
		return growthCheck(check, { label, noise: floor, errorOf }, rule);
	});
}

const boxGrowths: Readonly<Record<string, Growth>> = {
	"box-score": { label: "largest score difference", noise: 1e-4 },
	"box-iou": { label: "largest loss of overlap", noise: 1e-3, errorOf: (iou) => 1 - finite(iou) },
};

/** Only warns, because the worst box of a picture scatters more than a norm over an output; the first that grew. */
function boxGrowthChecks(checks: readonly GoldenCheck[], rule: GrowthRule): GoldenCheck[] {
	const warning = { ...rule, limits: { warn: rule.limits.warn } };
	const grown = checks.flatMap((check) => {
		const growth = own(boxGrowths, check.metric);
		return growth === undefined || check.existing === true ? [] : growthCheck(check, growth, warning);
	});
	return [...grown, ...existingGrowthChecks(checks, rule)].slice(0, 1);
}

interface MeasuredGrowth {
	growth: number;
	/** Beyond what the precision explains. */
	certain: number;
	/** The error as a multiple of what the precision explains. */
	times: number;
}

/** Which limit holds: `within what fp16 explains: warns`. */
function limitText(
	{ growth, certain, times }: MeasuredGrowth,
	{ allowed, fail }: { allowed: number; fail: number | undefined },
	precision: string,
): string {
	if (fail === undefined) return `above ${formatTimes(allowed)}: warns`;
	if (growth <= fail) return `above ${formatTimes(allowed)}: warns, and fails above ${formatTimes(fail)}`;
	if (certain === growth) return `above ${formatTimes(fail)}: fails`;
	if (times <= 1) return `within what ${precision} explains: warns`;
	const explained = `${formatTimes(times)} what ${precision} explains`;
	return certain > fail
		? `and is ${explained}: fails`
		: `but is ${explained}: warns, and fails above ${formatTimes(fail)} that`;
}

function growthCheck(
	check: Pick<GoldenCheck, "output" | "elements"> & Partial<GoldenCheck>,
	{ label, noise, rounding = noise, errorOf = finite }: Growth,
	{ limits, precision, hasOtherBase }: GrowthRule,
): GoldenCheck[] {
	const { output, slice, elements, existing } = check;
	const [now, before] = [errorOf(check.got), errorOf(check.base)];
	const { warn, fail } = limits;
	const certain = now / Math.max(before, rounding);
	const growth = hasOtherBase ? certain : now / Math.max(before, noise);
	const fails = fail !== undefined && certain > fail;
	const allowed = fails ? fail : warn;
	if (!(now > noise) || allowed === undefined || !(growth > allowed)) return [];
	const from = before > noise ? twoDigits(before) : `noise (${twoDigits(before)})`;
	const within = existing ? "" : ", still within the limits of the golden";
	return [
		{
			output,
			slice,
			metric: "error-growth",
			got: toNumeric(growth),
			allowed,
			bound: "at-most",
			pass: false,
			severity: fails ? "fail" : "warn",
			elements,
			detail: `the ${precision} error grew ${formatTimes(growth)}, ${limitText({ growth, certain, times: now / rounding }, { allowed, fail }, precision)}; its ${label} went from ${from} in the base to ${twoDigits(now)}${within}`,
		},
	];
}
