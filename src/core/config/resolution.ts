// A resolver turns a part of the file into a value. It yields what it noticed on the way: problems, and defaults in use.
import type { Occasion, Source, Sources } from "./config.ts";
import { maxErrors, type Origin, type Problem } from "./problem.ts";

export type Note = { kind: "problem"; problem: Problem } | { kind: "default"; pointer: string; because?: Occasion };

export type Resolution<Value> = Generator<Note, Value, void>;

export function problem(found: Problem): Note {
	return { kind: "problem", problem: found };
}

/** The value of the file or an input where there is one; else the default, whose use is noted. */
export function* orDefault<Value>(
	pointer: string,
	{ given, byDefault }: { given: Value | undefined; byDefault: Value },
): Resolution<Value> {
	if (given !== undefined) return given;
	yield { kind: "default", pointer };
	return byDefault;
}

export function* resolveEach<Item, Value>(
	items: Iterable<Item>,
	resolve: (item: Item, index: number) => Resolution<Value>,
): Resolution<Value[]> {
	const values: Value[] = [];
	for (const item of items) values.push(yield* resolve(item, values.length));
	return values;
}

export type Resolved<Value> = { state: "ok"; value: Value; sources: Sources } | { state: "invalid"; problems: readonly Problem[] };

/** Runs a resolver to its end, or to more problems than are shown: the first problem of each pointer counts. */
export function collect<Value>(resolution: Resolution<Value>, origin: Origin): Resolved<Value> {
	const problems = new Map<string, Problem>();
	const sources = sourcesOf(origin);
	let step = resolution.next();
	for (; !step.done && problems.size <= maxErrors; step = resolution.next()) {
		const note = step.value;
		if (note.kind === "default") sources[note.pointer] ??= { kind: "default", ...(note.because && { because: note.because }) };
		else if (!problems.has(note.problem.pointer)) problems.set(note.problem.pointer, note.problem);
	}
	return step.done && problems.size === 0
		? { state: "ok", value: step.value, sources }
		: { state: "invalid", problems: [...problems.values()] };
}

function sourcesOf({ path, positions, inputs }: Origin): Record<string, Source> {
	const sources: Record<string, Source> = Object.create(null);
	for (const [pointer, { key, value }] of positions) sources[pointer] = { kind: "file", path, ...(key ?? value) };
	for (const [pointer, name] of inputs) sources[pointer] = { kind: "input", name };
	return sources;
}
