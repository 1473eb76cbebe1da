// Why layers do not run in the declared precision, and which do so no longer, in words.
import type { PrecisionCoverage, UncoveredCause, UncoveredLayer } from "../../../generated/result.ts";
import { cleanName } from "../../core/text/escape.ts";
import { counted, present } from "../../core/text/labels.ts";
import { formatPercent } from "../../core/text/units.ts";

const again =
	"If AutoCast left it in float, convert again: with real inputs (`--calibration_data`), or a higher `--data_max`.";

export const causes: Readonly<Record<UncoveredCause, { why(at: string): string; fix: string }>> = {
	cast: {
		why: (at) => `the Cast ${at} beside it`,
		fix: `Remove the casts, or keep them if they guard accuracy and lower \`gates.precision-coverage\`. ${again}`,
	},
	"float-weight": { why: (at) => `its weight ${at} is float in the file`, fix: again },
	"no-qdq": {
		why: (at) => (at === "" ? "the file has no Q/DQ nodes" : `no Q/DQ on ${at}`),
		fix: "Put Q and DQ on both inputs of the product, directly before it, or calibrate.",
	},
	"qdq-before-add": {
		why: (at) => `Q/DQ stand before the Add ${at}, not behind it`,
		fix: "Put Q and DQ behind the residual Add too, on the tensor that the product reads.",
	},
	range: {
		why: () => "the builder warned of ranges; see the build's log",
		fix: "Give every tensor a scale, or scale weights that half precision cannot hold.",
	},
	kernel: {
		why: () => "the builder chose this kernel: it has none in the precision, or only slower ones",
		fix: "Check channel counts (multiples of 8, in int8 of 32) and the builder's verbose log.",
	},
};

const layerText = ({ layer, precision, share, cause, at }: UncoveredLayer) => {
	const why = causes[cause].why(at === undefined ? "" : cleanName(at, 80));
	return `${cleanName(layer, 100)} in ${cleanName(precision, 20)} (${formatPercent(share)}; ${why})`;
};

export function layerTexts(layers: readonly UncoveredLayer[], count: number): string[] {
	const more = count - layers.length;
	return present([...layers.map(layerText), more > 0 && counted(more, "more layer")]);
}

/** Losses that the file causes have a fix; others the builder chose, and they are timed. */
export function typeChanges({ precision, changed }: PrecisionCoverage) {
	const type = cleanName(precision, 20);
	const { lost = [], lostCount = 0, gained = [], gainedCount = 0 } = changed ?? {};
	const fixes = lost
		.map(({ cause }) => (cause === "kernel" ? "" : causes[cause].fix))
		.filter((fix) => fix !== "");
	const names = gained.map((name) => cleanName(name, 100)).join(", ");
	return {
		isOfFile: fixes.length > 0,
		lost:
			lostCount === 0
				? null
				: present([
						`${counted(lostCount, "node")} no longer in ${type}: ${layerTexts(lost, lostCount).join(" · ")}.`,
						...new Set(fixes),
					]).join(" "),
		gained:
			gainedCount === 0
				? null
				: `${counted(gainedCount, "node")} now in ${type}: ${names}${gainedCount > gained.length ? ", …" : ""}.`,
	};
}
