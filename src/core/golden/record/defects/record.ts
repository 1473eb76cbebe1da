// Adds up what the trial found: by precision and kind of defect, how many move an output and how many of those the golden notices.
import type { Precision, SensitivityMiss, SensitivityRecord } from "../../../../../generated/golden.ts";
import type { DefectVerdict } from "./judge.ts";
import type { OutputDefectKind } from "./outputs.ts";
import type { TriedOutput } from "./try-outputs.ts";
import type { WeightDefectKind } from "./weights.ts";

export type DefectKind = WeightDefectKind | OutputDefectKind;

/** One tried defect of a weight tensor. */
export interface TriedDefect {
	kind: WeightDefectKind;
	weight: string;
	/** Whether the tensor had no defect before. */
	first: boolean;
	/** null: the tensor holds zeros only, so that nothing was tried. */
	verdict: DefectVerdict | null;
}

/** Missed defects that are named, and tensors that no case depends on. */
const mostNamed = 1000;

export function emptyRecord(
	about: Pick<SensitivityRecord, "seed" | "planned" | "tensors">,
): SensitivityRecord {
	return { state: "untested", ...about, tested: 0, precisions: {} };
}

/** With the defects of the outputs, in place of those that it held. */
export function withOutputDefects(
	record: SensitivityRecord,
	tried: readonly TriedOutput[],
): SensitivityRecord {
	const cleared = Object.fromEntries(
		Object.entries(record.precisions).map(([precision, { kinds, missed }]) => {
			const stays = (kind: string): boolean => !tried.some((one) => one.kind === kind);
			const own = Object.entries(kinds).filter(([kind]) => stays(kind));
			return [
				precision,
				{ kinds: Object.fromEntries(own), missed: missed.filter(({ kind }) => stays(kind)) },
			];
		}),
	);
	return tried.reduce((sum, { kind, output, verdict }) => added(sum, { kind, verdict, where: { output } }), {
		...record,
		precisions: cleared,
	});
}

/** With the next defects of the plan, in its order. */
export function withWeightDefects(
	record: SensitivityRecord,
	tried: readonly TriedDefect[],
): SensitivityRecord {
	const sum = { ...record, tested: record.tested + tried.length };
	return tried.reduce<SensitivityRecord>((known, one) => {
		const { kind, weight, verdict } = one;
		return verdict === null
			? known
			: withUnseen(added(known, { kind, verdict, where: { weight } }), one, verdict);
	}, sum);
}

interface Found {
	kind: DefectKind;
	verdict: DefectVerdict;
	where: Pick<SensitivityMiss, "weight" | "output">;
}

function added(record: SensitivityRecord, { kind, verdict, where }: Found): SensitivityRecord {
	const precisions = { ...record.precisions };
	for (const [name, state] of Object.entries(verdict.states)) {
		const known = precisions[name as Precision] ?? { kinds: {}, missed: [] };
		const count = known.kinds[kind] ?? { tried: 0, moving: 0, noticed: 0 };
		const missed = { kind, ...where, ...(Number.isFinite(verdict.change) ? { change: verdict.change } : {}) };
		precisions[name as Precision] = {
			kinds: {
				...known.kinds,
				[kind]: {
					tried: count.tried + 1,
					moving: count.moving + (state === "unmoved" ? 0 : 1),
					noticed: count.noticed + (state === "noticed" ? 1 : 0),
				},
			},
			missed:
				state === "missed" && known.missed.length < mostNamed ? [...known.missed, missed] : known.missed,
		};
	}
	return { ...record, precisions };
}

/** A tensor stays among the unseen until one of its defects moves an output. */
function withUnseen(
	record: SensitivityRecord,
	{ weight, first }: TriedDefect,
	verdict: DefectVerdict,
): SensitivityRecord {
	const moves = Object.values(verdict.states).some((state) => state !== "unmoved");
	const unseen = record.unseen ?? [];
	if (moves)
		return unseen.includes(weight) ? { ...record, unseen: unseen.filter((name) => name !== weight) } : record;
	return first && unseen.length < mostNamed ? { ...record, unseen: [...unseen, weight] } : record;
}
