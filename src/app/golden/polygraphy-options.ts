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

export interface PolygraphyOptions {
	/** The reference's file, or one with several runners. */
	golden: string;
	/** The candidate's. */
	outputs: string | undefined;
	strict: boolean;
	json: boolean;
	settings: PolygraphySettings;
}

/** Options that take several values at once. */
const many = [
	"compare",
	"rtol",
	"atol",
	"check-error-stat",
	"error-quantile",
	"index-tolerance",
	"l2-threshold",
	"cosine-similarity-threshold",
	"psnr-threshold",
	"snr-threshold",
] as const;
type Many = (typeof many)[number];

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
const options = {
	...Object.fromEntries(many.map((name) => [name, { ...text, multiple: true }])),
	...{ polygraphy: text, outputs: text, "infinities-compare-equal": flag, strict: flag, json: flag },
};

/** @throws ConfigError usage. */
export function parsePolygraphyOptions(argv: readonly string[]): PolygraphyOptions {
	const args = parseArguments(oneValueEach(argv), options, { command: "golden check --polygraphy", positionals: [] });
	const numbers = (name: Many, least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY): ByOutput<number> =>
		byOutput(args.texts(name), (value) => parseNumber(value, name, { least, most }));
	return {
		golden: args.text("polygraphy") ?? "",
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

/** `--rtol 1e-5 out:1e-3`, as Polygraphy takes it, becomes `--rtol=1e-5 --rtol=out:1e-3`; without a value `--rtol=`, which is refused. */
function oneValueEach(argv: readonly string[]): string[] {
	let open: string | null = null;
	return argv.flatMap((word, index) => {
		if (!word.startsWith("--")) return [open === null ? word : `${open}=${word}`];
		open = many.some((name) => word === `--${name}`) ? word : null;
		if (open === null) return [word];
		return argv[index + 1]?.startsWith("--") === false ? [] : [`${open}=`];
	});
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

function parseNumber(word: string, name: Many, { least, most }: { least: number; most: number }): number {
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
