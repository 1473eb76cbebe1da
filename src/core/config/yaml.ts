// Reads YAML into values with positions, within bounds that keep hostile text cheap.
import {
	type Alias,
	Composer,
	type CST,
	type Document,
	isAlias,
	isMap,
	isScalar,
	Lexer,
	LineCounter,
	type ParsedNode,
	Parser,
	type Scalar,
	type YAMLError,
	type YAMLMap,
	type YAMLSeq,
} from "yaml";
import { ConfigError } from "../errors.ts";
import { childPointer, formatName } from "../found.ts";
import { type EntryPosition, formatLocation, type Position } from "./source.ts";

const maxChars = 1_000_000;
const maxLexemes = 64_000;
const maxDepth = 40;

type YamlResult =
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

function readDocument(source: string, lines: LineCounter, place: (offset: number) => Position) {
	const tokens = tokenize(source, lines);
	if (!Array.isArray(tokens)) return { ...tokens, position: place(tokens.offset) };
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

function refuseText(source: string) {
	if (source.length > maxChars)
		return { says: `has ${source.length} characters; expected at most ${maxChars}`, fix: tooLargeFix };
	if (!source.includes("\0")) return null;
	return { says: "is not a text file: it contains NUL characters", fix: "Save it as UTF-8 text." };
}

/** Lexes and parses by hand to stop at what is too much; the composer would call itself for each level. */
function tokenize(source: string, lines: LineCounter) {
	const parser = new Parser(lines.addNewLine);
	const tokens: CST.Token[] = [];
	let lexemes = 0;
	lines.addNewLine(0);
	for (const lexeme of new Lexer().lex(source)) {
		const { offset } = parser;
		lexemes += 1;
		if (lexemes > maxLexemes)
			return { says: `contains more than ${maxLexemes} words and symbols`, fix: tooLargeFix, offset };
		for (const token of parser.next(lexeme)) tokens.push(token);
		if (parser.stack.length > maxDepth + 1)
			return { says: `is nested more than ${maxDepth} levels deep`, fix: tooLargeFix, offset };
	}
	for (const token of parser.end()) tokens.push(token);
	return tokens;
}

function describe({ code, message }: YAMLError) {
	const fix =
		code === "TAB_AS_INDENT"
			? "Indent with spaces; YAML allows no tabs there."
			: "Correct the YAML at this place; text with special characters goes in quotes.";
	// The text after a colon comes from the file.
	return { says: `is not valid YAML: ${message.replace(/(: .*)?\.?$/s, "")}`, fix };
}

/** Counts repeated values again, which stops alias bombs. */
const maxValues = 20_000;
const maxProblems = 20;

interface YamlProblem {
	says: string;
	fix: string;
	position?: Position;
}

interface NodePosition {
	pointer: string;
	depth: number;
	key?: Position;
}

class TreeWalk {
	readonly positions = new Map<string, EntryPosition>();
	readonly problems: YamlProblem[] = [];
	readonly #place: (offset: number) => Position;
	readonly #anchors = new Map<string, ParsedNode>();
	readonly #open = new Set<ParsedNode>();
	#valuesLeft = maxValues;

	constructor(place: (offset: number) => Position) {
		this.#place = place;
	}

	toValue(node: ParsedNode | null, at: NodePosition = { pointer: "", depth: 0 }): unknown {
		if (!this.#mayGoOn(node, at)) return null;
		if (isAlias(node)) return this.#followAlias(node, at);
		const position = node?.range ? this.#place(node.range[0]) : (at.key ?? { line: 1, column: 1 });
		this.positions.set(
			at.pointer,
			at.key === undefined ? { value: position } : { key: at.key, value: position },
		);
		if (node === null) return null;
		if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
		if (isScalar(node))
			return typeof node.value === "number" && textPointers.test(at.pointer) ? textOf(node) : node.value;
		this.#open.add(node);
		const value = isMap(node) ? this.#toMapping(node, at) : this.#toList(node, at);
		this.#open.delete(node);
		return value;
	}

	#mayGoOn(node: ParsedNode | null, at: NodePosition): boolean {
		if (this.#isOver()) return false;
		this.#valuesLeft -= 1;
		const isTooLong = this.#valuesLeft < 0;
		if (!isTooLong && at.depth <= maxDepth) return true;
		this.#valuesLeft = -1;
		this.problems.length = 0;
		const says = isTooLong
			? `contains more than ${maxValues} values, aliases resolved`
			: `is nested more than ${maxDepth} levels deep`;
		this.#report(node?.range?.[0] ?? 0, says, "Use fewer and smaller aliases, or split the file.");
		return false;
	}

	#isOver(): boolean {
		return this.#valuesLeft < 0 || this.problems.length >= maxProblems;
	}

	#report(offset: number, says: string, fix: string): null {
		this.problems.push({ says, fix, position: this.#place(offset) });
		return null;
	}

	#followAlias(node: Alias.Parsed, at: NodePosition): unknown {
		const target = this.#anchors.get(node.source);
		const name = formatName(node.source);
		if (target !== undefined && !this.#open.has(target)) return this.toValue(target, at);
		const says =
			target === undefined
				? `names the alias ${name}, which no anchor before it has`
				: `contains an alias ${name} inside the value that it repeats`;
		return this.#report(node.range[0], says, "Repeat the value itself.");
	}

	#toMapping(node: YAMLMap.Parsed, { pointer, depth }: NodePosition): Record<string, unknown> {
		// Without a prototype, __proto__ and toString are ordinary names.
		const mapping: Record<string, unknown> = Object.create(null);
		const seen = new Map<string, Position>();
		for (const { key, value } of node.items) {
			if (this.#isOver()) break;
			const offset = key?.range?.[0] ?? value?.range?.[0] ?? 0;
			const name = isScalar(key) ? textOf(key) : "";
			const fault = keyFault(key, seen.get(name));
			if (fault !== null) this.#report(offset, fault.says, fault.fix);
			else {
				seen.set(name, this.#place(offset));
				mapping[name] = this.toValue(value, {
					pointer: childPointer(pointer, name),
					depth: depth + 1,
					key: this.#place(offset),
				});
			}
		}
		return mapping;
	}

	#toList(node: YAMLSeq.Parsed, { pointer, depth }: NodePosition): unknown[] {
		const list: unknown[] = [];
		for (const [index, item] of node.items.entries()) {
			if (this.#isOver()) break;
			list.push(this.toValue(item, { pointer: `${pointer}/${index}`, depth: depth + 1 }));
		}
		return list;
	}
}

function keyFault(key: ParsedNode, before: Position | undefined) {
	if (!isScalar(key)) return { says: "has a key that is not plain text", fix: "Write the key as text." };
	if (textOf(key) === "<<" && key.type === "PLAIN")
		return { says: 'uses the merge key "<<", which YAML 1.2 does not have', fix: "Repeat the keys." };
	if (before === undefined) return null;
	const first = `the first is at line ${before.line}, column ${before.column}`;
	const says = `has the key ${formatName(textOf(key))} a second time; ${first}`;
	return { says, fix: "Rename or remove one of the two." };
}

function textOf(node: Scalar) {
	return typeof node.value === "string" ? node.value : (node.source ?? String(node.value));
}

/** Versions, refs and names may look like numbers (10.10, 12e4567). */
const textPointers = /^\/(preflight\/tensorrt|baseline\/ref)$|\/workloads\/\d+\/name$/;
