// Entry of compare/: judges one golden case. The only place where outputs become a verdict.

import type { Detections, GoldenCase, GoldenManifest, Precision } from "../../../../generated/golden.ts";
import type { GoldenCheck, GoldenState, GoldenVerdict } from "../../../../generated/result.ts";
import type { Threshold } from "../../config/config.ts";
import { defaultGates } from "../../config/defaults.ts";
import { BugError } from "../../errors.ts";
import { type BoxSides, checkBoxes } from "../boxes/check-boxes.ts";
import { type Tensor, type TensorSet, tensorMap } from "../tensor/tensor.ts";
import { boxGrowthChecks, errorGrowthChecks, type GrowthRule, growthLimits } from "./base-error.ts";
import { checkOutput, type OutputChecks } from "./check-output.ts";
import { extraCheck, markExisting, mismatchState, missingCheck } from "./checks.ts";
import type { CommandAnswer } from "./custom.ts";

/** A golden case run on an engine. */
export interface CaseRef {
	manifest: GoldenManifest;
	caseId: string;
	/** The case of that id, where it is loaded: a set may have thousands. */
	golden?: GoldenCase;
	model: string;
	engine: string;
	precision: Precision;
	/** Hash of the golden's model in the head. */
	modelSha256: string;
}

export interface CaseInput extends CaseRef {
	/** The golden's outputs. */
	expected: TensorSet;
	/** The engine's. */
	got: TensorSet;
	/** The base engine's, if any: the report shows its error, and limits apply to how far the head's error grows beyond it. */
	base?: TensorSet;
	/** The base engine's precision, where it is another one: its error is judged by its own limits, and may grow to the head's. */
	basePrecision?: Precision | undefined;
	/** The base's own golden has another case of this name or none, so that a failure of its engine excuses nothing. */
	isNewCase?: boolean | undefined;
	/** The config's limits, for outputs whose golden names no comparator. */
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
	/** The config's limits on how many times the base's error the head's may be; the defaults where they are left out. */
	errorGrowth?: Threshold;
	/** Results of the commands that comparators name, by output; absent: no commands run. */
	answers?: ReadonlyMap<string, readonly CommandAnswer[]>;
}

/** `match` only if something was compared and every check that may fail the case passes. */
export function judgeCase(input: CaseInput): GoldenVerdict {
	const { manifest } = input;
	const golden = input.golden ?? manifest.cases.find((candidate) => candidate.id === input.caseId);
	if (golden === undefined)
		throw new BugError({
			code: "internal",
			message: `Golden ${manifest.goldenId} has no case ${input.caseId}.`,
		});
	const about = aboutCase(input);
	const { modelChanged } = about;
	const policy = manifest.policy?.onModelChange ?? "compare";
	if (modelChanged && policy !== "compare") {
		return {
			...about,
			state: "stale",
			severity: policy,
			message: `${otherModel(input)}; its policy forbids a comparison: record it again.`,
			checks: [],
		};
	}
	const { checks: all, compared } = checkOutputs(input, golden);
	const checks = input.isNewCase === true ? all.map(({ existing: _, ...check }): GoldenCheck => check) : all;
	const state = mismatchState(checks) ?? (compared > 0 ? "match" : "error");
	const message =
		messageOf(state, input, modelChanged) ??
		(checks.length === 0 ? "Its outputs are judged over the whole set only." : undefined);
	return { ...about, state, message, checks };
}

/** The verdict on a case without engine output: never a match. */
export function judgeUnanswered(ref: CaseRef, message: string): GoldenVerdict {
	return { ...aboutCase(ref), state: "error", message, checks: [] };
}

function aboutCase(ref: CaseRef) {
	return {
		model: ref.model,
		engine: ref.engine,
		precision: ref.precision,
		case: ref.caseId,
		golden: ref.manifest.goldenId,
		modelChanged: ref.manifest.model.sha256 !== ref.modelSha256,
	};
}

function checkOutputs(input: CaseInput, golden: GoldenCase): OutputChecks {
	const expected = tensorMap(input.expected);
	const got = tensorMap(input.got);
	const base = input.base === undefined ? undefined : tensorMap(input.base);
	const wanted = Object.keys(golden.outputs);
	const all = wanted.map((name) =>
		checkNamed(name, input, { expected: expected.get(name), got, base, golden }),
	);
	const boxes = checkDetections(input, golden, { expected, got, base });
	const extra = [...got.keys()]
		.filter((name) => !Object.hasOwn(golden.outputs, name))
		.map((name) => markExisting(extraCheck(name), base?.has(name) === true));
	return {
		checks: [...[...all, ...boxes].flatMap((output) => output.checks), ...extra],
		compared: [...all, ...boxes].reduce((sum, output) => sum + output.compared, 0),
	};
}

/** A group with a missing output is reported by that output alone. */
function checkDetections(input: CaseInput, golden: GoldenCase, sides: BoxSides): OutputChecks[] {
	const groups = (input.manifest.detections ?? []).filter((spec) =>
		outputsOf(spec).every((name) => Object.hasOwn(golden.outputs, name) && sides.got.has(name)),
	);
	return groups.map((spec) => {
		const checked = checkBoxes(spec, sides, input.precision);
		if (hasNewFailure(checked.checks)) return checked;
		return { ...checked, checks: [...checked.checks, ...boxGrowthChecks(checked.checks, growthRule(input))] };
	});
}

export function outputsOf({ boxes, scores, classes, count }: Detections): string[] {
	return [boxes, scores, classes, count].filter((name) => name !== undefined);
}

interface NamedSides {
	expected: Tensor | undefined;
	got: ReadonlyMap<string, Tensor>;
	base: ReadonlyMap<string, Tensor> | undefined;
	golden: GoldenCase;
}

/** Growth says nothing more of an output that fails where the base passes. */
function hasNewFailure(checks: readonly GoldenCheck[]): boolean {
	return checks.some(({ pass, existing }) => !pass && existing !== true);
}

function growthRule({
	manifest,
	precision,
	basePrecision = precision,
	errorGrowth = defaultGates.errorGrowth,
}: CaseInput): GrowthRule {
	const { noiseFloor, rounding, policy } = manifest;
	const { fail, ...warning } = growthLimits(errorGrowth, policy?.mostErrorGrowth);
	const hasOtherBase = basePrecision !== precision;
	// A lower precision explains growth of any size; its own limits decide.
	return {
		precision,
		noiseFloor,
		rounding,
		hasOtherBase,
		limits: hasOtherBase || fail === undefined ? warning : { ...warning, fail },
	};
}

function checkNamed(name: string, input: CaseInput, sides: NamedSides): OutputChecks {
	const { expected } = sides;
	const base = sides.base?.get(name);
	if (expected === undefined) {
		throw new BugError({
			code: "internal",
			message: `Output ${name} of golden case ${input.caseId} was not read.`,
		});
	}
	const got = sides.got.get(name);
	if (got === undefined) {
		const alsoMissing = sides.base !== undefined && base === undefined;
		return { checks: [markExisting(missingCheck(name, [...sides.got.keys()]), alsoMissing)], compared: 0 };
	}
	const { outputs, detections } = input.manifest;
	const spec = Object.hasOwn(outputs, name) ? outputs[name] : undefined;
	// Boxes come in any order and number: element by element only where comparators ask for it.
	const grouped = detections?.some((group) => outputsOf(group).includes(name)) === true;
	if (grouped && spec?.comparators === undefined) return { checks: [], compared: 0 };
	const labels = Object.hasOwn(sides.golden.labels ?? {}, name) ? sides.golden.labels?.[name] : undefined;
	const checked = checkOutput(
		{ name, expected, got, base },
		{
			spec,
			precision: input.precision,
			basePrecision: input.basePrecision,
			relativeL2: input.relativeL2,
			labels,
			answers: input.answers && (input.answers.get(name) ?? []),
		},
	);
	if (base === undefined || checked.compared === 0 || hasNewFailure(checked.checks)) return checked;
	const growth = errorGrowthChecks(checked.checks, { name, expected, got, base }, growthRule(input));
	return { ...checked, checks: [...checked.checks, ...growth] };
}

const hashShown = 7;

function otherModel(input: CaseInput): string {
	const short = (sha256: string): string => `${sha256.slice(0, hashShown)}…`;
	return `The golden was recorded from a different model (${short(input.manifest.model.sha256)}, this one is ${short(input.modelSha256)})`;
}

function messageOf(state: GoldenState, input: CaseInput, modelChanged: boolean): string | undefined {
	if (state === "error") return "Nothing was compared: every output of the case is empty.";
	if (!modelChanged) return undefined;
	if (state === "match") return `${otherModel(input)}; the outputs still match it.`;
	if (state === "existing")
		return `${otherModel(input)}, and the outputs of head and base differ from it: record the golden again.`;
	return `${otherModel(input)}: fix the change, or record the golden again.`;
}
