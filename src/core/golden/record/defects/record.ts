// What the trial found: by precision and kind of defect, how many move an output, how many of those the golden notices, and in words.
import type {
	GoldenManifest,
	Precision,
	SensitivityMiss,
	SensitivityRecord,
} from "../../../../../generated/golden.ts";
import { quoteName } from "../../../onnx/quote.ts";
import { counted, listNames } from "../../../text/labels.ts";
import type { DefectVerdict } from "./judge.ts";
import { type OutputDefectKind, outputDefects, type TriedOutput } from "./outputs.ts";
import { type WeightDefectKind, weightDefects } from "./weights.ts";

export interface TriedDefect {
	kind: WeightDefectKind;
	weight: string;
	/** Whether the tensor had no defect before. */
	first: boolean;
	/** null: the tensor holds zeros only, so that nothing was tried. */
	verdict: DefectVerdict | null;
}

const mostListed = 1000;

export function emptyRecord(
	about: Pick<SensitivityRecord, "seed" | "planned" | "tensors">,
): SensitivityRecord {
	return { state: "untested", ...about, tested: 0, precisions: {} };
}

export function withOutputDefects(
	record: SensitivityRecord,
	tried: readonly TriedOutput[],
): SensitivityRecord {
	const stays = (kind: string): boolean => !tried.some((one) => one.kind === kind);
	const precisions = Object.fromEntries(
		Object.entries(record.precisions).map(([precision, { kinds, missed }]) => [
			precision,
			{
				kinds: Object.fromEntries(Object.entries(kinds).filter(([kind]) => stays(kind))),
				missed: missed.filter(({ kind }) => stays(kind)),
			},
		]),
	);
	return tried.reduce((sum, { kind, output, verdict }) => withVerdict(sum, verdict, { kind, output }), {
		...record,
		precisions,
	});
}

export function withWeightDefects(
	record: SensitivityRecord,
	tried: readonly TriedDefect[],
): SensitivityRecord {
	let sum = { ...record, tested: record.tested + tried.length };
	for (const { kind, weight, first, verdict } of tried) {
		if (verdict === null) continue;
		sum = withVerdict(sum, verdict, { kind, weight });
		// A tensor stays among the unseen until one of its defects moves an output.
		const unseen = sum.unseen ?? [];
		const moves = Object.values(verdict.states).some((state) => state !== "unmoved");
		if (moves && unseen.includes(weight)) sum.unseen = unseen.filter((name) => name !== weight);
		if (!moves && first && unseen.length < mostListed) sum.unseen = [...unseen, weight];
	}
	return sum;
}

function withVerdict(
	record: SensitivityRecord,
	{ states, change }: DefectVerdict,
	defect: { kind: WeightDefectKind | OutputDefectKind; weight?: string; output?: string },
): SensitivityRecord {
	const precisions = { ...record.precisions };
	for (const [name, state] of Object.entries(states)) {
		const { kinds, missed } = precisions[name as Precision] ?? { kinds: {}, missed: [] };
		const { tried, moving, noticed } = kinds[defect.kind] ?? { tried: 0, moving: 0, noticed: 0 };
		const count = {
			tried: tried + 1,
			moving: moving + (state === "unmoved" ? 0 : 1),
			noticed: noticed + (state === "noticed" ? 1 : 0),
		};
		const miss = { ...defect, ...(Number.isFinite(change) ? { change } : {}) };
		precisions[name as Precision] = {
			kinds: { ...kinds, [defect.kind]: count },
			missed: state === "missed" && missed.length < mostListed ? [...missed, miss] : missed,
		};
	}
	return { ...record, precisions };
}

/** Smallest share of the defects that move an output which a golden has to notice, by precision. */
export type LeastShares = Readonly<Partial<Record<Precision, number>>>;

export const defaultLeastShares: LeastShares = { fp32: 1, fp16: 0.95 };

type Kinds = [string, { tried: number; moving: number; noticed: number }][];

/** `from`: weight tensors, rows and channels that are at least this wrong are all noticed; null: not even zeroed ones. */
export function sharesAt({ precisions }: SensitivityRecord, precision: Precision) {
	const kinds: Kinds = Object.entries(precisions[precision]?.kinds ?? {});
	const weights = kinds.filter(([kind]) => Object.hasOwn(weightDefects, kind));
	const sizeOf = ([kind]: Kinds[number]): number => weightDefects[kind as WeightDefectKind].size;
	const missed = weights.filter(([, { moving, noticed }]) => noticed < moving).map(sizeOf);
	const noticed = weights.map(sizeOf).filter((size) => size > Math.max(0, ...missed));
	return {
		weights: total(weights),
		outputs: total(kinds.filter(([kind]) => Object.hasOwn(outputDefects, kind))),
		from: noticed.length === 0 ? null : Math.min(...noticed),
	};
}

function total(kinds: Kinds) {
	const sum = { tried: 0, moving: 0, noticed: 0 };
	for (const [, count] of kinds)
		for (const key of ["tried", "moving", "noticed"] as const) sum[key] += count[key];
	return sum;
}

export function shortfalls(record: SensitivityRecord, least: LeastShares) {
	return (Object.entries(least) as [Precision, number][]).flatMap(([precision, wanted]) => {
		const { weights, outputs } = sharesAt(record, precision);
		const shares = [weights, outputs].map(({ moving, noticed }) => (moving === 0 ? 1 : noticed / moving));
		const share = Math.min(...shares);
		return share < wanted ? [{ precision, share, least: wanted }] : [];
	});
}

/** What was tried, what is noticed, what is not, and which weights no case was found to depend on. */
export function describeSensitivity(record: SensitivityRecord): string[] {
	const { unseen = [], tensors } = record;
	const counts = (Object.keys(record.precisions) as Precision[]).map((precision) => {
		const { weights, outputs, from } = sharesAt(record, precision);
		const moving = weights.moving + outputs.moving;
		const noticed = weights.noticed + outputs.noticed;
		return { precision, moving, noticed, from: weights.moving === 0 ? null : from };
	});
	const whole = counts.filter(({ moving, noticed }) => moving > 0 && noticed === moving);
	const sentences = describeState(record);
	if (whole.length > 0)
		sentences.push(
			`It notices all defects, of weights and of outputs, that move an output beyond rounding: ${whole.map(({ moving, precision }) => `${moving} at ${precision}`).join(", ")}.`,
		);
	const none = counts.filter(({ moving }) => moving === 0);
	if (none.length > 0)
		sentences.push(
			`No tried defect moves an output beyond rounding at ${none.map(({ precision }) => precision).join(", ")}: what it notices there is unknown.`,
		);
	for (const { precision, moving, noticed, from } of counts) {
		if (noticed === moving) continue;
		const sizes =
			from === null ? "" : `, and any tensor, row or channel that is wrong by ${100 * from} % or more`;
		sentences.push(
			`At ${precision} it notices ${noticed} of ${moving} defects that move an output beyond rounding${sizes}; not: ${namedMisses(record, precision)}.`,
		);
	}
	if (unseen.length > 0)
		sentences.push(
			`No tried defect of ${unseen.length} of ${counted(tensors, "weight tensor")} moves an output: ${listNames(unseen.map((name) => quoteName(name)))}.`,
		);
	return sentences;
}

function describeState({ state, tested, planned, tensors }: SensitivityRecord): string[] {
	if (tensors === 0) return [];
	if (state === "untested") return ["Defects of the weights were not tested yet."];
	if (state === "unfinished")
		return [`The test of its sensitivity is unfinished: ${tested} of ${planned} weight defects were tried.`];
	const [of, drawn] = tested < planned ? [` of ${planned}`, ", drawn over all layers"] : ["", ""];
	return [`${tested}${of} defects of ${counted(tensors, "weight tensor")} were tried${drawn}.`];
}

const mostNamed = 3;

export function namedMisses({ precisions }: SensitivityRecord, precision: Precision): string {
	const missed = [...(precisions[precision]?.missed ?? [])].sort(
		(left, right) => (right.change ?? 0) - (left.change ?? 0),
	);
	const more = missed.length > mostNamed ? [`${missed.length - mostNamed} more`] : [];
	return [...missed.slice(0, mostNamed).map(describeMiss), ...more].join("; ");
}

function describeMiss({ kind, weight, output, change }: SensitivityMiss): string {
	const all: Readonly<Record<string, { label: string }>> = { ...weightDefects, ...outputDefects };
	const label = Object.hasOwn(all, kind) ? all[kind]?.label : kind;
	if (weight === undefined) return `output ${quoteName(output ?? "")} ${label}`;
	const moves = change === undefined ? "" : ` (an output moves by ${Number(change.toPrecision(2))})`;
	return `${quoteName(weight)} ${label}${moves}`;
}

/** null: the trial came to an end, or the golden was not recorded with one. */
export function unfinishedNote({ goldenId, producer, sensitivity }: GoldenManifest): string | null {
	if (sensitivity?.state !== "untested" && sensitivity?.state !== "unfinished") return null;
	const command = producer.command === undefined ? "the command that recorded it" : `\`${producer.command}\``;
	return `Golden ${goldenId} was not tested completely, so it is unknown which defects it notices. Rerun ${command}.`;
}
