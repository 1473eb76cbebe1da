// Selects engines by patterns such as `resnet50`, `resnet50/fp16` or `*/int8`.
import { ConfigError } from "../errors.ts";
import { didYouMean, formatName } from "../found.ts";
import { cleanText, shorten } from "../text/escape.ts";
import { listNames } from "../text/labels.ts";
import type { Config, EngineConfig, ModelConfig } from "./config.ts";
import { fixedRange } from "./dims.ts";

const maxPatterns = 1000;
const maxPatternChars = 700;

const characters = /\\[\s\S]|[\s\S]/g;

export function parsePatterns(text: string): string[] {
	const patterns: string[][] = [[]];
	for (const character of text.match(characters) ?? []) {
		if (character === "," || character === "\n") patterns.push([]);
		else patterns.at(-1)?.push(character);
	}
	const isVisible = (character: string) => character.trim() !== "";
	const trimmed = patterns.map((pattern) =>
		pattern.slice(pattern.findIndex(isVisible), pattern.findLastIndex(isVisible) + 1).join(""),
	);
	return trimmed.filter((pattern) => pattern !== "");
}

export function exactPattern(model: string, engine?: string): string {
	const text = engine === undefined ? model : `${model}/${engine}`;
	return text.replace(/[\\*,]|^\s|\s$/g, "\\$&");
}

export function formatPatterns(patterns: readonly string[]): string {
	return patterns.join(",");
}

/** Matches in linear time. */
export function compilePattern(pattern: string): (model: string, engine: string) => boolean {
	const pieces = [""];
	for (const character of pattern.match(characters) ?? []) {
		if (character === "*") pieces.push("");
		else pieces[pieces.length - 1] += character.at(-1);
	}
	const [first = "", ...middle] = pieces;
	const last = middle.pop();
	const fits = (text: string) => {
		if (last === undefined) return text === first;
		let from = text.startsWith(first) ? first.length : Infinity;
		for (const piece of middle) {
			const found = text.indexOf(piece, from);
			from = found < 0 ? Infinity : found + piece.length;
		}
		return from + last.length <= text.length && text.endsWith(last);
	};
	return (model, engine) => fits(model) || fits(`${model}/${engine}`);
}

interface PatternProblem {
	index: number;
	says: string;
	meant?: string | undefined;
}

export function modelAndEngineNames(models: Config["models"]): string[] {
	return models.flatMap(({ name, engines }) => [name, ...engines.map((engine) => `${name}/${engine.name}`)]);
}

export function selectModels(
	models: Config["models"],
	patterns: readonly string[],
):
	| { state: "ok"; models: readonly ModelConfig[] }
	| { state: "unknown"; problems: readonly PatternProblem[] } {
	const ids = modelAndEngineNames(models);
	const shown = ids.map((id) => cleanText(shorten(id, 60)));
	const problems = patterns.slice(0, maxPatterns).flatMap((pattern, index) => {
		if (pattern.length <= maxPatternChars && keepSelected(models, [pattern]).length > 0) return [];
		const meant = didYouMean(pattern, ids);
		const guess = meant === undefined ? "" : ` Did you mean ${meant}?`;
		const says = `names no engine of this config: ${formatName(pattern)}; expected a model, model/engine or a pattern with *; there are ${listNames(shown, 12)}.${guess}`;
		return [{ index, says, meant }];
	});
	return problems.length > 0
		? { state: "unknown", problems }
		: { state: "ok", models: keepSelected(models, patterns) };
}

export function keepSelected(models: Config["models"], patterns: readonly string[]): ModelConfig[] {
	if (patterns.length === 0) return [...models];
	const compiled = patterns.slice(0, maxPatterns).map(compilePattern);
	const kept = models.map((model) => {
		const engines = model.engines.filter((engine) =>
			compiled.some((matches) => matches(model.name, engine.name)),
		);
		return { ...model, engines };
	});
	return kept.filter((model) => model.engines.length > 0);
}

export type PinnedShapes = Readonly<Record<string, { shape: readonly number[] }>>;

export function pinShapes(models: readonly ModelConfig[], shapes: PinnedShapes): ModelConfig[] {
	const names = Object.entries(shapes).map(([input, { shape }]) => `${input} ${shape.join("×") || "scalar"}`);
	if (names.length === 0) return [...models];
	return models.map((model) => {
		const pinned = Object.entries(shapes).map(
			([input, { shape }]) => [input, { ...model.inputs[input], pinned: shape }] as const,
		);
		const engines = model.engines.map((engine) => pinEngine(engine, listNames(names, 2)));
		return { ...model, inputs: { ...model.inputs, ...Object.fromEntries(pinned) }, engines };
	});
}

function pinEngine(engine: EngineConfig, name: string) {
	const workloads = engine.workloads.slice(0, 1).map(({ sweep: _, ...workload }) => ({ ...workload, name }));
	const sizes = Object.entries(engine.dims).map(
		([dim, { opt }]) => [dim, fixedRange(workloads[0]?.dims[dim] ?? opt)] as const,
	);
	const dims = Object.fromEntries(sizes);
	return { ...engine, dims, profiles: [dims], workloads };
}

export function unknownSelection(problems: readonly PatternProblem[], path: string): ConfigError {
	const messages = problems.slice(0, 5).map(({ says }) => `it ${says}`);
	const fix = "Name a model or an engine of the config, or leave `only` out.";
	const meant = problems[0]?.meant;
	return new ConfigError({
		code: "usage",
		message: `only does not match ${path}: ${messages.join(" ")}`,
		location: { path },
		fix: meant === undefined ? fix : `Write ${meant}.`,
	});
}
