// What a reader must know before anything else: a partial result, a missing base, and the notes of the run.
import { cleanName } from "../../text/escape.ts";
import { counted } from "../../text/labels.ts";
import { cleanMessage } from "../comparison-format.ts";
import { noBaseText } from "../facts.ts";
import type { Block, ReportSection } from "../section.ts";

const maxNotes = 30;

export const noticeSection: ReportSection = {
	id: "notices",
	show({ result }) {
		const { partial } = result;
		const noBase = noBaseText(result);
		const blocks: Block[] = [];
		if (partial !== undefined) {
			const text = `Partial result: the run ended in ${cleanName(partial.stage, 60)} (${cleanName(partial.reason, 300)}). What follows is what was known by then.`;
			blocks.push({ kind: "notice", isUrgent: true, text });
		}
		if (noBase !== null) blocks.push({ kind: "notice", text: noBase });
		return { blocks };
	},
};

/** How it was measured: in a comment, what happened comes first. */
export const noteSection: ReportSection = {
	id: "notes",
	appendix: ["markdown"],
	show({ result: { notes } }, { format }) {
		if (notes.length === 0) return null;
		const hidden = notes.length - maxNotes;
		const items = [
			...notes.slice(0, maxNotes).map((note) => cleanMessage(note, 400)),
			...(hidden > 0 ? [`… and ${counted(hidden, "more note")}, in result.json.`] : []),
		];
		return format === "markdown"
			? { title: counted(notes.length, "note"), blocks: [{ kind: "list", items }] }
			: {
					blocks: items.map((text) => ({ kind: "notice", text: format === "html" ? text : `Note: ${text}` })),
				};
	},
};
