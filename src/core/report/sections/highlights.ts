// The highlights at the top of every report, and in the terminal the list of what to do next.
import { cleanText, shellWord } from "../../text/escape.ts";
import { counted } from "../../text/labels.ts";
import { nextStep } from "../engine-text.ts";
import type { Block, ReportSection } from "../section.ts";

const maxInHtml = 200;
const maxFixes = 5;

export const highlightSection: ReportSection = {
	id: "highlights",
	show({ highlights }, { format, detail }) {
		// More would push the table off the screen.
		const most = { markdown: detail.highlights, html: 6, terminal: 8 }[format];
		const cards = highlights.map((highlight): Block => ({ kind: "highlight", highlight }));
		if (cards.length <= most) return cards.length === 0 ? null : { blocks: cards };
		const more = counted(cards.length - most, "more item");
		const rest: Block[] = [
			...cards.slice(most, maxInHtml),
			...(cards.length > maxInHtml
				? [{ kind: "sentence", text: "The table of all checks lists each." } as const]
				: []),
		];
		return {
			blocks: [
				...cards.slice(0, most),
				format === "html"
					? { kind: "details", title: more, blocks: rest }
					: { kind: "sentence", text: `… and ${more}, in \`report.html\`.` },
			],
		};
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
