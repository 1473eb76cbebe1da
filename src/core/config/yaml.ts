// Reads YAML text into plain values with the place of each, within bounds: hostile text costs little and crashes nothing.
import { Composer, type CST, type Document, isScalar, Lexer, LineCounter, type ParsedNode, Parser, type YAMLError } from "yaml";
import { ConfigError } from "../errors.ts";
import { type EntryPosition, formatLocation, type Position } from "./problem.ts";
import { walkTree } from "./yaml-tree.ts";

/** A config of a hundred models takes about 60 kB. */
const maxChars = 1_000_000;
/** Words and signs of the text; bounds the work of the parser. */
const maxLexemes = 64_000;
/** Deeper than any config needs; bounds the recursion of what follows. */
const maxDepth = 40;

export type YamlResult =
	| { state: "ok"; value: unknown; positions: Map<string, EntryPosition> }
	| { state: "invalid"; errors: readonly ConfigError[] };

type Parsed = Document.Parsed<ParsedNode>;

export function parseYaml(text: string, path: string): YamlResult {
	const fault = (problem: SyntaxProblem) => ({ state: "invalid" as const, errors: [syntaxError(path, problem)] });
	// A byte order mark does not count as a column of the first line.
	const source = text.startsWith("\ufeff") ? text.slice(1) : text;
	const refusal = refuseText(source);
	if (refusal !== null) return fault(refusal);
	const lines = new LineCounter();
	const tokens = tokenize(source, lines);
	if (tokens === null) return fault({ says: `contains more than ${maxLexemes} words and symbols`, fix: tooLargeFix });
	const place = (offset: number): Position => {
		const { line, col } = lines.linePos(offset);
		return { line: Math.max(1, line), column: Math.max(1, col) };
	};
	const deep = tooDeep(tokens);
	if (deep !== null) return fault({ says: `is nested more than ${maxDepth} levels deep`, fix: tooLargeFix, position: place(deep) });
	const documents = compose(tokens, source.length);
	const faults = documents.flatMap((document) => [...document.errors, ...document.warnings]).sort((a, b) => a.pos[0] - b.pos[0]);
	const [first, second] = documents;
	if (faults.length > 0) return { state: "invalid", errors: faults.slice(0, 1).map((error) => syntaxError(path, describe(error, place))) };
	if (second !== undefined)
		return fault({ says: "contains more than one YAML document", fix: "Keep one document in the file.", position: place(second.range[0]) });
	if (first?.contents == null || (isScalar(first.contents) && first.contents.value === null))
		return fault({ says: "is empty", fix: "Write `version: 1` and `models:`, or let `trtgate init MODEL` write the file." });
	return toResult(first.contents, path, place);
}

const tooLargeFix = "Check that this is the file you meant; split it into several configs if it is.";

interface SyntaxProblem {
	/** Follows the name of the file. */
	says: string;
	fix: string;
	position?: Position;
	code?: "config-unreadable";
}

function syntaxError(path: string, { says, fix, position, code }: SyntaxProblem): ConfigError {
	const location = { path, ...position };
	return new ConfigError({ code: code ?? "config-syntax", message: `${formatLocation(location)} ${says}.`, location, fix });
}

function refuseText(source: string): SyntaxProblem | null {
	if (source.length > maxChars) {
		return { says: `has ${source.length} characters; expected at most ${maxChars}`, fix: tooLargeFix, code: "config-unreadable" };
	}
	if (source.includes("\0"))
		return { says: "is not a text file: it contains NUL characters", fix: "Save it as UTF-8 text.", code: "config-unreadable" };
	return null;
}

/** Lexed and parsed by hand, so that the parser can be stopped. */
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

/** Offset of the first token below the deepest level allowed, or null. Iterative: the composer is not. */
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

function compose(tokens: CST.Token[], length: number): Parsed[] {
	// Keys are compared by the walk over the tree: there both positions are known, and the cost stays linear.
	const composer = new Composer({ schema: "core", uniqueKeys: false, strict: true, logLevel: "silent", prettyErrors: false });
	return [...composer.compose(tokens, true, length)];
}

const advice: Readonly<Record<string, string>> = {
	TAB_AS_INDENT: "Indent with spaces; YAML allows no tabs there.",
	BAD_INDENT: "Give all keys of one mapping the same indentation.",
	TAG_RESOLVE_FAILED: "Remove the tag: a config needs none.",
	BAD_DIRECTIVE: "Remove the line that starts with %.",
	BLOCK_AS_IMPLICIT_KEY: "Put the nested key on its own line, or the text in quotes.",
	BAD_DQ_ESCAPE: "In double quotes a backslash begins an escape: write / in paths, or use single quotes.",
	MISSING_CHAR: "Close the quote or bracket.",
};

function describe(error: YAMLError, place: (offset: number) => Position): SyntaxProblem {
	// What follows a colon is taken from the file.
	const message = error.message.replace(/(: .*)?\.?$/s, "");
	// A flow collection left open ends where the indentation does, and that is how the parser notices.
	const code = /must be sufficiently indented and end with/.test(message) ? "MISSING_CHAR" : error.code;
	return {
		says: `is not valid YAML: ${message}`,
		fix: advice[code] ?? "Correct the YAML at this place; text with special characters goes in quotes.",
		position: place(error.pos[0]),
	};
}

function toResult(contents: ParsedNode, path: string, place: (offset: number) => Position): YamlResult {
	const tree = walkTree(contents, place);
	return tree.state === "ok" ? tree : { state: "invalid", errors: tree.problems.map((problem) => syntaxError(path, problem)) };
}
