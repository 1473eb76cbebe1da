// Says when a golden's limits should be calibrated on the engine that they judge.
import type { GoldenManifest } from "../../schema/golden.ts";
import type { BackendFacts, GoldenVerdict } from "../../schema/result.ts";
import { isCalibrated } from "./apply.ts";
import { errorsOf } from "./errors.ts";
import { tightShare } from "./propose-limits.ts";

const maxSentences = 5;

/** Goldens of the head's engines by `model/engine`. */
type Manifests = ReadonlyMap<string, { manifest: GoldenManifest }>;

/**
 * One sentence for each engine whose error comes near its limit, or that fails as its base does, while no engine of this
 * backend ever showed how far right answers stray. On a CPU no engine computes in the precision that it is named for.
 */
export function calibrationDue(verdicts: readonly GoldenVerdict[], goldens: Manifests, backend: BackendFacts): string[] {
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
