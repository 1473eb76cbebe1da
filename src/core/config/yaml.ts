// Reads YAML into values with positions, within bounds that keep hostile text cheap.
import {
	Composer,
	type CST,
	type Document,
	isScalar,
	Lexer,
	LineCounter,
	type ParsedNode,
	Parser,
	type YAMLError,
} from "yaml";
import { ConfigError } from "../errors.ts";
import { type EntryPosition, formatLocation, type Position } from "./problem.ts";
import { TreeWalk, type YamlProblem } from "./yaml-tree.ts";

const maxChars = 1_000_000;
const maxLexemes = 64_000;
const maxDepth = 40;

export type YamlResult =
	| { state: "ok"; value: unknown; positions: Map<string, EntryPosition> }
	| { state: "invalid"; errors: readonly ConfigError[] };

export function parseYaml(text: string, path: string): YamlResult {
	const invalid = (
		problems: readonly YamlProblem[],
		code: "config-syntax" | "config-unreadable" = "config-syntax",
	): YamlResult => {
		const errors = problems.map(({ says, fix, position }) => {
			const location = { path, ...position };
			return new ConfigError({ code, message: `${formatLocation(location)} ${says}.`, location, fix });
		});
		return { state: "invalid", errors };
	};
	const source = text.startsWith("\ufeff") ? text.slice(1) : text;
	const refusal = refuseText(source);
	if (refusal !== null) return invalid([refusal], "config-unreadable");
	const lines = new LineCounter();
	const place = (offset: number): Position => {
		const { line, col } = lines.linePos(offset);
		return { line: Math.max(1, line), column: Math.max(1, col) };
	};
	const document = readDocument(source, lines, place);
	if ("says" in document) return invalid([document]);
	const walk = new TreeWalk(place);
	const value = walk.toValue(document);
	return walk.problems.length > 0
		? invalid(walk.problems)
		: { state: "ok", value, positions: walk.positions };
}

function readDocument(
	source: string,
	lines: LineCounter,
	place: (offset: number) => Position,
): ParsedNode | YamlProblem {
	const tokens = tokenize(source, lines);
	if (tokens === null)
		return { says: `contains more than ${maxLexemes} words and symbols`, fix: tooLargeFix };
	const deep = tooDeep(tokens);
	if (deep !== null)
		return { says: `is nested more than ${maxDepth} levels deep`, fix: tooLargeFix, position: place(deep) };
	// The walk over the tree finds duplicate keys in linear time.
	const composer = new Composer({
		schema: "core",
		uniqueKeys: false,
		strict: true,
		logLevel: "silent",
		prettyErrors: false,
	});
	const documents = [...composer.compose(tokens, true, source.length)];
	const [fault] = documents
		.flatMap(({ errors, warnings }) => [...errors, ...warnings])
		.sort((a, b) => a.pos[0] - b.pos[0]);
	if (fault !== undefined) return { ...describe(fault), position: place(fault.pos[0]) };
	const [first, second] = documents as readonly Document.Parsed<ParsedNode>[];
	if (second !== undefined)
		return {
			says: "contains more than one YAML document",
			fix: "Keep one document in the file.",
			position: place(second.range[0]),
		};
	if (first?.contents == null || (isScalar(first.contents) && first.contents.value === null))
		return { says: "is empty", fix: "Write `version: 1` and `models:`, or run `trtgate init MODEL`." };
	return first.contents;
}

const tooLargeFix = "Check that this is the file you meant; split it into several configs if it is.";

function refuseText(source: string): YamlProblem | null {
	if (source.length > maxChars)
		return { says: `has ${source.length} characters; expected at most ${maxChars}`, fix: tooLargeFix };
	if (!source.includes("\0")) return null;
	return { says: "is not a text file: it contains NUL characters", fix: "Save it as UTF-8 text." };
}

/** Lexes and parses by hand, so that the parser can be stopped. */
function tokenize(source: string, lines: LineCounter): CST.Token[] | null {
	const parser = new Parser(lines.addNewLine);
	const tokens: CST.Token[] = [];
	let lexemes = 0;
	lines.addNewLine(0);
	for (const lexeme of new Lexer().lex(source)) {
		lexemes += 1;
		if (lexemes > maxLexemes) return null;
		for (const token of parser.next(lexeme)) tokens.push(token);
	}
	for (const token of parser.end()) tokens.push(token);
	return tokens;
}

/** Offset of the first token that is too deep, or null. Iterative, unlike the composer. */
function tooDeep(tokens: readonly CST.Token[]): number | null {
	const open = tokens.map((token) => ({ token, depth: 0 }));
	for (let next = open.pop(); next !== undefined; next = open.pop()) {
		const { token, depth } = next;
		if (depth > maxDepth) return token.offset;
		for (const child of children(token)) open.push({ token: child, depth: depth + 1 });
	}
	return null;
}

function children(token: CST.Token): CST.Token[] {
	if (token.type === "document") return token.value ? [token.value] : [];
	if (!("items" in token)) return [];
	return token.items.flatMap((item) => [item.key, item.value]).filter((child) => child != null);
}

function describe({ code, message }: YAMLError): Pick<YamlProblem, "says" | "fix"> {
	const fix =
		code === "TAB_AS_INDENT"
			? "Indent with spaces; YAML allows no tabs there."
			: "Correct the YAML at this place; text with special characters goes in quotes.";
	// The text after a colon comes from the file.
	return { says: `is not valid YAML: ${message.replace(/(: .*)?\.?$/s, "")}`, fix };
}
