// Edits the text of a trtgate.yml, and leaves every other byte as it is.
import { Document, isMap, isScalar, isSeq, parseDocument, YAMLMap, YAMLSeq } from "yaml";
import type { AcceptFile } from "../../../generated/config.ts";

const asWritten = { lineWidth: 0, verifyAliasOrder: false };

export function addModels(text: string, added: readonly (readonly string[])[]): string {
	const document = parseDocument(text);
	const models = pairOf(document.contents, "models")?.value;
	const place = isMap(models) ? endOfBlock(text, models) : null;
	return place === null ? addToTree(document, added) : addAt(text, place, added);
}

function pairOf(contents: unknown, name: string) {
	return isMap(contents) ? contents.items.find(({ key }) => isScalar(key) && key.value === name) : undefined;
}

/** The text with another part from `from` to `to`, on lines of its own that end as the others do. */
function spliced(text: string, own: string, [from, to]: readonly [number, number]) {
	const before = text.slice(0, from);
	const whole = before === "" || before.endsWith("\n") ? own : `\n${own}`;
	return before + (text.includes("\r\n") ? whole.replaceAll("\n", "\r\n") : whole) + text.slice(to);
}

/** Behind the comments that belong to the last model, such as that of its golden; null for a map in braces. */
function endOfBlock(text: string, { flow, items }: YAMLMap) {
	const [first, last] = [items[0]?.key, items.at(-1)?.value];
	const start = isScalar(first) ? first.range?.[0] : undefined;
	const end = (last as { range?: readonly number[] | null } | null | undefined)?.range?.[1];
	if (flow === true || start === undefined || end === undefined) return null;
	const column = start - (text.lastIndexOf("\n", start - 1) + 1);
	let offset = text[end - 1] === "\n" ? end : lineEnd(text, end);
	while (new RegExp(`^ {${Math.max(1, column)},}#`).test(text.slice(offset, lineEnd(text, offset))))
		offset = lineEnd(text, offset);
	return { offset, column };
}

function lineEnd(text: string, from: number) {
	const at = text.indexOf("\n", from);
	return at < 0 ? text.length : at + 1;
}

function addAt(
	text: string,
	{ offset, column }: { offset: number; column: number },
	added: readonly (readonly string[])[],
) {
	const indent = " ".repeat(column);
	const lines = added.flatMap((model) => ["", ...model.map((line) => indent + line.slice(2))]);
	return spliced(text, `${lines.join("\n")}\n`, [offset, offset]);
}

function addToTree(document: Document, added: readonly (readonly string[])[]) {
	for (const lines of added) {
		const model = parseDocument(lines.map((line) => line.slice(2)).join("\n")).toJS();
		for (const [name, value] of Object.entries(model))
			document.setIn(["models", name], document.createNode(value, { flow: true }));
	}
	return document.toString(asWritten);
}

export function editAccepted(
	text: string,
	added: readonly AcceptFile[],
	keeps: (entry: Partial<AcceptFile>) => boolean,
): string {
	const document = parseDocument(text);
	const { contents } = document;
	if (!isMap(contents)) return text;
	const pair = pairOf(contents, "accept");
	const list = isSeq(pair?.value) ? pair.value : new YAMLSeq();
	const kept = list.items.filter((item) => !isMap(item) || keeps(item.toJSON() as Partial<AcceptFile>));
	if (added.length === 0 && kept.length === list.items.length) return text;
	list.items = [...kept, ...added.map((entry) => document.createNode(entry))];
	list.flow = false;
	const isEmpty = list.items.length === 0;
	const [from, to] = isScalar(pair?.key)
		? [pair.key.range?.[0], list.range?.[2]]
		: [text.length, text.length];
	if (contents.flow || from === undefined || to === undefined) {
		if (isEmpty) document.delete("accept");
		else document.set("accept", list);
		return document.toString(asWritten);
	}
	const section = new Document(new YAMLMap());
	section.set("accept", list);
	const written = isEmpty ? "" : section.toString(asWritten);
	return spliced(text, written, [from, to]);
}
