// The sizes that an engine is timed or built at, beside the sizes of its golden's cases.

import type { DimRange } from "../../../core/config/config.ts";
import type { GivenShapes } from "../../../core/onnx/input-shapes/open-axes.ts";
import { feeds, type OnnxModel } from "../../../core/onnx/model.ts";
import type { EngineSpec } from "../../../core/plan/plan.ts";
import { listNames } from "../../../core/text/labels.ts";
import type { InputAxes } from "../probes/subject.ts";
import { own } from "../tensor/tensor.ts";

export type NamedSizes = Readonly<Record<string, number>>;
type Ranges = Readonly<Record<string, Pick<DimRange, "min" | "max">>>;

/** By the names of the config, which come before the model's. An input of unknown rank has no axes. */
export function inputAxes({ graph }: OnnxModel, inputs: GivenShapes): InputAxes[] {
	return feeds(graph).map(({ name, dims }) => {
		const given = own(inputs, name);
		return { name, axes: given?.pinned ?? given?.shape ?? dims ?? [] };
	});
}

export function sizesOf(
	inputs: readonly InputAxes[],
	tensors: Readonly<Record<string, { shape: readonly number[] }>>,
): NamedSizes {
	const named = inputs.flatMap(({ name, axes }) =>
		axes.flatMap((axis, at): [string, number][] => {
			const size = own(tensors, name)?.shape[at];
			return typeof axis === "string" && size !== undefined ? [[axis, size]] : [];
		}),
	);
	return Object.fromEntries(named);
}

export function exactly(sizes: NamedSizes): Ranges {
	return Object.fromEntries(Object.entries(sizes).map(([name, size]) => [name, { min: size, max: size }]));
}

export function areWithin(sizes: NamedSizes, ranges: Ranges): boolean {
	return Object.entries(ranges).every(([name, { min, max }]) => {
		const size = own(sizes, name) ?? min;
		return size >= min && size <= max;
	});
}

/** Each timed size that no case has, and each profile that none lies in; null if all are checked. */
export function describeUnchecked(spec: EngineSpec, checked: readonly NamedSizes[]): string | null {
	const { workloads, profiles } = spec.engine;
	const wanted: Ranges[] = [...workloads.map(({ dims }) => exactly(dims)), ...profiles];
	const missing = wanted.filter((ranges) => !checked.some((sizes) => areWithin(sizes, ranges)));
	if (missing.length === 0) return null;
	const show = (all: readonly Ranges[]) => {
		const texts = all.map((ranges) =>
			Object.entries(ranges)
				.filter(([name]) => own(checked[0] ?? {}, name) !== undefined)
				.map(([name, { min, max }]) => `${name} ${min === max ? min : `${min}…${max}`}`)
				.join(" × "),
		);
		return listNames([...new Set(texts)], 3);
	};
	return `${spec.id} (timed or built at ${show(missing)}; checked at ${show(checked.map(exactly))} only)`;
}
