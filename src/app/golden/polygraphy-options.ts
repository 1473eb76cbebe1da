// The options of `trtgate golden check --polygraphy`: Polygraphy's own names, values and defaults.
import { ConfigError } from "../../core/errors.ts";
import {
	type ByOutput,
	type CompareName,
	compareNames,
	type ErrorStatistic,
	errorStatistics,
	type PolygraphySettings,
	type Quantile,
} from "../../core/golden/polygraphy/settings.ts";
import { parseArguments } from "../commands/arguments.ts";
import { polygraphyTable } from "../commands/tables.ts";

export interface PolygraphyOptions {
	/** The reference's file, or one with several runners. */
	golden: string;
	/** The candidate's. */
	outputs: string | undefined;
	strict: boolean;
	json: boolean;
	settings: PolygraphySettings;
}

type Name = keyof typeof polygraphyTable.options;

/** @throws ConfigError usage. */
export function parsePolygraphyOptions(argv: readonly string[]): PolygraphyOptions {
	const args = parseArguments(argv, polygraphyTable);
	const numbers = (name: Name, least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY): ByOutput<number> =>
		byOutput(args.texts(name), (value) => parseNumber(value, name, { least, most }));
	return {
		golden: args.text("polygraphy"),
		outputs: args.text("outputs"),
		strict: args.flag("strict"),
		json: args.flag("json"),
		settings: {
			compare: compareOf(args.texts("compare")),
			rtol: numbers("rtol"),
			atol: numbers("atol"),
			statistic: byOutput(args.texts("check-error-stat"), parseStatistic),
			quantile: byOutput(args.texts("error-quantile"), parseQuantile),
			infinitiesEqual: args.flag("infinities-compare-equal"),
			indexTolerance: numbers("index-tolerance", 0),
			l2: numbers("l2-threshold"),
			cosine: numbers("cosine-similarity-threshold"),
			psnr: numbers("psnr-threshold"),
			snr: numbers("snr-threshold"),
		},
	};
}

/** The output's name may hold colons: the last one ends it. */
function byOutput<Value>(words: readonly string[], parse: (text: string) => Value): ByOutput<Value> {
	return new Map(
		words.map((word) => {
			const at = word.lastIndexOf(":");
			return [word.slice(0, Math.max(0, at)), parse(word.slice(at + 1))];
		}),
	);
}

const decimal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const infinite = /^([+-]?)inf(inity)?$/i;

function parseNumber(word: string, name: Name, { least, most }: { least: number; most: number }): number {
	const value = Number(word.replace(infinite, "$1Infinity"));
	const whole = name !== "index-tolerance" || Number.isInteger(value);
	const known = decimal.test(word) || infinite.test(word);
	if (known && value >= least && value <= most && whole) return value;
	throw usage(`--${name} takes numbers, or OUTPUT:NUMBER; got ${JSON.stringify(word)}.`);
}

function parseQuantile(word: string): Quantile {
	const value = parseNumber(word, "error-quantile", { least: 0, most: 1 });
	if (!/^[+-]?\d+$/.test(word)) return value;
	return value === 0 ? "first" : "last";
}

function parseStatistic(word: string): ErrorStatistic {
	const known = errorStatistics.find((name) => name === word);
	if (known !== undefined) return known;
	throw usage(`--check-error-stat takes ${errorStatistics.join(", ")}; got ${JSON.stringify(word)}.`);
}

const aliases: Readonly<Record<string, readonly CompareName[]>> = {
	distance_metrics: ["l2", "cosine_similarity"],
	quality_metrics: ["psnr", "snr"],
};

function compareOf(words: readonly string[]): CompareName[] {
	if (words.length === 0) return ["simple"];
	return words.flatMap((word) => {
		const known = compareNames.filter((name) => name === word);
		const names = Object.hasOwn(aliases, word) ? (aliases[word] ?? []) : known;
		if (names.length > 0) return names;
		throw usage(`--compare takes ${[...compareNames, ...Object.keys(aliases)].join(", ")}; got ${JSON.stringify(word)}.`);
	});
}

function usage(message: string): ConfigError {
	return new ConfigError({ code: "usage", message, details: { fix: "Give the options as `polygraphy run` takes them." } });
}
