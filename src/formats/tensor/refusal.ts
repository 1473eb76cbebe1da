// The only error of tensor files: what was expected, what was found, and what to do.
import type { TensorFile } from "../../../generated/golden.ts";
import { ConfigError } from "../../core/errors.ts";
import { formatName } from "../../core/found.ts";
import { listNames } from "../../core/text/labels.ts";
import { formatShape } from "../../golden/core/tensor/tensor.ts";

const writeAgain = "Restore the file, or write it anew; if a golden recorded it, record the golden again.";

type Place = Pick<TensorFile, "path">;

export function tensorInvalid({ path }: Place, expected: string, got: string, fix = writeAgain): ConfigError {
	// Harmful paths are quoted.
	const shown = /^[\w./@+ -]+$/.test(path) ? path : formatName(path);
	const message = `Tensor file ${shown}: expected ${expected}, got ${got}.`;
	return new ConfigError({ code: "tensor-invalid", message, location: { path }, fix });
}

export type MemberFile = Place & { member: string };

export function memberMissing(file: MemberFile, present: readonly string[]): ConfigError {
	const names = listNames(present.map(formatName), 8) || "none";
	const expected = `a tensor named ${formatName(file.member)}`;
	return tensorInvalid(file, expected, names, 'Save it under this name; in a manifest, "member" names it.');
}

interface Layout {
	dtype: string;
	shape: readonly number[];
}

export function formatLayout({ dtype, shape }: Layout): string {
	return `${dtype} ${formatShape(shape)}`;
}

/** @throws ConfigError tensor-invalid unless a file's own layout is the manifest's. */
export function checkLayout(own: Layout, file: TensorFile): void {
	const same =
		own.shape.length === file.shape.length && own.shape.every((size, axis) => size === file.shape[axis]);
	if (own.dtype !== file.dtype || !same) throw tensorInvalid(file, formatLayout(file), formatLayout(own));
}
