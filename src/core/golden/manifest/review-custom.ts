// Compares which commands two revisions of a golden call, and with which limits.
import type { GoldenOutput, Precision } from "../../schema/golden.ts";
import type { ToleranceChange } from "../../schema/result.ts";
import { toleranceAt } from "../compare/comparators.ts";
import { type CustomSpec, customSpecs } from "../compare/custom.ts";

/** Commands are paired by name; where one decides alone and then has a limit, or the other way round, a person looks. */
export function customChanges(output: string, precision: Precision, sides: readonly (GoldenOutput | undefined)[]): ToleranceChange[] {
	const [before = [], after = []] = sides.map((side) => customSpecs(side));
	const names = new Set([...before, ...after].map(({ name }) => name));
	return [...names].flatMap((name) => {
		const [was, is] = [before, after].map((specs) => specs.find((spec) => spec.name === name));
		const place = { output, kind: `custom ${name}` };
		if (was !== undefined && is !== undefined) return [...limitChange(place, precision, [was, is]), ...severityChange(place, [was, is])];
		const there = is !== undefined;
		return [{ ...place, what: "comparator", base: there ? "absent" : "present", head: there ? "present" : "absent", looser: !there }];
	});
}

type Place = Pick<ToleranceChange, "output" | "kind">;

function limitChange(place: Place, precision: Precision, specs: readonly [CustomSpec, CustomSpec]): ToleranceChange[] {
	const [base, head] = specs.map((spec) => toleranceAt(spec.tolerance, precision) ?? null);
	if (base === undefined || head === undefined || base === head) return [];
	return [{ ...place, what: precision, base, head, looser: base === null || head === null || head > base }];
}

function severityChange(place: Place, [was, is]: readonly [CustomSpec, CustomSpec]): ToleranceChange[] {
	const [base, head] = [was.severity ?? "fail", is.severity ?? "fail"];
	return base === head ? [] : [{ ...place, what: "severity", base, head, looser: head === "warn" }];
}
