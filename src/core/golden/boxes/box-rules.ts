// The rules of detections that no schema can say: outputs that every case has, of shapes that go together.
import { childPointer, formatName } from "../../config/pointer.ts";
import type { BoxComparatorKind, BoxComparatorSpec, Detections, GoldenCase, GoldenManifest } from "../../schema/golden.ts";
import type { ManifestProblem } from "../manifest/schema-errors.ts";
import { boxSetKinds } from "../whole-set/kinds.ts";

export function findBadDetections({ detections, cases }: GoldenManifest): ManifestProblem | null {
	const names = new Set<string>();
	for (const [index, spec] of (detections ?? []).entries()) {
		const pointer = `/detections/${index}`;
		if (names.has(spec.name)) return { pointer: `${pointer}/name`, expected: "a name of its own", got: formatName(spec.name) };
		names.add(spec.name);
		const problem = groupProblem(spec, cases) ?? limitsProblem(spec);
		if (problem !== null) return { ...problem, pointer: `${pointer}${problem.pointer}` };
	}
	return null;
}

function groupProblem(spec: Detections, cases: readonly GoldenCase[]): ManifestProblem | null {
	if (spec.classes !== undefined && spec.scores === undefined) {
		return {
			pointer: "/classes",
			expected: "no classes where boxes hold score and class",
			got: formatName(spec.classes),
			fix: 'Add "scores", or remove "classes".',
		};
	}
	for (const key of ["boxes", "scores", "classes", "count"] as const) {
		const name = spec[key];
		const without = name === undefined ? undefined : cases.find((golden) => !Object.hasOwn(golden.outputs, name));
		if (without !== undefined)
			return { pointer: `/${key}`, expected: `an output of case ${formatName(without.id)}`, got: formatName(name ?? "") };
	}
	const columns = spec.scores === undefined ? 6 : 4;
	const shape = cases
		.map((golden) => golden.outputs[spec.boxes]?.shape ?? [])
		.find((sizes) => sizes.length < 2 || sizes.at(-1) !== columns);
	return shape === undefined
		? null
		: { pointer: "/boxes", expected: `an output of [images, boxes, ${columns}]`, got: `[${shape.join(", ")}]` };
}

const shares: ReadonlySet<BoxComparatorKind> = new Set(["box-f1", "box-iou", "map"]);

function limitsProblem({ comparators }: Detections): ManifestProblem | null {
	for (const [index, spec] of (comparators ?? []).entries()) {
		const problem = scopeProblem(spec) ?? limitProblem(spec);
		if (problem !== null) return { ...problem, pointer: childPointer("/comparators", String(index)) + problem.pointer };
	}
	return null;
}

function scopeProblem({ kind, scope }: BoxComparatorSpec): ManifestProblem | null {
	if (scope !== "set" || boxSetKinds.includes(kind)) return null;
	const fix = `Remove the key; the worst case decides. Over the set go ${boxSetKinds.join(", ")}.`;
	return { pointer: "/scope", expected: `whole for ${kind}`, got: "set", fix };
}

function limitProblem({ kind, tolerance }: BoxComparatorSpec): ManifestProblem | null {
	const limits = typeof tolerance === "number" ? [tolerance] : Object.values(tolerance ?? {});
	if (!shares.has(kind)) return null;
	const bad = limits.find((limit) => limit > 1 || limit === 0);
	return bad === undefined ? null : { pointer: "/tolerance", expected: "a limit above 0 and up to 1", got: String(bad) };
}
