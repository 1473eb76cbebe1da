import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commandTables } from "../../src/app/cli.ts";
import { type CommandTable, commonOptions, parseArguments } from "../../src/app/commands/arguments.ts";
import { blocksOf, codeSpansOf, pages as documentation } from "../support/pages.ts";

const tables: readonly CommandTable[] = commandTables;

function sources(folder: string, ending: RegExp): { path: string; text: string }[] {
	return readdirSync(folder, { recursive: true, encoding: "utf8" })
		.filter((name) => ending.test(name))
		.map((name) => ({ path: join(folder, name), text: readFileSync(join(folder, name), "utf8") }));
}

describe.each(tables)("$name", (table) => {
	it("a command has an example that its own table parses", () => {
		const words = table.example.split(" ").slice(1);
		expect(words.join(" ").startsWith(table.name)).toBe(true);
		const argv = words.slice(table.name.split(" ").length);
		expect(
			parseArguments(argv, table, { more: /…|\[/.test(table.usage ?? "") }).positionals.length,
		).toBeGreaterThanOrEqual(table.positionals.length);
	});

	it("a command lists no option that no code reads", () => {
		const code = sources("src", /(?:^|\/)app\/.*\.ts$/).filter(({ path }) => !path.endsWith("tables.ts"));
		for (const name of Object.keys(table.options))
			expect(
				code.filter(({ text }) => text.includes(`"${name}"`)).map(({ path }) => path),
				name,
			).not.toEqual([]);
	});
});

/** What a command of a page gets wrong: an option, its value, or more arguments than its usage has. */
function faultOf(words: string, table: CommandTable): string | undefined {
	const argv = [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
	const { usage = table.positionals.join(" ") } = table;
	const most = usage.includes("…") ? Infinity : (usage.split(/ \| | ?--/)[0]?.match(/\S+/g)?.length ?? 0);
	try {
		const { positionals } = parseArguments(argv, { ...table, positionals: [] }, { more: true });
		return positionals.length > most ? `takes ${most} arguments` : undefined;
	} catch (error) {
		return String(error);
	}
}

describe("pages", () => {
	const pages = [
		...["README.md", "CONTRIBUTING.md"].map((path) => ({ path, text: readFileSync(path, "utf8") })),
		...["docs", "examples", "workflows-examples"].flatMap((folder) => sources(folder, /\.(md|ya?ml)$/)),
		...sources("src", /\.ts$/),
	];

	it("pages show no command and no option that there is not", () => {
		let seen = 0;
		const wrong = pages.flatMap(({ path, text }) =>
			[...text.matchAll(/\btrtgate ((?:golden )?[a-z]+)\b([^\n`;"]*)/g)].flatMap(
				([line, name = "", rest = ""]) => {
					const own = tables.filter((table) => table.name === name || table.name.startsWith(`${name} `));
					const options = [...rest.matchAll(/(?<=\s|\[|^)--([a-z][a-z-]*)/g)].map(
						([, option = ""]) => option,
					);
					if (own.length === 0) return options.length === 0 ? [] : [`${path}: ${line}`];
					seen += options.length;
					const known = new Set(own.flatMap((table) => Object.keys({ ...table.options, ...commonOptions })));
					return options
						.filter((option) => !known.has(option))
						.map((option) => `${path}: trtgate ${name} --${option}`);
				},
			),
		);
		expect(wrong).toEqual([]);
		expect(seen).toBeGreaterThan(30);
	});

	it("the documentation shows commands with the arguments and values that they take", () => {
		const shown = documentation.flatMap((path) => [
			...blocksOf(path, "sh").flatMap((block) => block.replaceAll("\\\n", " ").split("\n")),
			...codeSpansOf(path).filter((span) => / .* /.test(span)),
		]);
		const judged = shown.flatMap((line) => {
			const words = /^(?:npx trtgate|node dist\/cli\.js|trtgate) ([^#|…]+)/.exec(line)?.[1] ?? "";
			const table = tables.find(({ name }) => words.startsWith(`${name} `));
			return table === undefined ? [] : [{ line, fault: faultOf(words.slice(table.name.length), table) }];
		});
		expect(judged.filter(({ fault }) => fault !== undefined)).toEqual([]);
		expect(judged.length).toBeGreaterThan(50);
	});
});
