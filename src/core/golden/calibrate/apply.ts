// Writes calibrated limits into a manifest, with the evidence for them.
import type {
	CalibrationRecord,
	ComparatorSpec,
	GoldenManifest,
	GoldenOutput,
	Precision,
	Tolerance,
} from "../../../../generated/golden.ts";
import type { BackendFacts, GoldenVerdict } from "../../../../generated/result.ts";
import { nextRevision } from "../manifest/draft.ts";
import { errorsOf, lossOf } from "./errors.ts";
import { type ProposedLimit, tightShare } from "./propose-limits.ts";

export interface CalibratedEngine extends Omit<CalibrationRecord, "limits"> {
	limits: readonly ProposedLimit[];
}

/**
 * The manifest with the limits of all engines; where several share an output and precision, the widest. The evidence of an
 * earlier calibration of the same engine, device and backend is replaced.
 */
export function applyCalibration(
	old: GoldenManifest,
	engines: readonly CalibratedEngine[],
	change: { reason: string; author: string },
): GoldenManifest {
	const widest = widestLimits(engines);
	let { outputs } = old;
	for (const { limit, precision } of widest.values()) outputs = withLimit(outputs, limit, precision);
	const records = engines.map(({ limits, ...about }): CalibrationRecord => {
		const final = (one: ProposedLimit) => widest.get(keyOf(one, about.precision))?.limit.limit ?? one.limit;
		return { ...about, limits: limits.map((one) => evidenceOf(one, final(one))) };
	});
	const sources = new Set(records.map(sourceOf));
	const kept = (old.calibration ?? []).filter((record) => !sources.has(sourceOf(record)));
	const { goldenId } = nextRevision(old, old.goldenId.split("@")[0] ?? "golden");
	return { ...old, goldenId, ...change, outputs, calibration: [...records, ...kept].slice(0, maxRecords) };
}

interface PreciseLimit {
	limit: ProposedLimit;
	precision: Precision;
}

function widestLimits(engines: readonly CalibratedEngine[]): Map<string, PreciseLimit> {
	const widest = new Map<string, PreciseLimit>();
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

function keyOf({ errors }: ProposedLimit, precision: Precision): string {
	return JSON.stringify([errors.output, errors.comparator, precision]);
}

const maxRecords = 100;

/** Whether a calibration found what an earlier one had written: the same limits, of the same engines, devices and versions. */
export function isSameCalibration(before: GoldenManifest, after: GoldenManifest): boolean {
	const essence = ({ outputs, calibration = [] }: GoldenManifest): string =>
		JSON.stringify([
			outputs,
			calibration
				.map((record) => [sourceOf(record), record.version, record.limits.map(({ limit }) => limit)])
				.sort(),
		]);
	return essence(before) === essence(after);
}

function sourceOf({
	engine,
	backend,
	device,
}: Pick<CalibrationRecord, "engine" | "backend" | "device">): string {
	return JSON.stringify([engine, backend, device]);
}

function evidenceOf(
	{ errors, before, why }: ProposedLimit,
	limit: number,
): CalibrationRecord["limits"][number] {
	const { output, comparator, kind, cases } = errors;
	const [worst] = cases;
	return {
		output,
		comparator,
		kind,
		case: worst?.case ?? "",
		error: typeof worst?.got === "number" ? worst.got : 0,
		before,
		limit,
		why,
	};
}

function withLimit(
	outputs: GoldenManifest["outputs"],
	{ errors, state, limit }: ProposedLimit,
	precision: Precision,
): GoldenManifest["outputs"] {
	if (state === "kept" || state === "refused") return outputs;
	const output: GoldenOutput = Object.hasOwn(outputs, errors.output) ? (outputs[errors.output] ?? {}) : {};
	const [first, ...others] = output.comparators ?? [{ kind: errors.kind } satisfies ComparatorSpec];
	const changed = (spec: ComparatorSpec, place: number): ComparatorSpec =>
		place === errors.comparator
			? { ...spec, tolerance: withPrecision(spec.tolerance, precision, limit) }
			: spec;
	const comparators: NonNullable<GoldenOutput["comparators"]> = [
		changed(first, 0),
		...others.map((spec, index) => changed(spec, index + 1)),
	];
	return { ...outputs, [errors.output]: { ...output, comparators } };
}

const precisions: readonly Precision[] = ["fp32", "tf32", "fp16", "bf16", "int8", "fp8", "int4", "fp4"];

function withPrecision(tolerance: Tolerance | undefined, precision: Precision, limit: number): Tolerance {
	const before =
		typeof tolerance === "number"
			? Object.fromEntries(precisions.map((name) => [name, tolerance]))
			: (tolerance ?? {});
	return { ...before, [precision]: limit };
}

/** Whether an engine of this backend ever set or confirmed the limits at this precision. */
function isCalibrated(
	{ calibration = [] }: GoldenManifest,
	precision: string,
	backend: CalibrationRecord["backend"],
): boolean {
	return calibration.some((record) => record.precision === precision && record.backend === backend);
}

// Says when a golden's limits should be calibrated on the engine that they judge.
const maxSentences = 5;

type Manifests = ReadonlyMap<string, { manifest: GoldenManifest }>;

/**
 * One sentence for each engine whose error comes near its limit, or that fails as its base does, while no engine of this
 * backend ever showed how far right answers deviate. On a CPU no engine computes in the precision that it is named for.
 */
export function calibrationDue(
	verdicts: readonly GoldenVerdict[],
	goldens: Manifests,
	backend: BackendFacts,
): string[] {
	if (backend.kind !== "tensorrt") return [];
	const due = [...goldens].flatMap(([id, { manifest }]) => {
		const own = verdicts.filter(({ model, engine }) => `${model}/${engine}` === id);
		const [first] = own;
		if (first === undefined || isCalibrated(manifest, first.precision, backend.kind)) return [];
		const why = whyDue(manifest, own);
		return why === null
			? []
			: [
					`Calibration is due: ${id} ${why}, and its limits at ${first.precision} were never calibrated on an engine. Run \`trtgate golden calibrate --only ${id}\`.`,
				];
	});
	const more = due.length - maxSentences;
	return more > 0 ? [...due.slice(0, maxSentences), `Calibration is due for ${more} more engines.`] : due;
}

function whyDue(manifest: GoldenManifest, verdicts: readonly GoldenVerdict[]): string | null {
	if (verdicts.some(({ state }) => state === "existing")) return "fails its golden as its base does";
	if (verdicts.some(({ state }) => state !== "match")) return null;
	const { errors } = errorsOf(manifest, verdicts);
	const worst = errors
		.flatMap(({ output, cases }) => cases.slice(0, 1).map((one) => ({ output, ...one })))
		.reduce<{ output: string; case: string; share: number } | null>(
			(most, one) => (most === null || one.share > most.share ? one : most),
			null,
		);
	if (worst === null || !(worst.share > tightShare)) return null;
	return `takes ${Math.round(100 * worst.share)} % of its limit (output ${worst.output}, case ${worst.case})`;
}
