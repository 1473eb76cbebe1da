// Parses the file of `trtgate verdict`.

import { ConfigError } from "../errors.ts";
import { childPointer, describeFound, isObject, readJson } from "../found.ts";
import type { Pair } from "./pairs.ts";

const defaultMinimalEffect = 0.02;
const maxPairs = 10_000;
const example = '{"pairs": [{"base": 1.203, "head": 1.251}], "minimalEffect": 0.02}';

/** @throws ConfigError pairs-invalid. */
export function parsePairs(text: string, path: string): { pairs: Pair[]; minimalEffect: number } {
	const invalid = (pointer: string, expected: string, got: string) => {
		const place = pointer === "" ? path : `${path} at ${pointer}`;
		const fix = `Give one base and one head time in milliseconds for each pair of runs, such as ${example}.`;
		const message = `${place} is not a list of pairs: expected ${expected}, got ${got}.`;
		return new ConfigError({ code: "pairs-invalid", message, location: { path }, pointer, fix });
	};
	const time = (value: unknown, pointer: string) => {
		if (typeof value === "number" && Number.isFinite(value) && value > 0) return value;
		const got = typeof value === "number" && !Number.isFinite(value) ? "a number too large" : null;
		const expected = "a finite number of milliseconds above 0";
		throw invalid(pointer, expected, got ?? describeFound(value, pointer));
	};
	const file = readJson(text, (got) => invalid("", "JSON", got));
	if (!isObject(file)) throw invalid("", 'an object with "pairs"', describeFound(file, ""));
	const { pairs, minimalEffect = defaultMinimalEffect, ...others } = file;
	const [unknownKey] = Object.keys(others);
	if (unknownKey !== undefined) {
		const pointer = childPointer("", unknownKey.slice(0, 60));
		throw invalid(pointer, 'only "pairs" and "minimalEffect"', "another key");
	}
	if (!Array.isArray(pairs)) throw invalid("/pairs", "an array of pairs", describeFound(pairs, "/pairs"));
	if (pairs.length > maxPairs) throw invalid("/pairs", `at most ${maxPairs} pairs`, `${pairs.length}`);
	const times = pairs.map((pair: unknown, index) => {
		const pointer = `/pairs/${index}`;
		if (!isObject(pair))
			throw invalid(pointer, 'an object with "base" and "head"', describeFound(pair, pointer));
		return { base: time(pair["base"], `${pointer}/base`), head: time(pair["head"], `${pointer}/head`) };
	});
	if (typeof minimalEffect === "number" && minimalEffect > 0 && minimalEffect < 1)
		return { pairs: times, minimalEffect };
	const got = describeFound(minimalEffect, "/minimalEffect");
	throw invalid("/minimalEffect", "a fraction between 0 and 1 (0.02 is 2 %)", got);
}
