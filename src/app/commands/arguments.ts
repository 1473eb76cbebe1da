// Parses a command's own options, with one clear error for what it does not know.
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { didYouMean } from "../../core/config/did-you-mean.ts";
import { ConfigError } from "../../core/errors.ts";

const everywhere = { quiet: { type: "boolean" }, "no-color": { type: "boolean" } } as const satisfies ParseArgsOptionsConfig;

interface Shape {
	command: string;
	positionals: readonly string[];
	/** The last may be given again. */
	more?: boolean;
}

export interface Arguments {
	/** The value of a string option. */
	text(name: string): string | undefined;
	/** Every value of a string option that may be given again. */
	texts(name: string): readonly string[];
	flag(name: string): boolean;
	positionals: readonly string[];
}

/** @throws ConfigError usage. */
export function parseArguments(argv: readonly string[], options: ParseArgsOptionsConfig, shape: Shape): Arguments {
	const known = { ...everywhere, ...options };
	const parsed = parseArgs({ args: [...argv], options: known, allowPositionals: true, strict: false, tokens: true });
	for (const token of parsed.tokens) if (token.kind === "option") checkOption(token, known, shape);
	const { length } = parsed.positionals;
	if (shape.more === true ? length < shape.positionals.length : length !== shape.positionals.length) {
		const wanted = shape.positionals.length === 0 ? "no arguments" : shape.positionals.join(" ");
		throw usage(
			shape,
			`Expected ${wanted}; got ${parsed.positionals.length === 0 ? "none" : JSON.stringify(parsed.positionals.join(" "))}.`,
		);
	}
	const values = new Map(Object.entries(parsed.values));
	const text = (name: string): string | undefined => {
		const value = values.get(name);
		return typeof value === "string" ? value : undefined;
	};
	const texts = (name: string): readonly string[] => {
		const value = values.get(name);
		return (Array.isArray(value) ? value : [value]).filter((item) => typeof item === "string");
	};
	return { text, texts, flag: (name) => values.get(name) === true, positionals: parsed.positionals };
}

interface OptionToken {
	name: string;
	rawName: string;
	value: string | undefined;
}

function checkOption(token: OptionToken, known: ParseArgsOptionsConfig, shape: { command: string }): void {
	const option = Object.hasOwn(known, token.name) ? known[token.name] : undefined;
	if (option === undefined) throw usage(shape, `There is no option ${token.rawName}.`, didYouMean(token.name, Object.keys(known)));
	if (option.type === "string" && (token.value === undefined || token.value === "")) throw usage(shape, `${token.rawName} needs a value.`);
	if (option.type === "boolean" && token.value !== undefined) throw usage(shape, `${token.rawName} takes no value.`);
}

function usage(shape: { command: string }, message: string, suggestion?: string): ConfigError {
	const fix = suggestion === undefined ? `\`trtgate ${shape.command} --help\` shows how it is used.` : `Did you mean --${suggestion}?`;
	return new ConfigError({ code: "usage", message, details: { fix } });
}
