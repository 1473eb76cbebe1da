// Says which proposed limits the weight test drew tighter.
import type { ComparatorSpec, GoldenManifest } from "../../schema/golden.ts";
import { referencePrecision } from "./noise-floor.ts";

type Limited = Pick<ComparatorSpec, "tolerance"> & { kind: string };

export interface Tightened {
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
		const [was, is] = [limitOf(before?.[index]), limitOf(spec)];
		if (is === undefined || is === was) return [];
		return [
			{
				output,
				sentence: `${spec.kind} at fp32 is ${is}${was === undefined ? "" : ` and not ${was}`}, so that every 1 % wrong weight is noticed.`,
			},
		];
	});
}

function limitOf(spec: Limited | undefined): number | undefined {
	return typeof spec?.tolerance === "object" ? spec.tolerance[referencePrecision] : spec?.tolerance;
}
