// Entry of compare/: judges one golden case.
import type { Detections, GoldenCase, GoldenManifest, Precision } from "../../../../generated/golden.ts";
import type { GoldenCheck, GoldenState, GoldenVerdict } from "../../../../generated/result.ts";
import type { Threshold } from "../../../core/config/config.ts";
import { BugError } from "../../../core/errors.ts";
import { quoteName } from "../../../core/text/escape.ts";
import { listNames } from "../../../core/text/labels.ts";
import { checkBoxes } from "../boxes/check-boxes.ts";
import { positionAfter } from "../sequence/sequence.ts";
import { own, type Tensors } from "../tensor/tensor.ts";
import { type CommandAnswer, checkOutput } from "./check-output.ts";
import { markExisting, mismatchState, structuralCheck } from "./checks.ts";
import { boxGrowthChecks, errorGrowthChecks, growthRule } from "./growth.ts";

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
	expected: Tensors;
	got: Tensors;
	base?: Tensors;
	basePrecision?: Precision;
	isNewCase?: boolean;
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
	const checks = input.isNewCase === true ? all.map(({ existing: _, ...check }) => check) : all;
	const state = mismatchState(checks) ?? (compared > 0 ? "match" : "error");
	const ofSet = checks.length === 0 ? "Its outputs are judged over the whole set only." : undefined;
	return { ...about, state, message: messageOf(state, input, about.modelChanged) ?? ofSet, checks };
}

function bug(message: string) {
	return new BugError({ code: "internal", message });
}

export function judgeUnanswered(ref: CaseRef, message: string): GoldenVerdict {
	return { ...aboutCase(ref), state: "error", message, checks: [] };
}

export function aboutCase({ model, engine, precision, caseId, manifest, modelSha256 }: CaseRef) {
	const modelChanged = manifest.model.sha256 !== modelSha256;
	return { model, engine, precision, case: caseId, golden: manifest.goldenId, modelChanged };
}

function checkOutputs(input: CaseInput, golden: GoldenCase) {
	const { got, base } = input;
	const all = Object.keys(golden.outputs).map((name) => checkNamed(name, input, golden));
	const groups = (input.manifest.detections ?? []).filter((spec) =>
		outputsOf(spec).every((name) => Object.hasOwn(golden.outputs, name) && Object.hasOwn(got, name)),
	);
	for (const spec of groups) {
		const { checks, compared } = checkBoxes(spec, input, input.precision);
		const growth = hasNewFailure(checks) ? [] : boxGrowthChecks(checks, growthRule(input));
		all.push({ checks: [...checks, ...growth], compared });
	}
	const noSuchOutput = "the golden has no such output, so it was not compared: record the golden again";
	const extra = Object.keys(got)
		.filter((name) => !Object.hasOwn(golden.outputs, name))
		.map((name) =>
			markExisting(structuralCheck(name, "missing", noSuchOutput), own(base, name) !== undefined),
		);
	return {
		checks: [...all.flatMap(({ checks }) => checks), ...extra],
		compared: all.reduce((sum, { compared }) => sum + compared, 0),
	};
}

export function outputsOf({ boxes, scores, classes, count }: Partial<Detections>): string[] {
	return [boxes, scores, classes, count].filter((name) => name !== undefined);
}

function hasNewFailure(checks: readonly GoldenCheck[]) {
	return checks.some(({ pass, existing }) => !pass && existing !== true);
}

function checkNamed(name: string, input: CaseInput, golden: GoldenCase) {
	const expected = own(input.expected, name);
	const got = own(input.got, name);
	const base = own(input.base, name);
	if (expected === undefined) throw bug(`Output ${name} of golden case ${input.caseId} was not read.`);
	if (got === undefined) {
		const names = Object.keys(input.got).map((present) => quoteName(present));
		const present = `the engine has no such output; it has ${listNames(names, 8)}`;
		const detail = names.length === 0 ? "the engine gave no outputs" : present;
		const isMissingInBase = input.base !== undefined && base === undefined;
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

function otherModel({ manifest, modelSha256 }: CaseInput) {
	const short = (sha256: string) => `${sha256.slice(0, 7)}…`;
	return `The golden was recorded from a different model (${short(manifest.model.sha256)}, this one is ${short(modelSha256)})`;
}

function messageOf(state: GoldenState, input: CaseInput, modelChanged: boolean) {
	if (state === "error") return "Nothing was compared: every output of the case is empty.";
	if (!modelChanged) return undefined;
	if (state === "match") return `${otherModel(input)}; the outputs still match it.`;
	if (state === "existing")
		return `${otherModel(input)}, and the outputs of head and base differ from it: record the golden again.`;
	return `${otherModel(input)}: fix the change, or record the golden again.`;
}
