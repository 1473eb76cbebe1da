// Finds why the golden that was recorded would detect nothing.
import type { RunOutputs } from "../core/golden/record/noise-floor.ts";
import { findInsensitive } from "../core/golden/record/sensitivity.ts";
import { findWeaknesses, type Weakness } from "../core/golden/record/weaknesses.ts";
import { quoteName } from "../core/onnx/quote.ts";
import type { GoldenManifest } from "../core/schema/golden.ts";

/** Before any weight is changed: what makes the golden useless whatever its limits are. */
export function findRecordWeaknesses({ manifest, cases }: { manifest: GoldenManifest; cases: RunOutputs }): Weakness[] {
	const hard = findInsensitive(manifest, cases).map((finding) => ({ ...finding, severity: "refuse" as const }));
	if (hard.length > 0) return hard;
	const unsure = Object.entries(manifest.noiseFloor?.outputs ?? {}).filter(([, spread]) => !Number.isFinite(spread.relativeL2));
	const found = unsure.map(
		([output]): Weakness => ({
			kind: "non-finite",
			severity: "refuse",
			output,
			message: `output ${quoteName(output)} is NaN or infinite in some runs and a number in others`,
			fix: "Fix the model: this result depends on the order of its sums.",
		}),
	);
	return found.length > 0 ? found : findWeaknesses({ manifest, cases });
}
