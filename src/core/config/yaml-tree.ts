// Turns YAML nodes into values without prototypes, with the position of each.
import {
	type Alias,
	isAlias,
	isMap,
	isScalar,
	type ParsedNode,
	type Scalar,
	type YAMLMap,
	type YAMLSeq,
} from "yaml";
import { childPointer, formatName } from "./pointer.ts";
import type { EntryPosition, Position } from "./problem.ts";

/** Repeated values count again, which stops alias bombs. */
const maxValues = 20_000;
const maxDepth = 40;
const maxProblems = 20;

export interface YamlProblem {
	says: string;
	fix: string;
	position?: Position;
}

interface NodePosition {
	pointer: string;
	depth: number;
	key?: Position;
}

export class TreeWalk {
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

function keyFault(key: ParsedNode, before: Position | undefined): { says: string; fix: string } | null {
	if (!isScalar(key)) return { says: "has a key that is not plain text", fix: "Write the key as text." };
	if (textOf(key) === "<<" && key.type === "PLAIN")
		return { says: 'uses the merge key "<<", which YAML 1.2 does not have', fix: "Repeat the keys." };
	if (before === undefined) return null;
	const first = `the first is at line ${before.line}, column ${before.column}`;
	const says = `has the key ${formatName(textOf(key))} a second time; ${first}`;
	return { says, fix: "Rename or remove one of the two." };
}

function textOf(node: Scalar): string {
	return typeof node.value === "string" ? node.value : (node.source ?? String(node.value));
}

/** Versions, refs and names may look like numbers (10.10, 12e4567). */
const textPointers = /^\/(preflight\/tensorrt|baseline\/ref)$|\/workloads\/\d+\/name$/;
