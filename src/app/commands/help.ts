// Renders `--help` from a command's table.
import { type CommandTable, commonOptions, type Option } from "./arguments.ts";

const maxChars = 100;

export function usageOf({ name, usage, positionals }: CommandTable): string {
	return [`trtgate ${name}`, usage ?? positionals.join(" "), "[options]"]
		.filter((part) => part !== "")
		.join(" ");
}

export function optionForm([name, { value }]: [name: string, option: Option]): string {
	return `--${name}${value === undefined ? "" : ` ${value}`}`;
}

/** Empty for flags. */
export function defaultOf({ default: value, otherwise, required }: Option): string {
	if (required === true) return "required";
	return value ?? otherwise ?? "";
}

export function renderHelp(table: CommandTable): string {
	const common = `Options of every command:\n${optionLines(commonOptions)}`;
	return `Usage: ${usageOf(table)}\n${table.does}\n\n${sections(table)}\n${common}`;
}

function sections({ options, example }: CommandTable): string {
	const listed = Object.keys(options).length === 0 ? "" : `Options:\n${optionLines(options)}\n`;
	return `${listed}Example:\n  ${example}\n`;
}

function optionLines(options: CommandTable["options"]): string {
	return Object.entries(options)
		.map(([name, option]) => {
			const byDefault = defaultOf(option);
			const again = option.again === true ? " Repeatable." : "";
			const left = option.required === true ? " Required." : byDefault && ` Default: ${byDefault}.`;
			const text = `${option.does}${again}${left}`;
			return `  ${optionForm([name, option])}\n${wrapped(text, "      ")}\n`;
		})
		.join("");
}

function wrapped(text: string, indent: string): string {
	const lines: string[] = [];
	for (const word of text.split(" ")) {
		const last = lines.at(-1);
		if (last === undefined || last.length + 1 + word.length > maxChars - indent.length) lines.push(word);
		else lines[lines.length - 1] = `${last} ${word}`;
	}
	return lines.map((line) => indent + line).join("\n");
}
