// Turns YAML nodes into plain values without prototypes, with the place of each; refuses what a config never needs.
import { type Alias, isAlias, isMap, isScalar, isSeq, type Pair, type ParsedNode, type Scalar, type YAMLMap, type YAMLSeq } from "yaml";
import { childPointer, formatName } from "./pointer.ts";
import type { EntryPosition, Position } from "./problem.ts";

/** Values of the file, those that aliases repeat counted again: an alias bomb ends here. */
const maxValues = 20_000;
/** Aliases may nest what the text does not. */
const maxDepth = 40;
const maxProblems = 20;

export interface TreeProblem {
	/** Follows the name and place of the file. */
	says: string;
	fix: string;
	position: Position;
}

export type Tree =
	| { state: "ok"; value: unknown; positions: Map<string, EntryPosition> }
	| { state: "invalid"; problems: readonly TreeProblem[] };

interface Walk {
	place(offset: number): Position;
	positions: Map<string, EntryPosition>;
	anchors: Map<string, ParsedNode>;
	/** Nodes with an anchor around the current one. */
	open: Set<ParsedNode>;
	valuesLeft: number;
	problems: TreeProblem[];
}

interface NodePosition {
	pointer: string;
	depth: number;
	key?: Position;
}

export function walkTree(root: ParsedNode, place: (offset: number) => Position): Tree {
	const walk: Walk = { place, positions: new Map(), anchors: new Map(), open: new Set(), valuesLeft: maxValues, problems: [] };
	const value = toValue(walk, root, { pointer: "", depth: 0 });
	return walk.problems.length > 0 ? { state: "invalid", problems: walk.problems } : { state: "ok", value, positions: walk.positions };
}

function toValue(walk: Walk, node: ParsedNode | null, at: NodePosition): unknown {
	if (!mayGoOn(walk, node, at)) return null;
	const position = node?.range ? walk.place(node.range[0]) : (at.key ?? { line: 1, column: 1 });
	if (isAlias(node)) return followAlias(walk, node, at);
	walk.positions.set(at.pointer, at.key === undefined ? { value: position } : { key: at.key, value: position });
	if (node === null) return null;
	const anchor = node.anchor;
	if (anchor !== undefined) walk.anchors.set(anchor, node);
	walk.open.add(node);
	const value = isMap(node) ? toMapping(walk, node, at) : isSeq(node) ? toList(walk, node, at) : toScalar(node, at);
	walk.open.delete(node);
	return value;
}

function mayGoOn(walk: Walk, node: ParsedNode | null, at: NodePosition): boolean {
	walk.valuesLeft -= 1;
	if (walk.valuesLeft < 0 || at.depth > maxDepth) {
		const says =
			walk.valuesLeft < 0 ? `contains more than ${maxValues} values, aliases resolved` : `is nested more than ${maxDepth} levels deep`;
		stop(walk, { says, fix: "Use fewer and smaller aliases, or split the file.", position: walk.place(node?.range?.[0] ?? 0) });
	}
	return walk.problems.length < maxProblems;
}

/** Makes every further step return at once. */
function stop(walk: Walk, problem: TreeProblem): void {
	if (walk.valuesLeft === Number.NEGATIVE_INFINITY) return;
	walk.valuesLeft = Number.NEGATIVE_INFINITY;
	walk.problems.unshift(problem);
	walk.problems.length = 1;
}

function reportProblem(walk: Walk, offset: number, problem: Omit<TreeProblem, "position">): null {
	walk.problems.push({ ...problem, position: walk.place(offset) });
	return null;
}

function followAlias(walk: Walk, node: Alias.Parsed, at: NodePosition): unknown {
	const target = walk.anchors.get(node.source);
	const name = formatName(node.source);
	const offset = node.range[0];
	if (target === undefined) {
		return reportProblem(walk, offset, {
			says: `names the alias ${name}, which no anchor before it has`,
			fix: "Correct the name, or repeat the value itself.",
		});
	}
	if (walk.open.has(target))
		return reportProblem(walk, offset, { says: `contains an alias ${name} inside the value that it repeats`, fix: "Remove the alias." });
	return toValue(walk, target, at);
}

function toMapping(walk: Walk, node: YAMLMap.Parsed, at: NodePosition): Record<string, unknown> {
	// No prototype: a model named __proto__ or toString is a name like any other.
	const mapping: Record<string, unknown> = Object.create(null);
	const seen = new Map<string, Position>();
	for (const pair of node.items) {
		const key = keyOf(walk, pair, seen);
		if (key === null) continue;
		const child = { pointer: childPointer(at.pointer, key.name), depth: at.depth + 1, key: key.position };
		mapping[key.name] = toValue(walk, pair.value, child);
		if (walk.valuesLeft < 0 || walk.problems.length >= maxProblems) break;
	}
	return mapping;
}

function keyOf(
	walk: Walk,
	pair: Pair<ParsedNode, ParsedNode | null>,
	seen: Map<string, Position>,
): { name: string; position: Position } | null {
	const offset = pair.key?.range?.[0] ?? pair.value?.range?.[0] ?? 0;
	if (!isScalar(pair.key))
		return reportProblem(walk, offset, {
			says: "has a key that is not plain text",
			fix: "Write the key as text, in quotes if it contains special characters.",
		});
	const name = textOf(pair.key);
	const position = walk.place(offset);
	// In quotes it is a name like any other.
	if (name === "<<" && pair.key.type === "PLAIN") {
		return reportProblem(walk, offset, {
			says: 'uses the merge key "<<", which YAML 1.2 does not have',
			fix: "Repeat the keys; gates, dims, workloads and golden of a model hold for all its engines.",
		});
	}
	const before = seen.get(name);
	if (before !== undefined) {
		return reportProblem(walk, offset, {
			says: `has the key ${formatName(name)} a second time; the first is at line ${before.line}, column ${before.column}`,
			fix: "Rename or remove one of the two.",
		});
	}
	seen.set(name, position);
	return { name, position };
}

/** Keys are text, whatever they look like: `8`, `true` and `~` are names too. */
function textOf(node: Scalar): string {
	return typeof node.value === "string" ? node.value : (node.source ?? String(node.value));
}

function toList(walk: Walk, node: YAMLSeq.Parsed, at: NodePosition): unknown[] {
	const list: unknown[] = [];
	for (const [index, item] of node.items.entries()) {
		list.push(toValue(walk, item, { pointer: childPointer(at.pointer, index), depth: at.depth + 1 }));
		if (walk.valuesLeft < 0 || walk.problems.length >= maxProblems) break;
	}
	return list;
}

/** Where text is wanted that people leave without quotes: versions, refs and names may look like numbers (10.10, 12e4567). */
const textPointers = /^\/(preflight\/tensorrt|baseline\/ref)$|\/workloads\/\d+\/name$/;

function toScalar(node: Scalar, at: NodePosition): unknown {
	return typeof node.value === "number" && textPointers.test(at.pointer) ? textOf(node) : node.value;
}
