// Parses the arguments of a command by its table and reads the files they name, with one clear error for each mistake.

import { resolve } from "node:path";
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { readInputText } from "../../adapters/process/input-file.ts";
import { didYouMean } from "../../core/config/did-you-mean.ts";
import { ConfigError } from "../../core/errors.ts";
import type { InputKind } from "../../core/input-kind.ts";

export interface Option {
	/** Placeholder of the value in the help, such as DIR; a flag has none. */
	value?: string;
	does: string;
	/** The value where the option is left out. */
	default?: string;
	/** The default in words, where it depends on something else. */
	otherwise?: string;
	required?: true;
	/** Repeatable. */
	again?: true;
	/** Takes all values up to the next option. */
	several?: true;
}

type Options = Readonly<Record<string, Option>>;

export interface CommandTable {
	/** Of one or two words. */
	name: string;
	positionals: readonly string[];
	/** What follows the name in the help, where it is not `positionals`. */
	usage?: string;
	does: string;
	options: Options;
	example: string;
	/** Other tables of the same command. */
	also?: readonly CommandTable[];
}

export const commonOptions = {
	quiet: { does: "Print no progress." },
	"no-color": { does: "Print without colours; setting NO_COLOR does the same." },
	help: { does: "Print this help." },
} as const satisfies Options;

interface Shape {
	positionals?: readonly string[];
	/** The last may be given again. */
	more?: boolean;
}

type NameIn<Known> = keyof Known & string;

export interface Arguments<Known> {
	/** The value of an option, or its default. */
	text<Name extends NameIn<Known>>(name: Name): Known[Name] extends { default: string } | { required: true } ? string : string | undefined;
	/** Every value of an option that may be given again. */
	texts(name: NameIn<Known>): readonly string[];
	flag(name: NameIn<Known & typeof commonOptions>): boolean;
	isGiven(name: NameIn<Known>): boolean;
	positionals: readonly string[];
}

export type ArgumentsOf<Table extends CommandTable> = Arguments<Table["options"]>;

/** @throws ConfigError usage. */
export function parseArguments<Table extends CommandTable>(argv: readonly string[], table: Table, shape: Shape = {}): ArgumentsOf<Table> {
	const known: Options = { ...commonOptions, ...table.options };
	const config = Object.fromEntries(Object.entries(known).map(([name, option]) => [name, parsingOf(option)]));
	const args = oneValueEach(argv, known);
	const parsed = parseArgs({ args, options: config, allowPositionals: true, strict: false, tokens: true });
	for (const token of parsed.tokens) if (token.kind === "option") checkOption(token, config, table);
	checkPositionals(parsed.positionals, table, shape);
	checkRequired(parsed.values, table);
	const values = new Map(Object.entries(parsed.values));
	const textOf = (name: string): string | undefined => {
		const value = values.get(name) ?? known[name]?.default;
		return typeof value === "string" ? value : undefined;
	};
	return {
		text: textOf as ArgumentsOf<Table>["text"],
		texts: (name) => [values.get(name)].flat().filter((item) => typeof item === "string"),
		flag: (name) => values.get(name) === true,
		isGiven: (name) => values.has(name),
		positionals: parsed.positionals,
	};
}

function parsingOf({ value, again, several }: Option): ParseArgsOptionsConfig[string] {
	return { type: value === undefined ? "boolean" : "string", multiple: again === true || several === true };
}

/** `--rtol 1e-5 out:1e-3` becomes `--rtol=1e-5 --rtol=out:1e-3`; without a value `--rtol=`, which is refused. */
function oneValueEach(argv: readonly string[], known: Options): string[] {
	let open: string | null = null;
	return argv.flatMap((word, index) => {
		if (!word.startsWith("--")) return [open === null ? word : `${open}=${word}`];
		const name = word.slice(2);
		open = Object.hasOwn(known, name) && known[name]?.several === true ? word : null;
		if (open === null) return [word];
		return argv[index + 1]?.startsWith("--") === false ? [] : [`${open}=`];
	});
}

interface OptionToken {
	name: string;
	rawName: string;
	value: string | undefined;
}

function checkOption(token: OptionToken, known: ParseArgsOptionsConfig, table: CommandTable): void {
	const option = Object.hasOwn(known, token.name) ? known[token.name] : undefined;
	const names = [known, ...(table.also ?? []).map(({ options }) => options)].flatMap(Object.keys);
	if (option === undefined) throw usage(table, `Unknown option ${token.rawName}.`, didYouMean(token.name, names));
	if (option.type === "string" && (token.value === undefined || token.value === "")) throw usage(table, `${token.rawName} needs a value.`);
	if (option.type === "boolean" && token.value !== undefined) throw usage(table, `${token.rawName} takes no value.`);
}

function checkPositionals(given: readonly string[], table: CommandTable, { positionals = table.positionals, more = false }: Shape): void {
	if (more ? given.length >= positionals.length : given.length === positionals.length) return;
	const wanted = positionals.length === 0 ? "no arguments" : positionals.join(" ");
	throw usage(table, `Expected ${wanted}; got ${given.length === 0 ? "none" : JSON.stringify(given.join(" "))}.`);
}

function checkRequired(given: Readonly<Record<string, unknown>>, table: CommandTable): void {
	const missing = Object.entries(table.options).find(([name, { required }]) => required === true && given[name] === undefined);
	if (missing === undefined) return;
	const [name, { value, does }] = missing;
	const fix = `Add --${name} ${value}: ${does[0]?.toLowerCase()}${does.slice(1)}`;
	throw new ConfigError({ code: "usage", message: `${table.name} needs --${name}.`, fix });
}

function usage(table: CommandTable, message: string, suggestion?: string): ConfigError {
	const fix = suggestion === undefined ? `\`trtgate ${table.name} --help\` lists its options.` : `Did you mean --${suggestion}?`;
	return new ConfigError({ code: "usage", message, fix });
}

/** @throws ConfigError by the kind where it cannot be read. */
export async function readArgument(path: string, cwd: string, kind: InputKind): Promise<{ path: string; text: string }> {
	return { path, text: await readInputText(resolve(cwd, path), kind, path) };
}
