// How many defects move an output, how many of these the golden notices, and whether that is enough.
import type {
	GoldenManifest,
	Precision,
	SensitivityMiss,
	SensitivityRecord,
} from "../../../../../generated/golden.ts";
import { quoteName } from "../../../../core/text/escape.ts";
import { counted, listNames } from "../../../../core/text/labels.ts";
import { isFloating, own } from "../../tensor/tensor.ts";
import { type RunOutputs, referencePrecision } from "../noise-floor.ts";
import type { Weakness } from "../sensitivity.ts";
import { type DefectVerdict, outputDefects, type TriedOutput } from "./judge.ts";
import { type WeightDefectKind, weightDefects } from "./weights.ts";

export function emptyRecord(
	about: Pick<SensitivityRecord, "seed" | "planned" | "tensors">,
): SensitivityRecord {
	return { state: "untested", ...about, tested: 0, precisions: {} };
}

export function withOutputDefects(
	record: SensitivityRecord,
	tried: readonly TriedOutput[],
): SensitivityRecord {
	const ofWeights = Object.entries(record.precisions).map(([precision, { kinds, missed }]) => {
		const kept = Object.entries(kinds).filter(([kind]) => isOfWeights(kind));
		const found = { kinds: Object.fromEntries(kept), missed: missed.filter(({ kind }) => isOfWeights(kind)) };
		return [precision, found];
	});
	return tried.reduce<SensitivityRecord>(
		(sum, { kind, output, verdict }) => withVerdict(sum, verdict, { kind, output }),
		{ ...record, precisions: Object.fromEntries(ofWeights) },
	);
}

export function withWeightDefect(
	record: SensitivityRecord,
	{ kind, weight, verdict }: { kind: WeightDefectKind; weight: string; verdict: DefectVerdict | null },
): SensitivityRecord {
	const counted = { ...record, tested: record.tested + 1 };
	return verdict === null ? counted : withVerdict(counted, verdict, { kind, weight });
}

function isOfWeights(kind: string) {
	return /^(tensor|rows?)-/.test(kind);
}

const mostListed = 1000;

function withVerdict(
	record: SensitivityRecord,
	{ states, change }: DefectVerdict,
	defect: SensitivityMiss,
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

export type LeastShares = Readonly<Partial<Record<Precision, number>>>;

export const defaultLeastShares: LeastShares = { fp32: 1, fp16: 0.95 };

export function countsAt({ precisions }: SensitivityRecord, precision: Precision) {
	const none = { tried: 0, moving: 0, noticed: 0 };
	const sides = { weights: { ...none }, outputs: { ...none } };
	for (const [kind, count] of Object.entries(precisions[precision]?.kinds ?? {})) {
		const side = sides[isOfWeights(kind) ? "weights" : "outputs"];
		side.tried += count.tried;
		side.moving += count.moving;
		side.noticed += count.noticed;
	}
	return sides;
}

export function shortfalls(record: SensitivityRecord, least: LeastShares) {
	return (Object.entries(least) as [Precision, number][]).flatMap(([precision, wanted]) => {
		const { weights, outputs } = countsAt(record, precision);
		const shares = [weights, outputs].map(({ moving, noticed }) => (moving === 0 ? 1 : noticed / moving));
		const share = Math.min(...shares);
		return share < wanted ? [{ precision, share, least: wanted }] : [];
	});
}

const minTested = 10;

export function findSensitivityWeaknesses(
	record: SensitivityRecord,
	reference: RunOutputs,
	least: LeastShares,
): Weakness[] {
	const found = shortfalls(record, least).map(({ precision, share, least: wanted }): Weakness => {
		const percent = Number((100 * wanted).toPrecision(4));
		return {
			kind: "unnoticed",
			severity: "refuse",
			message: `${describeNoticed(record, precision)}; ${percent} % of those of weights and of outputs are needed`,
			fix: `Tighten the limits at ${precision}, give inputs on which the outputs depend more, or accept less: --notice ${precision}=${Math.floor(100 * share) / 100}`,
		};
	});
	const { weights } = countsAt(record, referencePrecision);
	if (weights.tried < minTested || 2 * weights.moving >= weights.tried) return found;
	const isHidden = !reference.some((outputs) =>
		Object.values(outputs).some(({ dtype }) => isFloating(dtype)),
	);
	const unseen: Weakness = {
		kind: "unseen",
		severity: isHidden ? "refuse" : "warn",
		message: `only ${weights.moving} of ${weights.tried} defects of the weights move an output beyond rounding`,
		fix: isHidden
			? "Export the model with the numbers that its integers are chosen from as outputs too, and record that."
			: "Give inputs on which the outputs depend more. For boxes in any order, record the outputs before they are selected too.",
	};
	return [...found, unseen];
}

export function describeSensitivity(record: SensitivityRecord): string[] {
	const { state, tested, planned, tensors } = record;
	const precisions = Object.keys(record.precisions) as Precision[];
	const noticed = precisions.map((precision) => `The golden notices ${describeNoticed(record, precision)}.`);
	if (tensors === 0) return noticed;
	if (state === "untested") return ["Defects of the weights were not tested yet.", ...noticed];
	const unfinished = state === "unfinished" ? "; the test is unfinished" : "";
	const of = tested < planned ? ` of ${planned}` : "";
	return [
		`${tested}${of} defects of ${counted(tensors, "weight tensor")} were tried${unfinished}.`,
		...noticed,
	];
}

const mostNamed = 3;

function describeNoticed(record: SensitivityRecord, precision: Precision) {
	const { weights, outputs } = countsAt(record, precision);
	const text = `${weights.noticed + outputs.noticed} of ${weights.moving + outputs.moving} defects that move an output beyond rounding at ${precision}`;
	const missed = [...(record.precisions[precision]?.missed ?? [])].sort(
		(left, right) => (right.change ?? 0) - (left.change ?? 0),
	);
	return missed.length === 0 ? text : `${text}, but not ${listNames(missed.map(describeMiss), mostNamed)}`;
}

function describeMiss({ kind, weight, output, change }: SensitivityMiss) {
	const all: Readonly<Record<string, { label: string }>> = { ...weightDefects, ...outputDefects };
	const label = own(all, kind)?.label ?? kind;
	if (weight === undefined) return `output ${quoteName(output ?? "")} ${label}`;
	const moves = change === undefined ? "" : ` (an output moves by ${Number(change.toPrecision(2))})`;
	return `${quoteName(weight)} ${label}${moves}`;
}

export function isUnfinished({ sensitivity }: GoldenManifest): boolean {
	return sensitivity?.state === "untested" || sensitivity?.state === "unfinished";
}

export function unfinishedNote(golden: GoldenManifest): string | null {
	const { goldenId, producer } = golden;
	if (!isUnfinished(golden)) return null;
	const command = producer.command === undefined ? "the command that recorded it" : `\`${producer.command}\``;
	return `Golden ${goldenId} was not tested completely, so it is unknown which defects it notices. Rerun ${command}.`;
}
