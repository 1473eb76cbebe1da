// What a golden notices, in sentences.

import type {
	GoldenManifest,
	Precision,
	SensitivityMiss,
	SensitivityRecord,
} from "../../../../../generated/golden.ts";
import { quoteName } from "../../../onnx/quote.ts";
import { counted, listNames } from "../../../text/labels.ts";
import type { OutputDefectKind } from "./outputs.ts";
import { sharesAt } from "./share.ts";
import type { WeightDefectKind } from "./weights.ts";

const defectLabels: Readonly<Record<WeightDefectKind | OutputDefectKind, string>> = {
	"tensor-zero": "zeroed",
	"tensor-scale": "scaled by 1.5",
	"tensor-coarse": "rounded to 3 significant bits",
	"tensor-noise": "changed by 1 %",
	"row-zero": "one row or channel zeroed",
	"row-scale": "one row or channel scaled by 1.5",
	"row-noise": "one row or channel changed by 5 %",
	"rows-permuted": "rows or channels permuted",
	"output-scale-down": "scaled by 0.1",
	"output-scale-up": "scaled by 1.5",
	"output-sign": "with the opposite sign",
	"output-noise": "with 5 % of noise",
	"output-mean": "replaced by its mean",
	"output-zero": "zeroed",
	"channel-zero": "one class or channel zeroed",
	"channels-swapped": "two classes or channels swapped",
	"channels-shuffled": "classes or channels shuffled",
	"half-the-channels-shuffled": "half of the classes or channels shuffled",
	"other-case": "of another case",
};

const mostNamed = 3;

/** What was tried, what is noticed, what is not, and which weights no case was found to depend on. */
export function describeSensitivity(record: SensitivityRecord): string[] {
	const precisions = Object.keys(record.precisions) as Precision[];
	const whole = precisions.filter((precision) => countsAt(record, precision).missed === 0);
	const state = stateLabel(record);
	return [
		...(state === null ? [] : [state]),
		...describeWhole(record, whole),
		...precisions
			.filter((precision) => !whole.includes(precision))
			.map((precision) => describePart(record, precision)),
		...describeUnseen(record),
	];
}

function countsAt(record: SensitivityRecord, precision: Precision): { moving: number; missed: number } {
	const { weights, outputs } = sharesAt(record, precision);
	const moving = weights.moving + outputs.moving;
	return { moving, missed: moving - weights.noticed - outputs.noticed };
}

function stateLabel({ state, tested, planned, tensors }: SensitivityRecord): string | null {
	if (tensors === 0) return null;
	if (state === "untested") return "Defects of the weights were not tested yet.";
	if (state === "unfinished")
		return `The test of its sensitivity is unfinished: ${tested} of ${planned} weight defects were tried.`;
	return `${tested}${tested < planned ? ` of ${planned}` : ""} defects of ${counted(tensors, "weight tensor")} were tried${tested < planned ? ", drawn over all layers" : ""}.`;
}

function describeWhole(record: SensitivityRecord, precisions: readonly Precision[]): string[] {
	const [some, none] = [
		precisions.filter((at) => countsAt(record, at).moving > 0),
		precisions.filter((at) => countsAt(record, at).moving === 0),
	];
	const counts = some.map((precision) => `${countsAt(record, precision).moving} at ${precision}`);
	return [
		...(some.length === 0
			? []
			: [
					`It notices all defects, of weights and of outputs, that move an output beyond rounding: ${counts.join(", ")}.`,
				]),
		...(none.length === 0
			? []
			: [
					`No tried defect moves an output beyond rounding at ${none.join(", ")}: what it notices there is unknown.`,
				]),
	];
}

function describePart(record: SensitivityRecord, precision: Precision): string {
	const { moving, missed } = countsAt(record, precision);
	const { weights, from } = sharesAt(record, precision);
	const sizes =
		from === null || weights.moving === 0
			? ""
			: `, and any tensor, row or channel that is wrong by ${100 * from} % or more`;
	return `At ${precision} it notices ${moving - missed} of ${moving} defects that move an output beyond rounding${sizes}; not: ${namedMisses(record, precision)}.`;
}

export function namedMisses({ precisions }: SensitivityRecord, precision: Precision): string {
	const missed = [...(precisions[precision]?.missed ?? [])].sort(
		(left, right) => (right.change ?? 0) - (left.change ?? 0),
	);
	const named = missed.slice(0, mostNamed).map(describeMiss);
	return [...named, ...(missed.length > mostNamed ? [`${missed.length - mostNamed} more`] : [])].join("; ");
}

function describeMiss({ kind, weight, output, change }: SensitivityMiss): string {
	const subject = weight === undefined ? `output ${quoteName(output ?? "")}` : quoteName(weight);
	const moves =
		weight === undefined || change === undefined
			? ""
			: ` (an output moves by ${Number(change.toPrecision(2))})`;
	const label = Object.hasOwn(defectLabels, kind) ? defectLabels[kind as keyof typeof defectLabels] : kind;
	return `${subject} ${label}${moves}`;
}

function describeUnseen({ unseen = [], tensors }: SensitivityRecord): string[] {
	if (unseen.length === 0) return [];
	const names = unseen.map((name) => quoteName(name));
	return [
		`No tried defect of ${unseen.length} of ${counted(tensors, "weight tensor")} moves an output: ${listNames(names)}.`,
	];
}

/** null: the trial came to an end, or the golden was not recorded with one. */
export function unfinishedNote({ goldenId, producer, sensitivity }: GoldenManifest): string | null {
	if (sensitivity?.state !== "untested" && sensitivity?.state !== "unfinished") return null;
	const command = producer.command === undefined ? "the command that recorded it" : `\`${producer.command}\``;
	return `Golden ${goldenId} was not tested completely, so it is unknown which defects it notices. Rerun ${command}.`;
}
