// The start of a report, the parts of a merged result, and next steps.
import type { Part } from "../../../../generated/result.ts";
import { type Upgrade, upgradesOf } from "../../merge/upgrade.ts";
import { cleanMessage, cleanName, cleanText, shellWord } from "../../text/escape.ts";
import { counted, outcomeLabels, present, statusTones } from "../../text/labels.ts";
import { formatCount, formatDuration } from "../../text/units.ts";
import { dash } from "../comparison-format.ts";
import { nextStep } from "../engine-text.ts";
import { noBaseText, partsText, partsToReport } from "../facts.ts";
import {
	type Block,
	type Column,
	details,
	heading,
	long,
	numbers,
	plain,
	type ReportSection,
	sentence,
	table,
} from "../section.ts";

const [maxNotes, maxCards, maxFixes] = [30, 200, 5];

export const noticeSection: ReportSection = {
	id: "notices",
	show({ result }) {
		const { partial } = result;
		const ended =
			partial &&
			`Partial result: the run ended in ${cleanName(partial.stage, 60)} (${cleanName(partial.reason, 300)}). What follows is what was known by then.`;
		const notice = (text: string): Block => ({ kind: "notice", text, isUrgent: text === ended });
		return { blocks: present([ended, noBaseText(result)]).map(notice) };
	},
};

/** In a comment, what happened comes first. */
export const noteSection: ReportSection = {
	id: "notes",
	appendix: ["markdown"],
	show({ result: { notes } }, { format }) {
		if (notes.length === 0) return null;
		const hidden = notes.length - maxNotes;
		const items = present([
			...notes.slice(0, maxNotes).map((note) => cleanMessage(note, 400)),
			hidden > 0 && `… and ${counted(hidden, "more note")}, in result.json.`,
		]);
		if (format === "markdown")
			return { title: counted(notes.length, "note"), blocks: [{ kind: "list", items }] };
		const prefix = format === "html" ? "" : "Note: ";
		return { blocks: items.map((text) => ({ kind: "notice", text: `${prefix}${text}` })) };
	},
};

export const highlightSection: ReportSection = {
	id: "highlights",
	show({ highlights }, { format, detail }) {
		// More would push the table off the screen.
		const most = { markdown: detail.highlights, html: 6, terminal: 8 }[format];
		const cards = highlights.slice(0, maxCards).map((highlight): Block => ({ kind: "highlight", highlight }));
		const hidden = highlights.length - most;
		if (hidden <= 0) return cards.length === 0 ? null : { blocks: cards };
		const more = counted(hidden, "more item");
		const rest =
			format === "html" ? details(more, cards.slice(most)) : [sentence(`… and ${more}, in \`report.html\`.`)];
		return { blocks: [...cards.slice(0, most), ...rest] };
	},
};

/** The other formats show each fix beside its highlight. */
export const nextStepSection: ReportSection = {
	id: "next-steps",
	formats: ["terminal"],
	show({ highlights }, { resultPath = "result.json" }) {
		const command = nextStep.replace("result.json", () => shellWord(resultPath));
		const fixes = new Set(
			highlights.flatMap(({ fix = [] }) => fix).map((fix) => cleanText(fix).replace(nextStep, () => command)),
		);
		if (fixes.size === 0) return null;
		return { title: "What to do next", blocks: [{ kind: "list", items: [...fixes].slice(0, maxFixes) }] };
	},
};

const upgradeTitle = ({ from, to }: Upgrade): string =>
	`Upgrade: TensorRT ${cleanName(from, 40)} → ${cleanName(to, 40)}`;

function upgradeBlocks({ decision, facts, plans, caveat }: Upgrade, most: number): Block[] {
	const says = facts.slice(0, most).map((fact) => cleanMessage(fact.says, 500));
	const more = facts.length > most && `${facts.length - most} more.`;
	return [sentence(decision, "strong"), { kind: "list", items: present([...says, more, plans, caveat]) }];
}

/** If a result holds runs on several versions. */
export const upgradeSection: ReportSection = {
	id: "upgrade",
	show({ result }, { detail }) {
		const [first, ...others] = upgradesOf(result);
		if (first === undefined) return null;
		const most = Math.min(100, detail.rows);
		const rest = others.flatMap((upgrade): Block[] => [
			{ kind: "heading", text: upgradeTitle(upgrade) },
			...upgradeBlocks(upgrade, most),
		]);
		return { title: upgradeTitle(first), isOpen: true, blocks: [...upgradeBlocks(first, most), ...rest] };
	},
};

function whyText({ reason, partial, attempt }: Part): string {
	if (reason !== undefined) return cleanMessage(reason, 300);
	const ended = partial && `${cleanName(partial.stage, 40)} (${cleanMessage(partial.reason, 200)})`;
	return present([attempt && `from attempt ${attempt}`, ended && `partial: ended in ${ended}`]).join("; ");
}

function deviceText({ backend }: Part): string {
	if (backend === undefined) return dash;
	const caveat = backend.caveat === undefined ? "" : ` (${cleanName(backend.caveat, 60)})`;
	return `${cleanName(backend.device, 80)}${caveat}`;
}

const partColumns: readonly Column<Part>[] = [
	heading("Part", ({ name }) => cleanName(name, 80)),
	plain("state", ({ state, outcome }) => (state === "merged" && outcome ? outcomeLabels[outcome] : state), {
		tone: ({ state, outcome }) => (state === "merged" ? statusTones[outcome ?? "note"] : "bad"),
	}),
	plain("device", deviceText),
	plain("software", ({ backend }) => (backend ? cleanName(`${backend.name} ${backend.version}`, 100) : dash)),
	numbers("workloads", ({ workloads }) => workloads, formatCount),
	numbers("took", ({ durationMs }) => durationMs, formatDuration),
	long("why", whyText),
];

const urgency: Readonly<Record<Part["state"], number>> = { refused: 0, missing: 1, merged: 2 };

/** What needs attention comes first. */
export const partSection: ReportSection = {
	id: "parts",
	formats: ["markdown", "html"],
	show({ result }) {
		const parts = partsToReport(result);
		if (parts.length === 0) return null;
		const rank = ({ state, partial }: Part): number => urgency[state] * 2 + (partial === undefined ? 1 : 0);
		const rows = [...parts].sort((a, b) => rank(a) - rank(b));
		const rule = sentence("No gate compares numbers of different parts with each other.", "quiet");
		return {
			title: `Parts: ${partsText(parts)}`,
			blocks: [table("parts", partColumns, rows, { noun: "part" }), rule],
		};
	},
};
