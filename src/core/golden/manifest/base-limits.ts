// The base's golden beside the head's: its limits hold for a change, and its cases show what the base's engine answers for.
import type { GoldenCase, GoldenManifest } from "../../../../generated/golden.ts";
import { outputsOf } from "../compare/judge.ts";

/** The head's cases under the base's limits: looser ones hold once they are merged. Outputs that only the head has keep their own. */
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

/** Whether the base's golden asks the same of its engine: the same inputs, and the same outputs and labels expected. */
export function isSameCase(golden: GoldenCase, base: GoldenManifest | undefined): boolean {
	const contents = ({ inputs, outputs, labels = {} }: GoldenCase): string =>
		JSON.stringify([
			...[inputs, outputs].map((files) =>
				Object.entries(files)
					.map(([name, { path: _, stats: __, ...content }]) => [name, content] as const)
					.sort(byName),
			),
			Object.entries(labels).sort(byName),
		]);
	const own = base?.cases.find(({ id }) => id === golden.id);
	return own !== undefined && contents(own) === contents(golden);
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
	return one < other ? -1 : 1;
}
