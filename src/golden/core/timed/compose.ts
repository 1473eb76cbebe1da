// Composes a batch of a timed size from the rows of smaller golden cases, and the outputs that it must give.
import type { GoldenCase, GoldenManifest, GoldenOutput } from "../../../../generated/golden.ts";
import type { DimRange } from "../../../core/config/config.ts";
import { groupBy } from "../../../core/group.ts";
import type { GivenShapes } from "../../../core/onnx/input-shapes/open-axes.ts";
import { feeds, type OnnxModel } from "../../../core/onnx/model.ts";
import { factsOf, inferShapes } from "../../../core/onnx/static-shapes/infer.ts";
import type { EngineSpec } from "../../../core/plan/plan.ts";
import { listNames } from "../../../core/text/labels.ts";
import { composeBatch, maxCaseBytes, upTo } from "../probes/context.ts";
import { findBatch, type InputAxes } from "../probes/subject.ts";
import { isPacked } from "../tensor/small-numbers.ts";
import { joinTensors, own, type Tensor, type Tensors, tensorBytes } from "../tensor/tensor.ts";

type Axes = ReadonlyMap<string, number>;

export interface ComposedBatch {
	batch: number;
	sizes: NamedSizes;
	cases: readonly GoldenCase[];
	axes: { inputs: Axes; outputs: Axes };
	golden: GoldenCase;
	outputs: GoldenManifest["outputs"];
}

interface Group {
	cases: readonly [GoldenCase, ...GoldenCase[]];
	rows: number;
	sizes: NamedSizes;
}

/** One for each timed batch that no case has and smaller cases can fill. */
export function composeBatches(
	{ spec, onnx }: { spec: EngineSpec; onnx: OnnxModel },
	manifest: GoldenManifest,
): ComposedBatch[] {
	const { dims, workloads, profiles } = spec.engine;
	const inputs = inputAxes(onnx, spec.model.inputs);
	const found = findBatch({ inputs }, dims);
	if (typeof found === "string" || found.dim === null) return [];
	const { dim, axes } = found;
	const sized = manifest.cases.map((golden) => ({ golden, sizes: sizesOf(inputs, golden.inputs) }));
	const groups = [...groupBy(sized, ({ golden }) => likeness(golden, axes)).values()];
	return [...groupBy(workloads, (workload) => workload.dims[dim] ?? 0)].flatMap(([batch, [workload]]) => {
		if (sized.some(({ sizes }) => sizes[dim] === batch)) return [];
		const usable = groups.flatMap(([first, ...others]): Group[] => {
			const rows = first?.sizes[dim] ?? 0;
			const sizes = { ...first?.sizes, [dim]: batch };
			const fits = rows > 0 && rows < batch && profiles.some((profile) => areWithin(sizes, profile));
			return first && fits
				? [{ rows, sizes, cases: [first.golden, ...others.map(({ golden }) => golden)] }]
				: [];
		});
		const chosen = usable.find(({ sizes }) => areWithin(sizes, exactly(workload?.dims ?? {}))) ?? usable[0];
		if (chosen === undefined) return [];
		const outputs = outputAxes(chosen, { dim, batch, inputs: axes }, onnx);
		return outputs === null ? [] : compose(batch, chosen, { axes: { inputs: axes, outputs }, manifest });
	});
}

function compose(
	batch: number,
	{ cases: all, rows, sizes }: Group,
	{ axes, manifest }: Pick<ComposedBatch, "axes"> & { manifest: GoldenManifest },
): ComposedBatch[] {
	const cases = all.slice(0, Math.ceil(batch / rows));
	const [first] = all;
	const files = [...Object.values(first.inputs), ...Object.values(first.outputs)];
	const bytes = files.reduce((sum, file) => sum + tensorBytes(file), 0) * (batch / rows);
	if (bytes > maxCaseBytes || files.some(({ dtype }) => isPacked(dtype))) return [];
	const times = Math.ceil(batch / rows / cases.length);
	const names = cases.length === 1 ? first.id : `${first.id}…${cases.at(-1)?.id}`;
	const id = `rows of ${names}${times > 1 ? ` × ${times}` : ""} at batch ${batch}`;
	const labels = Object.entries(first.labels ?? {}).map(([name, { length }]) => {
		const known = cases.flatMap((one) => own(one.labels, name) ?? []);
		return [name, Array.from({ length: (length / rows) * batch }, (_, at) => known[at % known.length])];
	});
	const outputs = [...axes.outputs].map(([name, axis]): [string, GoldenOutput] => {
		const { comparators, ...output } = own(manifest.outputs, name) ?? {};
		// Commands know only the golden's own cases. A case of one row is judged by its row already.
		const metrics = comparators?.filter(({ kind }) => kind !== "custom") as typeof comparators;
		return [name, { ...(rows === 1 && { batchAxis: axis }), ...output, comparators: metrics }];
	});
	const golden: GoldenCase = {
		id,
		inputs: first.inputs,
		outputs: first.outputs,
		labels: Object.fromEntries(labels),
	};
	return [{ batch, sizes, cases, axes, golden, outputs: Object.fromEntries(outputs) }];
}

function likeness({ inputs, outputs }: GoldenCase, axes: Axes) {
	const ofInput = ([name, { shape, sha256 }]: [string, GoldenCase["inputs"][string]]) =>
		axes.has(name) ? [name, shape] : [name, shape, sha256];
	const entries = Object.entries(inputs).sort(([one], [two]) => (one < two ? -1 : 1));
	return JSON.stringify([entries.map(ofInput), Object.values(outputs).map(({ shape }) => shape)]);
}

/** null if an output has no rows, or other sizes that may depend on the values, as a batch pads them. */
function outputAxes(
	{ cases, rows, sizes }: Group,
	{ dim, batch, inputs }: { dim: string; batch: number; inputs: Axes },
	onnx: OnnxModel,
) {
	const axes = new Map<string, number>();
	const { graph, constants, types } = factsOf(onnx);
	const filled = Object.entries(cases[0].inputs).map(([name, { shape }]): [string, number[]] => {
		const axis = inputs.get(name);
		return [name, axis === undefined ? shape : shape.with(axis, batch)];
	});
	const start = { shapes: new Map(filled), values: new Map() };
	const { shapes } = inferShapes(onnx, graph, { constants, types, start });
	for (const [name, { shape }] of Object.entries(cases[0].outputs)) {
		const declared = onnx.graph.outputs.find((value) => value.name === name)?.dims ?? [];
		// Exporters give the rows of an output a name of their own.
		const inferred = shapes.get(name) ?? [];
		const isRows = (axis: number) => String(shape.with(axis, batch)) === String(inferred);
		const found = upTo(shape.length).find(isRows);
		const axis = found ?? declared.indexOf(dim);
		const isFixed =
			found !== undefined ||
			declared.every((size) => typeof size === "number" || own(sizes, size ?? "") !== undefined);
		if (shape[axis] !== rows || !(isFixed || cases.length > 1)) return null;
		axes.set(name, axis);
	}
	return axes;
}

/** @param stored tensors of the composed cases, in order; those without an axis are the first's. */
export function fillBatch(batch: number, axes: Axes, stored: readonly Tensors[]): Record<string, Tensor> {
	const [first = {}, ...others] = stored;
	const joined = Object.entries(first).map(([name, tensor]): [string, Tensor] => {
		const axis = axes.get(name);
		return [
			name,
			axis === undefined ? tensor : joinTensors([tensor, ...others.flatMap((one) => one[name] ?? [])], axis),
		];
	});
	const [[name = "", axis = 0] = []] = axes;
	const tensors = Object.fromEntries(joined);
	return composeBatch({ rows: own(tensors, name)?.shape[axis] ?? 1, tensors, axes }, upTo(batch));
}

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
