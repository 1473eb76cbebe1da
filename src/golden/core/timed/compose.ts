// Composes a batch of a timed size from the rows of smaller golden cases, and the outputs that it must give.

import type { GoldenCase, GoldenManifest, GoldenOutput, TensorFile } from "../../../../generated/golden.ts";
import type { GoldenVerdict } from "../../../../generated/result.ts";
import { groupBy } from "../../../core/group.ts";
import type { OnnxModel } from "../../../core/onnx/model.ts";
import type { EngineSpec } from "../../../core/plan/plan.ts";
import { present } from "../../../core/text/labels.ts";
import { composeBatch, join, maxCaseBytes, type Tensors, upTo } from "../probes/context.ts";
import { findBatch } from "../probes/subject.ts";
import { isPacked } from "../tensor/small-numbers.ts";
import { own, type Tensor, tensorBytes } from "../tensor/tensor.ts";
import { areWithin, exactly, inputAxes, type NamedSizes, sizesOf } from "./sizes.ts";

type Axes = ReadonlyMap<string, number>;

export interface ComposedBatch {
	/** `rows of case-0…case-3 × 2 at batch 8`. */
	id: string;
	batch: number;
	sizes: NamedSizes;
	cases: readonly GoldenCase[];
	/** Of each case. */
	rows: number;
	inputs: Axes;
	/** Of outputs that have rows. */
	outputs: Axes;
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
	const isCut = ([name, { dtype }]: [string, TensorFile]) => axes.has(name) && isPacked(dtype);
	if (Object.entries(manifest.cases[0].inputs).some(isCut)) return [];
	const sized = manifest.cases.map((golden) => ({ golden, sizes: sizesOf(inputs, golden.inputs) }));
	const groups = [...groupBy(sized, ({ golden }) => likeness(golden, axes)).values()];
	return [...groupBy(workloads, (workload) => workload.dims[dim] ?? 0)].flatMap(([batch, [workload]]) => {
		if (sized.some(({ sizes }) => sizes[dim] === batch)) return [];
		const usable = groups.flatMap(([first, ...others]) => {
			const rows = first?.sizes[dim] ?? 0;
			const sizes = { ...first?.sizes, [dim]: batch };
			const fits = rows > 0 && rows < batch && profiles.some((profile) => areWithin(sizes, profile));
			return fits && first
				? [{ rows, sizes, cases: [first.golden, ...others.map(({ golden }) => golden)] }]
				: [];
		});
		const chosen = usable.find(({ sizes }) => areWithin(sizes, exactly(workload?.dims ?? {}))) ?? usable[0];
		const [first] = chosen?.cases ?? [];
		if (chosen === undefined || first === undefined) return [];
		const { rows, sizes } = chosen;
		const outputs = outputAxes(chosen, { dim, onnx, manifest });
		const files = [...Object.values(first.inputs), ...Object.values(first.outputs)];
		const bytes = files.reduce((sum, file) => sum + tensorBytes(file), 0) * (batch / rows);
		const cases = chosen.cases.slice(0, Math.ceil(batch / rows));
		const times = Math.ceil(batch / rows / cases.length);
		const names = cases.length === 1 ? first.id : `${first.id}…${cases.at(-1)?.id}`;
		const id = `rows of ${names}${times > 1 ? ` × ${times}` : ""} at batch ${batch}`;
		return outputs.size > 0 && bytes <= maxCaseBytes
			? [{ id, batch, sizes, cases, rows, inputs: axes, outputs }]
			: [];
	});
}

/** The same for cases that differ only in the values of their rows. */
function likeness({ inputs, outputs }: GoldenCase, axes: Axes): string {
	const ofInput = ([name, { shape, sha256 }]: [string, GoldenCase["inputs"][string]]) =>
		axes.has(name) ? [name, shape] : [name, shape, sha256];
	const entries = Object.entries(inputs).sort(([one], [two]) => (one < two ? -1 : 1));
	return JSON.stringify([entries.map(ofInput), Object.values(outputs).map(({ shape }) => shape)]);
}

/** Without outputs whose other sizes may depend on the values, as a batch pads them. */
function outputAxes(
	{ cases, rows, sizes }: Pick<ComposedBatch, "cases" | "rows" | "sizes">,
	{ dim, onnx, manifest }: { dim: string; onnx: OnnxModel; manifest: GoldenManifest },
): Axes {
	const axes = new Map<string, number>();
	for (const [name, { shape, dtype }] of Object.entries(cases[0]?.outputs ?? {})) {
		const declared = onnx.graph.outputs.find((value) => value.name === name)?.dims ?? null;
		const named = declared?.indexOf(dim) ?? -1;
		const axis = named < 0 ? (own(manifest.outputs, name)?.batchAxis ?? -1) : named;
		const isFixed = declared?.every(
			(size) => typeof size === "number" || own(sizes, size ?? "") !== undefined,
		);
		const isLabelled = cases.some(({ labels = {} }) => own(labels, name) !== undefined);
		if (shape[axis] === rows && !isLabelled && !isPacked(dtype) && (isFixed === true || cases.length > 1))
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
			axis === undefined ? tensor : join([tensor, ...others.flatMap((one) => one[name] ?? [])], axis),
		];
	});
	const [[name = "", axis = 0] = []] = axes;
	const tensors = Object.fromEntries(joined);
	return composeBatch({ rows: own(tensors, name)?.shape[axis] ?? 1, tensors, axes }, upTo(batch));
}

export function withRows<Value>({ outputs }: ComposedBatch, all: Readonly<Record<string, Value>>) {
	return Object.fromEntries(Object.entries(all).filter(([name]) => outputs.has(name)));
}

/** The batch as one case, each of whose rows has to keep the limits. */
export function composedCase(composed: ComposedBatch, manifest: GoldenManifest) {
	const { id, rows, cases, outputs } = composed;
	const specs = [...outputs].map(([name, axis]): [string, GoldenOutput] => {
		const output = own(manifest.outputs, name) ?? {};
		// A case of one row is judged by its row already.
		return [name, rows === 1 ? { batchAxis: axis, ...output } : output];
	});
	return {
		golden: { id, inputs: {}, outputs: withRows(composed, cases[0]?.outputs ?? {}) },
		manifest: { ...manifest, outputs: Object.fromEntries(specs) },
	};
}

const hint =
	"If the rows of this model depend on each other, record a case of this size: `trtgate golden record --sizes config`.";

/** null if nothing was compared. */
export function describeComposed(verdict: GoldenVerdict): GoldenVerdict | null {
	const { state, checks, message } = verdict;
	if (state !== "error" && checks.length === 0) return null;
	const isWrong = state === "mismatch" || state === "error";
	return { ...verdict, scope: "batch", message: isWrong ? present([message, hint]).join(" ") : message };
}
