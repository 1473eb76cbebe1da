// Builds a manifest from recorded cases, and checks whether it differs from an earlier one.

import type { GoldenCase, GoldenManifest, Preprocess, TensorFile } from "../../../../generated/golden.ts";
import { folderName } from "../../config/identity.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { tensorStatistics } from "../tensor/values.ts";

export interface RecordedCase {
	id: string;
	tags?: readonly string[];
	labels?: NonNullable<GoldenCase["labels"]>;
	inputs: Readonly<Record<string, Tensor>>;
	outputs: Readonly<Record<string, Tensor>>;
	/** Inputs that are stored as their original pictures. */
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

export interface TensorPacker {
	ending: string;
	pack(tensor: Tensor): { bytes: Uint8Array; sha256: string };
}

/** The next revision has a folder of its own, so that the old one stays whole until the manifest is replaced. */
export function revisionFolder(revision: number): string {
	return `r${revision}`;
}

export function nextRevision(
	existing: GoldenManifest | null,
	name: string,
): { goldenId: string; revision: number } {
	const [known = name, number = "0"] = existing === null ? [name, "0"] : existing.goldenId.split("@");
	const revision = Number(number) + 1;
	return { goldenId: `${known}@${revision}`, revision };
}

const inputPrefix = "in-";

export function packCase(
	recorded: RecordedCase,
	folder: string,
	packer: TensorPacker,
): { golden: GoldenCase; files: TensorToWrite[] } {
	const files: TensorToWrite[] = [];
	const side = (tensors: Readonly<Record<string, Tensor>>, prefix: string): Record<string, TensorFile> =>
		Object.fromEntries(
			Object.entries(tensors).map(([name, tensor]): [string, TensorFile] => {
				const pictures = prefix === inputPrefix ? (recorded.pictures ?? {}) : {};
				const picture = Object.hasOwn(pictures, name) ? pictures[name] : undefined;
				const { bytes, sha256 } = picture ?? packer.pack(tensor);
				const ending = picture?.ending ?? packer.ending;
				const path = `${folder}/${folderName(recorded.id)}/${prefix}${folderName(name)}.${ending}`;
				files.push({ path, bytes });
				const image = picture && {
					format: "image" as const,
					preprocess: picture.preprocess,
					tensorSha256: picture.tensorSha256,
				};
				const layout = { dtype: tensor.dtype, shape: [...tensor.shape], stats: tensorStatistics(tensor) };
				return [name, { path, sha256, ...image, ...layout }];
			}),
		);
	const golden = {
		id: recorded.id,
		tags: recorded.tags === undefined ? undefined : [...recorded.tags],
		inputs: side(recorded.inputs, inputPrefix),
		outputs: side(recorded.outputs, "out-"),
		labels: recorded.labels,
	};
	return { golden, files };
}

/** Whether an engine would be judged just as before: same model, inputs, outputs and limits. */
export function isEquivalentGolden(left: GoldenManifest, right: GoldenManifest): boolean {
	return JSON.stringify(essence(left)) === JSON.stringify(essence(right));
}

function essence({ model, outputs, detections, cases, policy }: GoldenManifest): unknown {
	const hashes = (files: GoldenCase["inputs"]): unknown =>
		Object.entries(files).map(([name, { sha256, dtype, shape, tensorSha256 }]) => [
			name,
			sha256,
			dtype,
			shape,
			tensorSha256 ?? null,
		]);
	return [
		model.sha256,
		outputs,
		detections ?? null,
		policy ?? null,
		cases.map(({ id, inputs, outputs: of }) => [id, hashes(inputs), hashes(of)]),
	];
}
