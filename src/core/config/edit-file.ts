// Edits the text of a trtgate.yml, and leaves every other byte as it is.
import { Document, isMap, isScalar, isSeq, parseDocument, YAMLMap, YAMLSeq } from "yaml";
import type { AcceptFile } from "../../../generated/config.ts";

const asWritten = { lineWidth: 0, verifyAliasOrder: false };

export function addModels(text: string, added: readonly (readonly string[])[]): string {
	const document = parseDocument(text);
	const models = modelsOf(document);
	const place = models === null ? null : endOfBlock(text, models);
	return place === null ? addToTree(document, added) : addAt(text, place, added);
}

function modelsOf({ contents }: Document) {
	const pair = isMap(contents)
		? contents.items.find(({ key }) => isScalar(key) && key.value === "models")
		: undefined;
	return isMap(pair?.value) ? pair.value : null;
}

interface Place {
	offset: number;
	column: number;
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

function addAt(text: string, { offset, column }: Place, added: readonly (readonly string[])[]) {
	const before = text.slice(0, offset);
	const indent = " ".repeat(column);
	const lines = added.flatMap((model) => ["", ...model.map((line) => indent + line.slice(2))]);
	const own = `${before.endsWith("\n") ? "" : "\n"}${lines.join("\n")}\n`;
	return before + (text.includes("\r\n") ? own.replaceAll("\n", "\r\n") : own) + text.slice(offset);
}

function addToTree(document: Document, added: readonly (readonly string[])[]) {
	for (const lines of added) {
		const model = parseDocument(lines.map((line) => line.slice(2)).join("\n")).toJS();
		for (const [name, value] of Object.entries(model))
			document.setIn(["models", name], document.createNode(value, { flow: true }));
	}
	return document.toString(asWritten);
}

const asWritten2 = { lineWidth: 0, verifyAliasOrder: false };

export function editAccepted(
	text: string,
	added: readonly AcceptFile[],
	keeps: (entry: Partial<AcceptFile>) => boolean,
): string {
	const document = parseDocument(text);
	const { contents } = document;
	if (!isMap(contents)) return text;
	const pair = contents.items.find(({ key }) => isScalar(key) && key.value === "accept");
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
		return document.toString(asWritten2);
	}
	const section = new Document(new YAMLMap());
	section.set("accept", list);
	const written = isEmpty ? "" : section.toString(asWritten2);
	const before = text.slice(0, from);
	const gap = before === "" || before.endsWith("\n") ? "" : "\n";
	const whole = `${gap}${written}`;
	return `${before}${text.includes("\r\n") ? whole.replaceAll("\n", "\r\n") : whole}${text.slice(to)}`;
}
