// Judges the files of external data beside the model.
import type { Finding } from "../../schema/result.ts";
import { formatBytes } from "../../text/units.ts";
import type { FindingCode } from "../finding-codes.ts";
import type { ExternalFile } from "../model.ts";
import { quoteName } from "../quote.ts";
import { finding, type Rule } from "./subject.ts";

interface Judgement {
	code: FindingCode;
	what(file: ExternalFile): string;
	fix: string;
}

const relativeFix = "Save the model with its data beside it: onnx.save(model, path, save_as_external_data=True, location='weights.bin').";
const judgements: Readonly<Record<NonNullable<ExternalFile["problem"]>, Judgement>> = {
	missing: {
		code: "external-data-missing",
		what: (file) => `is not there (the model needs ${formatBytes(file.neededBytes)} of it)`,
		fix: "Put the file into the model's folder: it belongs to the model and must be checked in, cached or uploaded with it.",
	},
	short: {
		code: "external-data-short",
		what: (file) => `is too short: the model's tensors reach to byte ${file.neededBytes}`,
		fix: "Copy or export the file again together with its model; the two may come from different exports.",
	},
	outside: { code: "external-data-outside", what: () => "lies outside of the model's folder, where ONNX forbids it", fix: relativeFix },
	absolute: { code: "external-data-outside", what: () => "is an absolute path, which ONNX forbids", fix: relativeFix },
	"lfs-pointer": {
		code: "external-data-lfs-pointer",
		what: () => "is a Git LFS pointer, not the weights",
		fix: "Run `git lfs pull`; in a workflow, check out with `lfs: true` (actions/checkout).",
	},
};

export const externalData: Rule = ({ model }) =>
	model.external.flatMap((file): Finding[] => {
		if (file.problem === null) return [];
		const { code, what, fix } = judgements[file.problem];
		return [finding(code, { severity: "error", message: `External data ${quoteName(file.location)} ${what(file)}.`, fix })];
	});
