// The lists of a result: what the stages of a run add to, and what a merge joins.
import type { Result } from "../../generated/result.ts";

/** Left out of the result while they are empty. */
export const optionalLists = [
	"interfaceChanges",
	"recipeChanges",
	"graphCosts",
	"goldenChanges",
	"probes",
	"bisections",
	"sweeps",
	"siblings",
	"startUps",
	"memoryGrowths",
	"loads",
	"measuredLoads",
	"together",
] as const satisfies readonly (keyof Result)[];

export const recordLists = [
	"findings",
	"builds",
	"golden",
	"workloads",
	"gates",
	"errors",
	...optionalLists,
] as const satisfies readonly (keyof Result)[];

type OptionalLists = Required<Pick<Result, (typeof optionalLists)[number]>>;

export function filledLists(lists: OptionalLists): Pick<Result, (typeof optionalLists)[number]> {
	return Object.fromEntries(
		optionalLists.map((key) => [key, lists[key].length === 0 ? undefined : lists[key]]),
	);
}
