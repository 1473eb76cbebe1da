// The one error of tensor files: what was expected, what is there, what to do.

import type { DType } from "../../../generated/golden.ts";
import { formatName } from "../../core/config/pointer.ts";
import { ConfigError } from "../../core/errors.ts";
import { formatShape } from "../../core/golden/tensor/tensor.ts";
import { listNames } from "../../core/text/labels.ts";

interface TensorProblem {
	expected: string;
	got: string;
	fix?: string;
}

const recordAgain = "Restore the file as it was recorded, or record the golden again.";

export function tensorInvalid(path: string, problem: TensorProblem): ConfigError {
	const { expected, got } = problem;
	return new ConfigError({
		code: "tensor-invalid",
		message: `Tensor file ${formatPath(path)}: expected ${expected}, got ${got}.`,
		location: { path },
		fix: problem.fix ?? recordAgain,
	});
}

/** A path bare where it is plain, in quotes where it could do harm. */
function formatPath(path: string): string {
	return /^[\w./@+ -]+$/.test(path) ? path : formatName(path);
}

const namesShown = 8;

export function memberMissing(path: string, member: string, present: readonly string[]): ConfigError {
	const names = present.map((name) => formatName(name));
	return tensorInvalid(path, {
		expected: `a tensor named ${formatName(member)}`,
		got: listNames(names, namesShown) || "none",
		fix: 'Add "member" to the manifest.',
	});
}

export function formatLayout(file: { dtype: DType | string; shape: readonly number[] }): string {
	return `${file.dtype} ${formatShape(file.shape)}`;
}
