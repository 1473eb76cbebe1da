// Packs recorded cases for a manifest, compares manifests, and refuses a golden of another model.
import type { GoldenCase, GoldenManifest, Preprocess, TensorFile } from "../../../../generated/golden.ts";
import type { InputConfig } from "../../../core/config/config.ts";
import { folderName } from "../../../core/config/values.ts";
import { ConfigError } from "../../../core/errors.ts";
import { feeds, fromDType, type OnnxModel, type OnnxValue, toDType } from "../../../core/onnx/model.ts";
import { formatDims, quoteName } from "../../../core/text/escape.ts";
import { outputsOf } from "../compare/judge.ts";
import { overSteps, sequenceMisfit } from "../sequence/sequence.ts";
import { formatShape, own, type Tensor, type Tensors } from "../tensor/tensor.ts";
import { tensorStatistics } from "../tensor/values.ts";

export interface RecordedCase {
	id: string;
	tags?: readonly string[];
	labels?: NonNullable<GoldenCase["labels"]>;
	inputs: Tensors;
	outputs: Tensors;
	pictures?: Readonly<Record<string, Picture>>;
}

export interface Picture {
	bytes: Uint8Array;
	sha256: string;
	ending: string;
	preprocess: Preprocess;
	tensorSha256: string;
}

export interface TensorToWrite {
	path: string;
	bytes: Uint8Array;
}

/** As .npy. */
export type PackTensor = (tensor: Tensor) => { bytes: Uint8Array; sha256: string };

export function revisionFolder(revision: number): string {
	return `r${revision}`;
}

export function nextRevision(
	existing: GoldenManifest | null,
	name: string,
): { goldenId: string; revision: number } {
	const [known = name, number = "0"] = existing?.goldenId.split("@") ?? [];
	const revision = Number(number) + 1;
	return { goldenId: `${known}@${revision}`, revision };
}

export function packCase(
	recorded: RecordedCase,
	folder: string,
	pack: PackTensor,
): { golden: GoldenCase; files: TensorToWrite[] } {
	const files: TensorToWrite[] = [];
	const { id, tags, inputs, outputs, labels, pictures = {} } = recorded;
	const fileOf = (name: string, tensor: Tensor, prefix: "in" | "out"): TensorFile => {
		const picture = prefix === "in" ? own(pictures, name) : undefined;
		const { bytes, sha256, ending } = picture ?? { ending: "npy", ...pack(tensor) };
		const path = `${folder}/${folderName(id)}/${prefix}-${folderName(name)}.${ending}`;
		files.push({ path, bytes });
		const { preprocess, tensorSha256 } = picture ?? {};
		const image = picture && { format: "image" as const, preprocess, tensorSha256 };
		const layout = { dtype: tensor.dtype, shape: [...tensor.shape], stats: tensorStatistics(tensor) };
		return { path, sha256, ...image, ...layout };
	};
	const side = (tensors: Tensors, prefix: "in" | "out") =>
		Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, fileOf(name, tensor, prefix)]));
	const golden = {
		id,
		tags: tags && [...tags],
		inputs: side(inputs, "in"),
		outputs: side(outputs, "out"),
		labels,
	};
	return { golden, files };
}

export function isEquivalentGolden(left: GoldenManifest, right: GoldenManifest): boolean {
	return JSON.stringify(essence(left)) === JSON.stringify(essence(right));
}

function essence({ model, outputs, detections, cases, policy, sequence }: GoldenManifest): unknown {
	return [
		model.sha256,
		outputs,
		detections ?? null,
		policy ?? null,
		sequence ?? null,
		cases.map((golden) => [golden.id, contentOf(golden)]),
	];
}

/** All that decides a verdict on the case. */
function contentOf(golden: GoldenCase) {
	return JSON.stringify([filesContent(golden.inputs), filesContent(golden.outputs), labelsContent(golden)]);
}

export function labelsContent({ labels = {} }: GoldenCase): string {
	return JSON.stringify(Object.entries(labels).sort());
}

/** What is read: also which array of a file, and how a picture becomes a tensor. */
export function filesContent(files: GoldenCase["inputs"]): string {
	return JSON.stringify(
		Object.entries(files)
			.map(([name, { path: _, stats: __, ...content }]) =>
				JSON.stringify([name, Object.entries(content).sort()]),
			)
			.sort(),
	);
}

/** Outputs that only the head has keep their own limits. */
export function underLimitsOf(base: GoldenManifest, head: GoldenManifest): GoldenManifest {
	const known = new Set(namedOutputs(base));
	const outputs = [...new Set(namedOutputs(head))].flatMap((name) => {
		const output = own((known.has(name) ? base : head).outputs, name);
		return output === undefined ? [] : [[name, output] as const];
	});
	const ownGroups = (head.detections ?? []).filter(
		(group) => !outputsOf(group).some((name) => known.has(name)),
	);
	const [first, ...others] = [...(base.detections ?? []), ...ownGroups];
	const { noiseFloor, rounding } = base.model.sha256 === head.model.sha256 ? base : head;
	return {
		...head,
		noiseFloor,
		rounding,
		outputs: Object.fromEntries(outputs),
		detections: first === undefined ? undefined : [first, ...others],
		policy: base.policy,
	};
}

function namedOutputs({ outputs, cases }: GoldenManifest) {
	return [...Object.keys(outputs), ...cases.flatMap((golden) => Object.keys(golden.outputs))];
}

export function isSameCase(golden: GoldenCase, base: GoldenManifest | undefined): boolean {
	const own = base?.cases.find(({ id }) => id === golden.id);
	return own !== undefined && contentOf(own) === contentOf(golden);
}

type Side = "input" | "output";

/**
 * Checks names and dtypes on both sides, and ranks and fixed sizes of inputs; the verdict covers shapes of outputs and outputs
 * that only the model has.
 * @param sides inputs: the verdict also covers outputs that do not fit.
 * @throws ConfigError golden-other-model.
 */
export function validateAgainstModel(
	manifest: GoldenManifest,
	file: OnnxModel,
	sides: "inputs" | "both" = "both",
): void {
	const model = overSteps(file, manifest.sequence);
	const misfit =
		sequenceMisfit(manifest, file) ??
		findInputMisfit(manifest, model) ??
		(sides === "both" ? findOutputMisfit(manifest, model) : null);
	if (misfit === null) return;
	throw new ConfigError({
		code: "golden-other-model",
		message: `Golden ${manifest.goldenId} belongs to another model (${quoteName(manifest.model.path)}): ${misfit}.`,
		fix: "Point `golden:` at this model's manifest, or record the golden again.",
	});
}

export function findInputMisfit({ cases }: GoldenManifest, model: OnnxModel): string | null {
	const values = feeds(model.graph);
	for (const { id, inputs } of cases) {
		const where = `case ${quoteName(id)}`;
		const misfit = sideMisfit("input", where, inputs, values);
		if (misfit !== null) return misfit;
		const unfed = values.find(({ name }) => !Object.hasOwn(inputs, name));
		if (unfed) return `the model needs input ${quoteName(unfed.name)}, which ${where} does not have`;
	}
	return null;
}

function findOutputMisfit({ cases }: GoldenManifest, model: OnnxModel) {
	const misfits = cases.map(({ id, outputs }) =>
		sideMisfit("output", `case ${quoteName(id)}`, outputs, model.graph.outputs),
	);
	return misfits.find((misfit) => misfit !== null) ?? null;
}

function sideMisfit(
	side: Side,
	where: string,
	files: Readonly<Record<string, TensorFile>>,
	values: readonly OnnxValue[],
) {
	for (const [name, file] of Object.entries(files)) {
		const value = values.find((candidate) => candidate.name === name);
		if (value === undefined) {
			const names = values.map((candidate) => quoteName(candidate.name)).join(", ");
			return `${where} has ${side} ${quoteName(name)}; the model's ${side}s are ${names || "none"}`;
		}
		const misfit = valueMisfit(file, value, side);
		if (misfit !== null) return `${side} ${quoteName(name)} of ${where} ${misfit}`;
	}
	return null;
}

function valueMisfit({ dtype, shape }: TensorFile, value: OnnxValue, side: Side) {
	if (value.kind !== "tensor") return `is a tensor; the model's is a ${value.kind}`;
	const known = value.dtype !== "undefined" && value.dtype !== "unknown";
	if (known && toDType(value.dtype) !== dtype)
		return `is ${dtype}; the model's is ${toDType(value.dtype) ?? value.dtype}`;
	const { dims } = value;
	// A file may declare its outputs wrongly, even their rank: the run decides.
	if (dims === null || side === "output") return null;
	const fits =
		dims.length === shape.length && dims.every((dim, axis) => typeof dim !== "number" || dim === shape[axis]);
	return fits ? null : `has shape ${formatShape(shape)}; the model's is ${formatDims(dims)}`;
}

/** Sizes that differ between cases are open, unless the config gives the input's shape. */
export function interfaceOf(
	{ cases, sequence }: GoldenManifest,
	configured: Readonly<Record<string, InputConfig>>,
): OnnxModel {
	const valuesOf = (side: "inputs" | "outputs"): OnnxValue[] =>
		Object.entries(cases[0]?.[side] ?? {}).map(([name, { dtype, shape }]) => {
			const given = side === "inputs" ? own(configured, name)?.shape : undefined;
			const shapes = cases.flatMap((one) => own(one[side], name) ?? []).map((file) => file.shape);
			return { name, kind: "tensor", dtype: fromDType(dtype), dims: given ?? commonSizes(shape, shapes) };
		});
	const carried = Object.entries(sequence?.state ?? {}).flatMap(([name, one]) => {
		const { output, dtype, shape, axis, batch } = one;
		if (dtype === undefined || shape === undefined) return [];
		const dims = shape.map((size, at) => (at === axis || at === batch ? null : size));
		return [{ name, output, value: { kind: "tensor", dtype: fromDType(dtype), dims } as const }];
	});
	const open = { ...sequence?.each, ...sequence?.all, ...sequence?.outputs };
	const perStep = (value: OnnxValue): OnnxValue => {
		const dims = value.dims?.map((dim, axis) =>
			axis === own(open, value.name) && typeof dim === "number" ? null : dim,
		);
		return { ...value, dims: dims ?? null };
	};
	const inputs = [
		...valuesOf("inputs").map(perStep),
		...carried.map(({ name, value }) => ({ name, ...value })),
	];
	const outputs = [
		...valuesOf("outputs").map(perStep),
		...carried.map(({ output, value }) => ({ name: output, ...value })),
	];
	return {
		...{ bytes: 0, irVersion: 0, producer: "", producerVersion: "", opsets: {}, functions: [] },
		graph: { name: "", inputs, outputs, nodes: [], initializers: [], valueInfo: [], subgraphs: [] },
	};
}

function commonSizes(first: readonly number[], all: readonly (readonly number[])[]) {
	if (all.some(({ length }) => length !== first.length)) return null;
	return first.map((size, axis) => (all.every((shape) => shape[axis] === size) ? size : null));
}
