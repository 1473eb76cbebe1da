// Errors of a recording that is refused: what is wrong with the outputs, and which inputs were drawn.
import type { GoldenManifest, TensorFile } from "../../../generated/golden.ts";
import { ConfigError } from "../../core/errors.ts";
import { quoteName } from "../../core/text/escape.ts";
import { describeDrawn } from "../core/record/generators/defaults.ts";
import { elementCount } from "../core/tensor/tensor.ts";
import type { Recorded } from "../stages/record.ts";
import type { RecordInputs } from "./record-inputs.ts";

export function refusal(findings: Recorded["findings"], found: RecordInputs): Error {
	const errors = findings.map(({ kind, message, fix }) => {
		const error = new ConfigError({
			code: "golden-uninformative",
			message: `Not recorded: ${message}.`,
			fix,
		});
		return kind === "unnoticed" || kind === "unseen" ? error : namingDrawn(error, found);
	});
	const [first, second] = errors;
	return first !== undefined && second === undefined
		? first
		: new AggregateError(errors, "the golden would detect too little");
}

/** Outputs may be worthless because of values that were drawn for a setting. */
export function namingDrawn<Thrown>(error: Thrown, { how, cases }: RecordInputs): Thrown | ConfigError {
	const drawn = describeDrawn(how, cases[0]?.inputs ?? {});
	if (!(error instanceof ConfigError) || error.code !== "golden-uninformative" || drawn === null)
		return error;
	const message = `${error.message.replace(/\.$/, "")}; ${drawn.what}.`;
	return new ConfigError({
		code: error.code,
		message,
		fix: [drawn.fix, error.fix].filter(Boolean).join(" "),
	});
}

export function refuseEmpty({ cases }: GoldenManifest) {
	const isEmpty = ({ shape }: TensorFile) => elementCount(shape) === 0;
	const empty = cases.find(({ outputs }) => Object.values(outputs).every(isEmpty));
	if (empty === undefined) return;
	throw new ConfigError({
		code: "golden-uninformative",
		message: `Not recorded: every output of case ${quoteName(empty.id)} is empty, so nothing could be compared.`,
		fix: "Leave this case out, or give inputs on which the model finds something.",
	});
}
