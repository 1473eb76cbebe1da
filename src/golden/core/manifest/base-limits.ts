// Judges a change by the limits of the base's golden.
import type { GoldenCase, GoldenManifest } from "../../../../generated/golden.ts";
import { outputsOf } from "../compare/judge.ts";

/** Puts the head's cases under the base's limits; outputs that only the head has keep their own. */
export function underLimitsOf(base: GoldenManifest, head: GoldenManifest): GoldenManifest {
	const known = new Set(namedOutputs(base));
	const outputs = [...new Set(namedOutputs(head))].flatMap((name) => {
		const own = known.has(name) ? base.outputs : head.outputs;
		const output = Object.hasOwn(own, name) ? own[name] : undefined;
		return output === undefined ? [] : [[name, output] as const];
	});
	const ownGroups = (head.detections ?? []).filter(
		(group) => !outputsOf(group).some((name) => known.has(name)),
	);
	const [first, ...others] = [...(base.detections ?? []), ...ownGroups];
	const { noiseFloor, rounding } = base.model.sha256 === head.model.sha256 ? base : head;
	const { detections: _, noiseFloor: __, rounding: ___, policy: ____, ...rest } = head;
	return {
		...rest,
		noiseFloor,
		rounding,
		outputs: Object.fromEntries(outputs),
		detections: first === undefined ? undefined : [first, ...others],
		policy: base.policy,
	};
}

function namedOutputs({ outputs, cases }: GoldenManifest): string[] {
	return [...Object.keys(outputs), ...cases.flatMap((golden) => Object.keys(golden.outputs))];
}

export function isSameCase(golden: GoldenCase, base: GoldenManifest | undefined): boolean {
	const files = (side: GoldenCase["inputs"]): string[] =>
		Object.entries(side).map(([name, { path: _, stats: __, ...content }]) => JSON.stringify([name, content]));
	const contents = ({ inputs, outputs, labels = {} }: GoldenCase): string =>
		JSON.stringify([
			files(inputs).sort(),
			files(outputs).sort(),
			Object.entries(labels)
				.map((entry) => JSON.stringify(entry))
				.sort(),
		]);
	const own = base?.cases.find(({ id }) => id === golden.id);
	return own !== undefined && contents(own) === contents(golden);
}
