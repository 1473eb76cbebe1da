// Where values of the config come from, and problems as errors with their places.
import type { Location } from "../../../generated/result.ts";
import { type ConfigCode, ConfigError } from "../errors.ts";
import { formatPointer, parentPointer } from "../found.ts";
import { cleanText } from "../text/escape.ts";
import type { Config, Source } from "./config.ts";

const occasionLabels = {
	release: "default on a release",
	nightly: "default in a scheduled run",
};

type Placed = Pick<Config, "sources">;

export function formatSource({ sources }: Placed, pointer: string): string {
	const own = Object.hasOwn(sources, pointer) ? sources[pointer] : undefined;
	const isPart = ([at, { kind }]: [string, Source]) => at.startsWith(`${pointer}/`) && kind !== "default";
	const source = own ?? Object.entries(sources).find(isPart)?.[1] ?? { kind: "default" };
	switch (source.kind) {
		case "default":
			return source.because === undefined ? "default" : occasionLabels[source.because];
		case "input":
			return `input ${source.name}`;
		case "file":
			return cleanText(formatLocation(source));
	}
}

export function locate(config: Placed, pointer: string | undefined): Location | undefined {
	if (pointer === undefined) return undefined;
	const source = Object.hasOwn(config.sources, pointer) ? config.sources[pointer] : undefined;
	if (source?.kind !== "file") return locate(config, parentPointer(pointer));
	return { path: source.path, line: source.line, column: source.column };
}

export function placeOf(config: Placed, pointer: string): { location?: Location } {
	const location = locate(config, pointer);
	return location === undefined ? {} : { location };
}

export function placeOfInherited(
	config: Placed,
	{ holders, key }: { holders: readonly string[]; key: string },
): { location?: Location } {
	const place = holders.map((holder) => `${holder}${key}`).find((at) => Object.hasOwn(config.sources, at));
	return placeOf(config, place ?? holders.at(-1) ?? "");
}

export interface Position {
	line: number;
	column: number;
}

export interface EntryPosition {
	key?: Position;
	value: Position;
}

export interface Problem {
	code?: ConfigCode;
	pointer: string;
	says: string;
	expected?: string;
	fix: string;
	meant?: string | undefined;
	at?: "key" | "value";
}

export interface Origin {
	path: string;
	positions: ReadonlyMap<string, EntryPosition>;
	inputs: ReadonlyMap<string, string>;
}

const maxErrors = 50;

export function toErrors(problems: readonly Problem[], origin: Origin): ConfigError[] {
	// Lines are shorter than 2^20 characters.
	const order = ({ line = 0, column = 0 }: Partial<Position> = {}) => line * 2 ** 20 + column;
	const placed = problems.map((problem) => ({ problem, position: positionOf(problem, origin) }));
	placed.sort((left, right) => order(left.position) - order(right.position));
	const errors = placed
		.slice(0, maxErrors)
		.map(({ problem, position }) => toError(problem, position, origin));
	const beyond = placed[maxErrors]?.problem;
	if (beyond !== undefined) {
		const message = `${origin.path} has more errors than these ${maxErrors}.`;
		const fix = "Correct the first ones; they are often the cause.";
		errors.push(
			new ConfigError({ code: beyond.code ?? "config-value", message, location: { path: origin.path }, fix }),
		);
	}
	return errors;
}

function positionOf({ pointer, at }: Pick<Problem, "pointer" | "at">, origin: Origin): Position | undefined {
	if (inputOf(pointer, origin) !== undefined) return undefined;
	const entry = origin.positions.get(pointer);
	if (entry !== undefined) return at === "key" ? (entry.key ?? entry.value) : entry.value;
	const parent = parentPointer(pointer);
	return parent === undefined ? undefined : positionOf({ pointer: parent, at: "key" }, origin);
}

function inputOf(pointer: string, { inputs }: Origin) {
	const owner = [...inputs.keys()].find((key) => pointer === key || pointer.startsWith(`${key}/`));
	return owner === undefined ? undefined : inputs.get(owner);
}

function toError(problem: Problem, position: Position | undefined, origin: Origin) {
	const { code = "config-value", pointer, says, expected, fix, meant } = problem;
	const input = inputOf(pointer, origin);
	const location: Location = { path: origin.path, ...position };
	const where =
		input === undefined ? `${formatLocation(location)}: ${formatPointer(pointer)}` : `input ${input}`;
	const wanted = expected === undefined ? "" : `; expected ${expected}`;
	const guess = meant === undefined ? "" : ` Did you mean ${meant}?`;
	const message = `${where} ${says}${wanted}.${guess}`;
	return new ConfigError({ code, message, fix, pointer, ...(input === undefined ? { location } : {}) });
}

export function formatLocation({ path, line, column }: Location): string {
	return line === undefined ? path : `${path}:${line}:${column ?? 1}`;
}

export type Resolution<Value> = Generator<Problem, Value, void>;

export function* resolveEach<Item, Value>(
	items: Iterable<Item>,
	resolve: (item: Item, index: number) => Resolution<Value>,
): Resolution<Value[]> {
	const values: Value[] = [];
	for (const item of items) values.push(yield* resolve(item, values.length));
	return values;
}

export function collect<Value>(resolution: Resolution<Value>) {
	const problems = new Map<string, Problem>();
	let step = resolution.next();
	for (; !step.done && problems.size <= maxErrors; step = resolution.next())
		if (!problems.has(step.value.pointer)) problems.set(step.value.pointer, step.value);
	return step.done && problems.size === 0
		? ({ state: "ok", value: step.value } as const)
		: ({ state: "invalid", problems: [...problems.values()] } as const);
}

export function sourcesOf({ path, positions, inputs }: Origin): Record<string, Source> {
	const sources: Record<string, Source> = Object.create(null);
	for (const [pointer, { key, value }] of positions)
		sources[pointer] = { kind: "file", path, ...(key ?? value) };
	for (const [pointer, name] of inputs) sources[pointer] = { kind: "input", name };
	return sources;
}
