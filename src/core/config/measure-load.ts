// Resolves `measure.load`: how requests arrive, and when they are served.
import type { LoadFile } from "../../../generated/config.ts";
import { formatName, suggest } from "../found.ts";
import { mostLoad } from "../load/queues.ts";
import { listNames } from "../text/labels.ts";
import { defaultMeasure, type LoadConfig, type ModelConfig } from "./config.ts";
import { modelAndEngineNames } from "./select.ts";
import type { Resolution } from "./source.ts";
import { checkPath, parseDuration, parseShare } from "./values.ts";

export function* resolveLoad(file: LoadFile, models: readonly ModelConfig[]): Resolution<LoadConfig> {
	const { load } = defaultMeasure;
	const { when = "nightly", arrivals = load.arrivals, at, "max-batch": maxBatch, together } = file;
	const pointer = "/measure/load";
	const time = function* (key: "max-delay" | "duration", byDefault: number): Resolution<number> {
		const text = file[key];
		const options = { text: text ?? "", allowsZero: key === "max-delay" };
		return text === undefined ? byDefault : yield* parseDuration(`${pointer}/${key}`, options);
	};
	const share = at === undefined ? load.at : yield* parseShare(`${pointer}/at`, at);
	const fix = "Write a share such as 80%.";
	if (share === "off" || share > mostLoad)
		yield { pointer: `${pointer}/at`, says: `is ${at}`, expected: "a share of the capacity up to 99%", fix };
	yield* checkTogether(together ?? [], models);
	const isDrawn = arrivals === "poisson" || arrivals === "constant";
	return {
		when,
		arrivals: isDrawn ? arrivals : yield* checkPath(`${pointer}/arrivals`, arrivals),
		at: share === "off" ? load.at : share,
		maxBatch,
		together: together?.map((pair) => pair.join(" + ")),
		maxDelayMs: yield* time("max-delay", load.maxDelayMs),
		durationMs: yield* time("duration", load.durationMs),
	};
}

function* checkTogether(
	pairs: NonNullable<LoadFile["together"]>,
	models: readonly ModelConfig[],
): Resolution<void> {
	const known = modelAndEngineNames(models);
	for (const [index, pair] of pairs.entries())
		for (const [side, name] of pair.entries()) {
			if (known.includes(name)) continue;
			yield {
				pointer: `/measure/load/together/${index}/${side}`,
				says: `is ${formatName(name)}, which names no engine of this config`,
				expected: `a model or model/engine; there are ${listNames(known.map(formatName), 12)}`,
				...suggest(name, known, "Name a model, or an engine as model/engine."),
			};
		}
}
