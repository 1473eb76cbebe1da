// Parses the file of `trtgate verdict`.
import { childPointer } from "../config/pointer.ts";
import { ConfigError } from "../errors.ts";
import { describeFound, isObject, readJson } from "../found.ts";
import type { Pair } from "./pairs.ts";

const defaultMinimalEffect = 0.02;
const maxPairs = 10_000;
const example = '{"pairs": [{"base": 1.203, "head": 1.251}], "minimalEffect": 0.02}';

function invalid(path: string, pointer: string, expected: string, got: string) {
	const place = pointer === "" ? path : `${path} at ${pointer}`;
	const fix = `Give one base and one head time in milliseconds for each pair of runs, such as ${example}.`;
	const message = `${place} is not a list of pairs: expected ${expected}, got ${got}.`;
	return new ConfigError({ code: "pairs-invalid", message, location: { path }, pointer, fix });
}

function parseTime(value: unknown, path: string, pointer: string) {
	if (typeof value === "number" && Number.isFinite(value) && value > 0) return value;
	const isInfinite = typeof value === "number" && !Number.isFinite(value);
	const got = isInfinite ? "a number too large" : describeFound(value, pointer);
	throw invalid(path, pointer, "a finite number of milliseconds above 0", got);
}

function parsePair(value: unknown, path: string, pointer: string) {
	if (!isObject(value))
		throw invalid(path, pointer, 'an object with "base" and "head"', describeFound(value, pointer));
	return {
		base: parseTime(value["base"], path, `${pointer}/base`),
		head: parseTime(value["head"], path, `${pointer}/head`),
	};
}

function parseEffect(value: unknown, path: string) {
	if (value === undefined) return defaultMinimalEffect;
	if (typeof value === "number" && value > 0 && value < 1) return value;
	const pointer = "/minimalEffect";
	throw invalid(path, pointer, "a fraction between 0 and 1 (0.02 is 2 %)", describeFound(value, pointer));
}

export function parsePairs(text: string, path: string): { pairs: Pair[]; minimalEffect: number } {
	const file = readJson(text, (got) => invalid(path, "", "JSON", got));
	if (!isObject(file)) throw invalid(path, "", 'an object with "pairs"', describeFound(file, ""));
	const unknownKey = Object.keys(file).find((key) => key !== "pairs" && key !== "minimalEffect");
	if (unknownKey !== undefined)
		throw invalid(
			path,
			childPointer("", unknownKey.slice(0, 60)),
			'only "pairs" and "minimalEffect"',
			"another key",
		);
	const list = file["pairs"];
	if (!Array.isArray(list)) throw invalid(path, "/pairs", "an array of pairs", describeFound(list, "/pairs"));
	if (list.length > maxPairs) throw invalid(path, "/pairs", `at most ${maxPairs} pairs`, `${list.length}`);
	return {
		pairs: list.map((pair: unknown, index) => parsePair(pair, path, `/pairs/${index}`)),
		minimalEffect: parseEffect(file["minimalEffect"], path),
	};
}
