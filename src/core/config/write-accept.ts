// Edits the list `accept` of a trtgate.yml, and leaves every other byte as it is.
import { Document, isMap, isScalar, isSeq, parseDocument, YAMLMap, YAMLSeq } from "yaml";
import type { AcceptFile } from "../../../generated/config.ts";

const asWritten = { lineWidth: 0, verifyAliasOrder: false };

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
		return document.toString(asWritten);
	}
	const section = new Document(new YAMLMap());
	section.set("accept", list);
	const written = isEmpty ? "" : section.toString(asWritten);
	const before = text.slice(0, from);
	const gap = before === "" || before.endsWith("\n") ? "" : "\n";
	const whole = `${gap}${written}`;
	return `${before}${text.includes("\r\n") ? whole.replaceAll("\n", "\r\n") : whole}${text.slice(to)}`;
}
