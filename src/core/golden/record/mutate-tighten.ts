// Tightens proposed limits so that they detect changed weights, and describes what given limits miss.
import { quoteName } from "../../onnx/quote.ts";
import type { ComparatorSpec, GoldenManifest, GoldenOutput } from "../../schema/golden.ts";
import { boxFix, limitBetween, noticingBoxes } from "./mutate-boxes.ts";
import type { MutationFinding } from "./mutate-judge.ts";
import { referencePrecision } from "./noise-floor.ts";

/** The limit that detects an element-wise change; null: no limit does so safely. */
export function noticingLimit({ change, floor }: Pick<MutationFinding, "change" | "floor">): number | null {
	return limitBetween(change, floor);
}

/** Whether some limit detects the change safely. */
export function canBeNoticed(finding: MutationFinding): boolean {
	if (finding.boxes === undefined) return noticingLimit(finding) !== null;
	const { score, iou } = noticingBoxes(finding.boxes);
	return score !== null || iou !== null;
}

/** The outputs with limits low enough to detect every change that can be detected safely. */
export function tightenOutputs(manifest: GoldenManifest, findings: readonly MutationFinding[]): GoldenManifest["outputs"] {
	const outputs = { ...manifest.outputs };
	for (const finding of findings) {
		// Boxes come in any order: no limit of their elements follows from how far these moved.
		const limit = finding.state === "unnoticed" && finding.boxes === undefined ? noticingLimit(finding) : null;
		if (limit === null || finding.output === null) continue;
		const output = Object.hasOwn(outputs, finding.output) ? outputs[finding.output] : undefined;
		outputs[finding.output] = tightenOutput(output ?? {}, limit);
	}
	return outputs;
}

function tightenOutput(output: GoldenOutput, limit: number): GoldenOutput {
	const [first, ...others] = (output.comparators ?? [{ kind: "relative-l2" }]).map((spec) => tightenSpec(spec, limit));
	return first === undefined ? output : { ...output, comparators: [first, ...others] };
}

function tightenSpec(spec: ComparatorSpec, limit: number): ComparatorSpec {
	const tolerances = typeof spec.tolerance === "object" ? spec.tolerance : {};
	// Integers of which some may differ: in fp32 none need to.
	if (spec.kind === "allclose" || spec.kind === "pixel-disagreement")
		return { ...spec, tolerance: { ...tolerances, [referencePrecision]: 0 } };
	if (spec.kind !== "relative-l2") return spec;
	return { ...spec, tolerance: { ...tolerances, [referencePrecision]: Math.min(tolerances[referencePrecision] ?? limit, limit) } };
}

/** Describes a change that the golden's given limits miss. */
export function describeUnnoticed(finding: MutationFinding, manifest: GoldenManifest, relative: number): { message: string; fix: string } {
	const { tensor, output, change, floor } = finding;
	const times = floor > 0 ? `, ${figure(change / floor)} times the noise floor` : "";
	const where = `output ${quoteName(output ?? "")} of case ${quoteName(finding.case ?? "")}`;
	const message = `a change of ${figure(relative * 100)} % in weight ${quoteName(tensor)} moves ${where} by ${figure(change)} (relative L2)${times}, and no case detects it`;
	return { message, fix: fixOf(finding, manifest) };
}

function fixOf(finding: MutationFinding, manifest: GoldenManifest): string {
	const limit = noticingLimit(finding);
	if (finding.boxes !== undefined) return boxFix(finding.boxes);
	if (limit === null) return "Add cases that depend more on this weight; the effect on the present cases is too close to the noise.";
	const output = finding.output === null || !Object.hasOwn(manifest.outputs, finding.output) ? undefined : manifest.outputs[finding.output];
	const spec = output?.comparators?.find(({ kind }) => kind === "relative-l2");
	const allowed = typeof spec?.tolerance === "object" ? spec.tolerance[referencePrecision] : spec?.tolerance;
	const lets = allowed === undefined ? "the default of relative-l2" : `relative-l2 of ${allowed}`;
	return `At fp32 ${lets} lets it through: set \`{ "kind": "relative-l2", "tolerance": { "fp32": ${limit} } }\` for the output, or add cases that depend more on this weight.`;
}

function figure(value: number): string {
	return String(Number(value.toPrecision(2)));
}

type Limited = Pick<ComparatorSpec, "tolerance"> & { kind: string };

interface Tightened {
	/** Output, or group of detections. */
	output: string;
	sentence: string;
}

export function describeTightened(before: GoldenManifest, after: GoldenManifest): Tightened[] {
	const outputs = Object.entries(after.outputs).flatMap(([name, { comparators }]) =>
		changedLimits(Object.hasOwn(before.outputs, name) ? before.outputs[name]?.comparators : undefined, comparators, name),
	);
	const groups = (after.detections ?? []).flatMap(({ name, comparators }) =>
		changedLimits(before.detections?.find((group) => group.name === name)?.comparators, comparators, name),
	);
	return [...outputs, ...groups];
}

function changedLimits(before: readonly Limited[] | undefined, after: readonly Limited[] | undefined, output: string): Tightened[] {
	return (after ?? []).flatMap((spec, index) => {
		const [was, is] = [fp32LimitOf(before?.[index]), fp32LimitOf(spec)];
		if (is === undefined || is === was) return [];
		return [
			{
				output,
				sentence: `${spec.kind} at fp32 is ${is}${was === undefined ? "" : ` instead of ${was}`}, so that every weight change of 1 % is detected.`,
			},
		];
	});
}

function fp32LimitOf(spec: Limited | undefined): number | undefined {
	return typeof spec?.tolerance === "object" ? spec.tolerance[referencePrecision] : spec?.tolerance;
}
