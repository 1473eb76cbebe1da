// Picks the engines that one job measures, by patterns such as `resnet50`, `resnet50/fp16` or `*/int8`.
import { ConfigError } from "../errors.ts";
import { cleanText, shorten } from "../text/escape.ts";
import { listNames } from "../text/labels.ts";
import type { Config, EngineConfig, ModelConfig } from "./config.ts";
import { didYouMean } from "./did-you-mean.ts";

/** Against patterns that were never meant: a config has some hundred engines at most. */
const maxPatterns = 1000;
const maxPatternChars = 700;

/** Patterns of an input: one a line or separated by commas; a backslash takes the meaning from `* , \`. */
export function parsePatterns(text: string): string[] {
	const patterns: string[] = [];
	let current = "";
	for (let at = 0; at <= text.length; at += 1) {
		const char = text[at];
		if (char === undefined || char === "," || char === "\n") {
			patterns.push(trimmed(current));
			current = "";
		} else if (char === "\\" && at + 1 < text.length) {
			current += char + text[at + 1];
			at += 1;
		} else current += char;
	}
	return patterns.filter((pattern) => pattern !== "");
}

/** Without the blanks around it; one behind a backslash is meant. */
function trimmed(text: string): string {
	const cut = text.trim();
	const escapes = /\\+$/.exec(cut)?.[0].length ?? 0;
	return escapes % 2 === 1 ? cut + (text.trimStart()[cut.length] ?? "") : cut;
}

/** A pattern that means this one engine, or every engine of this one model. */
export function exactPattern(model: string, engine?: string): string {
	const text = engine === undefined ? model : `${model}/${engine}`;
	// A blank at an end would be trimmed away.
	return text.replace(/[\\*,]|^\s|\s$/g, "\\$&");
}

/** A list that `parsePatterns` reads back. */
export function formatPatterns(patterns: readonly string[]): string {
	return patterns.join(",");
}

type Matches = (model: string, engine: string) => boolean;

/** Linear in the text: one star after the other, each as early as it can. */
export function compilePattern(pattern: string): Matches {
	const pieces = piecesOf(pattern);
	const fits = (text: string): boolean => {
		const [first = "", ...rest] = pieces;
		if (rest.length === 0) return text === first;
		const last = rest[rest.length - 1] ?? "";
		if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false;
		let from = first.length;
		const end = text.length - last.length;
		for (const piece of rest.slice(0, -1)) {
			const found = text.indexOf(piece, from);
			if (found < 0 || found + piece.length > end) return false;
			from = found + piece.length;
		}
		return true;
	};
	return (model, engine) => fits(model) || fits(`${model}/${engine}`);
}

/** What stands between the stars. */
function piecesOf(pattern: string): string[] {
	const pieces = [""];
	const append = (text: string): void => {
		pieces[pieces.length - 1] += text;
	};
	for (let at = 0; at < pattern.length; at += 1) {
		const char = pattern[at] ?? "";
		if (char === "*") pieces.push("");
		else if (char === "\\" && at + 1 < pattern.length) {
			at += 1;
			append(pattern[at] ?? "");
		} else append(char);
	}
	return pieces;
}

export type Selected = { state: "ok"; models: readonly ModelConfig[] } | { state: "unknown"; problems: readonly PatternProblem[] };

export interface PatternProblem {
	/** Place in the list. */
	index: number;
	says: string;
	expected: string;
	meant?: string;
}

/** Models with the engines that any pattern means; every pattern must mean at least one. */
export function selectModels(models: Config["models"], patterns: readonly string[]): Selected {
	const problems = patterns.slice(0, maxPatterns).flatMap((pattern, index) => problemOf(pattern, index, models));
	return problems.length > 0 ? { state: "unknown", problems } : { state: "ok", models: keepSelected(models, patterns) };
}

/** The same, but ignores patterns without a match: for a base, which may not have these engines yet. */
export function keepSelected(models: Config["models"], patterns: readonly string[]): ModelConfig[] {
	if (patterns.length === 0) return [...models];
	const compiled = patterns.slice(0, maxPatterns).map(compilePattern);
	const wanted = (model: ModelConfig, engine: EngineConfig): boolean => compiled.some((matches) => matches(model.name, engine.name));
	return models
		.map((model) => ({ ...model, engines: model.engines.filter((engine) => wanted(model, engine)) }))
		.filter((model) => model.engines.length > 0);
}

/** Whole shapes by input. */
export type PinnedShapes = Readonly<Record<string, { shape: readonly number[] }>>;

/** Shapes that an option gives instead of the config's: one workload, and engines for its sizes alone. */
export function pinShapes(models: readonly ModelConfig[], shapes: PinnedShapes): ModelConfig[] {
	const names = Object.entries(shapes).map(([input, { shape }]) => `${input} ${shape.join("×") || "scalar"}`);
	if (names.length === 0) return [...models];
	return models.map((model) => ({
		...model,
		inputs: Object.fromEntries([
			...Object.entries(model.inputs),
			...Object.entries(shapes).map(([input, { shape }]) => [input, { ...model.inputs[input], pinned: shape }] as const),
		]),
		engines: model.engines.map((engine) => pinEngine(engine, listNames(names, 2))),
	}));
}

/** Where an engine has no workload, its dims stay at their optimum. */
function pinEngine(engine: EngineConfig, name: string): EngineConfig {
	const workloads = engine.workloads.slice(0, 1).map((workload) => ({ ...workload, name }));
	const dims = Object.fromEntries(
		Object.entries(engine.dims).map(([dim, { opt }]) => {
			const size = workloads[0]?.dims[dim] ?? opt;
			return [dim, { min: size, opt: size, max: size }];
		}),
	);
	return { ...engine, dims, profiles: [dims], workloads };
}

/** For patterns that a flag or an input gave. */
export function unknownSelection(problems: readonly PatternProblem[], path: string): ConfigError {
	const messages = problems.map(
		({ says, expected, meant }) => `it ${says}; expected ${expected}.${meant === undefined ? "" : ` Did you mean ${meant}?`}`,
	);
	const meant = problems[0]?.meant;
	return new ConfigError({
		code: "usage",
		message: `only does not match ${path}: ${messages.slice(0, 5).join(" ")}`,
		location: { path },
		fix: meant === undefined ? "Name a model or an engine of the config, or leave `only` out." : `Write ${meant}.`,
	});
}

function problemOf(pattern: string, index: number, models: Config["models"]): PatternProblem[] {
	if (pattern.length <= maxPatternChars && keepSelected(models, [pattern]).length > 0) return [];
	const ids = models.flatMap((model) => [model.name, ...model.engines.map((engine) => `${model.name}/${engine.name}`)]);
	const meant = didYouMean(pattern, ids);
	const shown = ids.map((id) => cleanText(shorten(id, 60)));
	return [
		{
			index,
			says: `names no engine of this config: ${JSON.stringify(cleanText(shorten(pattern, 60)))}`,
			expected: `a model, model/engine or a pattern with *; there are ${listNames(shown, 12)}`,
			...(meant === undefined ? {} : { meant }),
		},
	];
}
