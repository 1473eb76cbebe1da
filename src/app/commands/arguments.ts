// Parses arguments by a command's table, and renders its `--help`.
import { resolve } from "node:path";
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { readInputText } from "../../adapters/process/input-file.ts";
import { durationOf } from "../../core/config/values.ts";
import { type ConfigError, usageError } from "../../core/errors.ts";
import { didYouMean } from "../../core/found.ts";
import type { InputKind } from "../../core/input-kind.ts";
import { wrapText } from "../../core/report/terminal.ts";

export interface Option {
	/** Placeholder such as DIR, or choices such as `text|json`; flags have none. */
	value?: string;
	does: string;
	default?: string;
	otherwise?: string;
	required?: true;
	again?: true;
}

type Options = Readonly<Record<string, Option>>;

export interface CommandTable {
	name: string;
	positionals: readonly string[];
	usage?: string;
	does: string;
	options: Options;
	example: string;
}

export const commonOptions = {
	quiet: { does: "Print no progress." },
	"no-color": { does: "Print without colours; setting NO_COLOR does the same." },
	help: { does: "Print this help." },
} as const satisfies Options;

interface Shape {
	positionals?: readonly string[];
	/** The last may be repeated. */
	more?: boolean;
}

type NameIn<Known> = keyof Known & string;
type WordIn<Choices extends string> = Choices extends `${infer First}|${infer Others}`
	? First | WordIn<Others>
	: Choices;
type ValueOf<Known> = Known extends { value: infer Value extends string }
	? Value extends Lowercase<Value>
		? WordIn<Value>
		: string
	: string;

interface Arguments<Known> {
	text<Name extends NameIn<Known>>(
		name: Name,
	): Known[Name] extends { default: string } | { required: true }
		? ValueOf<Known[Name]>
		: ValueOf<Known[Name]> | undefined;
	given<Name extends NameIn<Known>>(...names: Name[]): { [Each in Name]?: string };
	texts(name: NameIn<Known>): readonly string[];
	flag(name: NameIn<Known & typeof commonOptions>): boolean;
	isGiven(name: NameIn<Known>): boolean;
	positionals: readonly string[];
}

export type ArgumentsOf<Table extends CommandTable> = Arguments<Table["options"]>;

export function parseArguments<Table extends CommandTable>(
	argv: readonly string[],
	table: Table,
	shape: Shape = {},
): ArgumentsOf<Table> {
	const known: Options = { ...commonOptions, ...table.options };
	const config = Object.fromEntries(Object.entries(known).map(([name, option]) => [name, parsingOf(option)]));
	const parsed = parseArgs({
		args: [...argv],
		options: config,
		allowPositionals: true,
		strict: false,
		tokens: true,
	});
	for (const token of parsed.tokens) if (token.kind === "option") checkOption(token, known, table);
	checkPositionals(parsed.positionals, table, shape);
	checkRequired(parsed.values, table);
	const values = new Map(Object.entries(parsed.values));
	const textOf = (name: string) => {
		const value = values.get(name) ?? known[name]?.default;
		return typeof value === "string" ? value : undefined;
	};
	return {
		text: textOf as ArgumentsOf<Table>["text"],
		given: (...names) =>
			Object.fromEntries(
				names.flatMap((name) => (values.has(name) ? [[name, textOf(name) ?? ""]] : [])),
			) as object,
		texts: (name) => [values.get(name)].flat().filter((item) => typeof item === "string"),
		flag: (name) => values.get(name) === true,
		isGiven: (name) => values.has(name),
		positionals: parsed.positionals,
	};
}

function parsingOf({ value, again }: Option): ParseArgsOptionsConfig[string] {
	return { type: value === undefined ? "boolean" : "string", multiple: again === true };
}

function checkOption(
	{ name, rawName, value }: { name: string; rawName: string; value: string | undefined },
	known: Options,
	table: CommandTable,
): void {
	const option = Object.hasOwn(known, name) ? known[name] : undefined;
	if (option === undefined)
		throw usage(table, `Unknown option ${rawName}.`, didYouMean(name, Object.keys(known)));
	if (option.value === undefined && value !== undefined) throw usage(table, `${rawName} takes no value.`);
	if (option.value !== undefined && !value) throw usage(table, `${rawName} needs a value.`);
	const choices =
		option.value !== undefined && /^[a-z\d]+(\|[a-z\d]+)+$/.test(option.value) ? option.value.split("|") : [];
	if (value === undefined || choices.length === 0 || choices.includes(value)) return;
	throw misused(rawName, `one of ${choices.join(", ")}`, value);
}

export function misused(option: string, expected: string, got: string): ConfigError {
	return usageError(
		`${option} is ${JSON.stringify(got)}; expected ${expected}.`,
		"Correct it, or leave it out.",
	);
}

/** In ms. @throws ConfigError usage. */
export function parseTime(option: string, text: string): number {
	const durationMs = durationOf(text);
	if (Number.isFinite(durationMs)) return durationMs;
	throw misused(option, "a time with its unit, such as 2m", text);
}

function checkPositionals(
	given: readonly string[],
	table: CommandTable,
	{ positionals = table.positionals, more = false }: Shape,
): void {
	if (more ? given.length >= positionals.length : given.length === positionals.length) return;
	const wanted = positionals.length === 0 ? "no arguments" : positionals.join(" ");
	throw usage(
		table,
		`Expected ${wanted}; got ${given.length === 0 ? "none" : JSON.stringify(given.join(" "))}.`,
	);
}

function checkRequired(given: Readonly<Record<string, unknown>>, table: CommandTable): void {
	const missing = Object.entries(table.options).find(
		([name, { required }]) => required === true && given[name] === undefined,
	);
	if (missing === undefined) return;
	const [name, { value, does }] = missing;
	throw usageError(
		`${table.name} needs --${name}.`,
		`Add --${name} ${value}: ${does[0]?.toLowerCase()}${does.slice(1)}`,
	);
}

function usage(table: CommandTable, message: string, suggestion?: string) {
	return usageError(
		message,
		suggestion === undefined
			? `\`trtgate ${table.name} --help\` lists its options.`
			: `Did you mean --${suggestion}?`,
	);
}

export async function readArgument(
	path: string,
	cwd: string,
	kind: InputKind,
): Promise<{ path: string; text: string }> {
	return { path, text: await readInputText(resolve(cwd, path), kind, path) };
}

const maxChars = 100;

export function usageOf({ name, usage, positionals }: CommandTable): string {
	return [`trtgate ${name}`, usage ?? positionals.join(" "), "[options]"]
		.filter((part) => part !== "")
		.join(" ");
}

export function optionForm([name, { value }]: [name: string, option: Option]): string {
	return `--${name}${value === undefined ? "" : ` ${value}`}`;
}

export function defaultOf({ default: value, otherwise, required }: Option): string {
	if (required === true) return "required";
	return value ?? otherwise ?? "";
}

export function renderHelp(table: CommandTable): string {
	const common = `Options of every command:\n${optionLines(commonOptions)}`;
	return `Usage: ${usageOf(table)}\n${table.does}\n\n${sections(table)}\n${common}`;
}

function sections({ options, example }: CommandTable) {
	const listed = Object.keys(options).length === 0 ? "" : `Options:\n${optionLines(options)}\n`;
	return `${listed}Example:\n  ${example}\n`;
}

function optionLines(options: CommandTable["options"]) {
	return Object.entries(options)
		.map(([name, option]) => {
			const byDefault = defaultOf(option);
			const again = option.again === true ? " Repeatable." : "";
			const left = option.required === true ? " Required." : byDefault && ` Default: ${byDefault}.`;
			const text = `${option.does}${again}${left}`;
			return `  ${optionForm([name, option])}\n${wrapped(text)}\n`;
		})
		.join("");
}

const indent = "      ";

function wrapped(text: string) {
	return wrapText(text, maxChars - indent.length)
		.map((line) => indent + line)
		.join("\n");
}
