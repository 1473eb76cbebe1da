// Edits the list `accept` of a trtgate.yml and leaves everything else as it is, comments too.
import { isMap, isSeq, parseDocument } from "yaml";
import type { AcceptFile } from "../schema/config.ts";

/**
 * @param keeps decides on each entry that the file has.
 * @returns the new text; the same text where nothing changes.
 */
export function editAccepted(text: string, added: readonly AcceptFile[], keeps: (entry: Partial<AcceptFile>) => boolean): string {
	const document = parseDocument(text);
	const list = document.get("accept");
	const before = isSeq(list) ? list.items : [];
	const kept = before.filter((item) => !isMap(item) || keeps(item.toJSON() as Partial<AcceptFile>));
	if (added.length === 0 && kept.length === before.length) return text;
	if (kept.length + added.length === 0) document.delete("accept");
	else document.set("accept", document.createNode([]));
	const written = document.get("accept");
	if (isSeq(written)) written.items = [...kept, ...added.map((entry) => document.createNode(entry))];
	return document.toString({ lineWidth: 0 });
}
