// Writes calibrated limits into a manifest, with the evidence for them.

import type {
	CalibrationRecord,
	GoldenManifest,
	GoldenOutput,
	Precision,
} from "../../../../generated/golden.ts";
import { withLimits } from "../compare/tolerances.ts";
import { nextRevision } from "../manifest/draft.ts";
import { own } from "../tensor/tensor.ts";
import type { ProposedLimit } from "./propose-limits.ts";
import { lossOf } from "./propose-limits.ts";

export interface CalibratedEngine extends Omit<CalibrationRecord, "limits"> {
	limits: readonly ProposedLimit[];
}

const maxRecords = 100;

/**
 * The widest limit counts if several engines share an output and precision. Earlier evidence of the
 * same engine, device and backend is replaced.
 */
export function applyCalibration(
	old: GoldenManifest,
	engines: readonly CalibratedEngine[],
	change: { reason: string; author: string },
): GoldenManifest {
	const widest = widestLimits(engines);
	let { outputs } = old;
	for (const { limit, precision } of widest.values()) outputs = withLimit(outputs, limit, precision);
	const records = engines.map(({ limits, ...about }) => {
		const evidence = limits.map((one) => {
			const { output, comparator, kind, cases } = one.errors;
			const [worst] = cases;
			return {
				output,
				comparator,
				kind,
				case: worst?.case ?? "",
				error: typeof worst?.got === "number" ? worst.got : 0,
				before: one.before,
				limit: widest.get(keyOf(one, about.precision))?.limit.limit ?? one.limit,
				why: one.why,
			};
		});
		return { ...about, limits: evidence };
	});
	const sources = new Set(records.map(sourceOf));
	const kept = (old.calibration ?? []).filter((record) => !sources.has(sourceOf(record)));
	const { goldenId } = nextRevision(old, "golden");
	return { ...old, goldenId, ...change, outputs, calibration: [...records, ...kept].slice(0, maxRecords) };
}

function widestLimits(engines: readonly CalibratedEngine[]) {
	const widest = new Map<string, { limit: ProposedLimit; precision: Precision }>();
	for (const { precision, limits } of engines) {
		for (const limit of limits) {
			const key = keyOf(limit, precision);
			const known = widest.get(key);
			const { bound } = limit.errors;
			if (known === undefined || lossOf(limit.limit, bound) > lossOf(known.limit.limit, bound))
				widest.set(key, { limit, precision });
		}
	}
	return widest;
}

function keyOf({ errors }: ProposedLimit, precision: Precision) {
	return JSON.stringify([errors.output, errors.comparator, precision]);
}

export function isSameCalibration(before: GoldenManifest, after: GoldenManifest): boolean {
	const essence = ({ outputs, calibration = [] }: GoldenManifest) =>
		JSON.stringify([
			outputs,
			calibration
				.map((record) => [sourceOf(record), record.version, record.limits.map(({ limit }) => limit)])
				.sort(),
		]);
	return essence(before) === essence(after);
}

function sourceOf({ engine, backend, device }: CalibrationRecord) {
	return JSON.stringify([engine, backend, device]);
}

function withLimit(
	outputs: GoldenManifest["outputs"],
	{ errors, state, limit }: ProposedLimit,
	precision: Precision,
) {
	if (state === "kept" || state === "refused") return outputs;
	const output = own(outputs, errors.output) ?? {};
	const specs = output.comparators ?? [{ kind: errors.kind }];
	const comparators = specs.map((spec, place) =>
		place === errors.comparator ? withLimits(spec, { [precision]: limit }) : spec,
	) as NonNullable<GoldenOutput["comparators"]>;
	return { ...outputs, [errors.output]: { ...output, comparators } };
}
