// Which artifacts of a run are parts, by their names alone.
import { expect, it } from "vitest";
import { pickArtifacts } from "../../../src/core/merge/parts.ts";

const expected = [
	{ name: "l4", artifact: "trtgate-l4" },
	{ name: "h200", artifact: "trtgate-h200" },
];

function picked(names: readonly string[]): string[] {
	const artifacts = names.map((name, id) => ({ id, name }));
	return pickArtifacts(artifacts, expected).map(
		({ name, artifact }) => `${name} ← ${artifact.name}#${artifact.id}`,
	);
}

it.each([
	[
		"takes those that the plan names",
		["trtgate-l4", "trtgate-other", "trtgate-h200"],
		["l4 ← trtgate-l4#0", "h200 ← trtgate-h200#2"],
	],
	[
		"takes the latest try of a part",
		["trtgate-l4", "trtgate-l4-attempt2", "trtgate-l4-attempt3"],
		["l4 ← trtgate-l4-attempt3#2"],
	],
	["takes the later of the same name", ["trtgate-l4", "trtgate-l4"], ["l4 ← trtgate-l4#1"]],
	[
		"keeps two of one try, for the merge to refuse",
		["trtgate-l4", "trtgate-l4-attempt1"],
		["l4 ← trtgate-l4#0", "l4 ← trtgate-l4-attempt1#1"],
	],
	[
		"keeps two of a later try",
		["trtgate-l4", "trtgate-l4-attempt2", "trtgate-l4-attempt2-2"],
		["l4 ← trtgate-l4-attempt2#1", "l4 ← trtgate-l4-attempt2-2#2"],
	],
] as const)("pickArtifacts %s", (_, names, wanted) => {
	expect(picked(names)).toEqual(wanted);
});
