// Runs the reference on the cases of a new golden.
import { ConfigError, ToolError } from "../../core/errors.ts";
import { isQuantised, type OnnxModel } from "../../core/onnx/model.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { counted } from "../../core/text/labels.ts";
import type { ReferenceVariant } from "../../ports/reference.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import type { RecordedCase } from "../core/manifest/draft.ts";
import { measuredCases, type RunOutputs } from "../core/record/noise-floor.ts";
import { formatVariant } from "./record-noise.ts";
import type { RecordPorts } from "./record-sensitivity.ts";

export type CaseToRecord = Omit<RecordedCase, "outputs">;

export interface Answers {
	variant: ReferenceVariant;
	version: string;
	cases: RecordedCase[];
	outputs: RunOutputs;
	notes: string[];
}

interface ReferenceInput {
	model: ModelOnDisk;
	cases: readonly CaseToRecord[];
	scratchFolder: string;
	timeoutMs: number;
}

/**
 * Rewrites only constants, so that the graph runs as it is written. Quantised layers are computed in integers, as every engine
 * does, from the level on that all builds share.
 */
export function referenceLevel(model: OnnxModel): ReferenceVariant["level"] {
	return isQuantised(model.graph) ? "extended" : "basic";
}

/** @throws ToolError if the reference does not run, ConfigError golden-uninformative if it gives no answer. */
export async function makeReference(
	input: ReferenceInput,
	ports: Omit<RecordPorts, "clock">,
): Promise<Answers> {
	const [build] = await ports.reference.builds();
	if (build === undefined)
		throw new ToolError({ code: "tool-missing", message: "There is no ONNX Runtime to record with." });
	const variant: ReferenceVariant = {
		flavour: build.flavour,
		level: referenceLevel(input.model.onnx),
		threads: 1,
	};
	ports.progress.stage("reference", 1);
	ports.progress.item(formatVariant(variant));
	const result = await ports.reference.run({
		...input,
		variant,
		logPath: `${input.scratchFolder}/reference.log`,
	});
	if (result.state === "failed") throw new ToolError({ ...result.failure });
	const cases = input.cases.map((wanted, index) => {
		const inferred = result.cases[index];
		if (inferred?.state === "done") return { ...wanted, outputs: inferred.outputs };
		throw unanswered(wanted.id, inferred?.message ?? "it has no result");
	});
	ports.progress.done(counted(cases.length, "case"));
	const outputs = cases.map((golden) => golden.outputs);
	return { variant, version: build.version, cases, outputs, notes: [] };
}

const minCases = 2;

export function withoutLarge(answers: Answers, mayDrop: boolean): Answers {
	const { length } = answers.cases;
	const count = Math.max(minCases, measuredCases(answers.outputs));
	if (!mayDrop || count >= length) return answers;
	const note = `Only ${count} of ${length} generated cases were kept, because their outputs are large; --cases ${length} keeps all.`;
	return { ...keepAnswers(answers, [...Array(count).keys()]), notes: [...answers.notes, note] };
}

export function keepAnswers(answers: Answers, indices: readonly number[]): Answers {
	const cases = indices.flatMap((index) => answers.cases[index] ?? []);
	return { ...answers, cases, outputs: cases.map(({ outputs }) => outputs) };
}

function unanswered(id: string, why: string): ConfigError {
	return new ConfigError({
		code: "golden-uninformative",
		message: `ONNX Runtime failed on case ${quoteName(id)}: ${why.replace(/\.$/, "")}.`,
		fix: "Give inputs that the model takes (--inputs, --generator, --dims), or fix the model.",
	});
}
