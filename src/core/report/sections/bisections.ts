// Where outputs that do not match their golden first deviate from ONNX Runtime.
import type { Bisection, BisectionState } from "../../../../generated/result.ts";
import { counted, subjectName } from "../../text/labels.ts";
import { cleanMessage } from "../comparison-format.ts";
import { flagsAsCode, plainPhrase } from "../highlight.ts";
import { html, moreText, section } from "../html/markup.ts";
import { phraseMarkdown } from "../markdown-parts.ts";
import { defineSection } from "../section.ts";
import { paint } from "../terminal-text.ts";

const maxShown = 50;
const maxChars = 700;

const labels: Readonly<Record<BisectionState, string>> = {
	found: "found",
	accumulates: "no single node",
	agrees: "no node diverges",
	unfinished: "not finished",
	impossible: "not possible",
};

const caveat =
	"Each engine was built again with tensors between its nodes as outputs. That breaks fusions, so these engines are not quite the ones that were judged.";

function titleOf(found: readonly Bisection[]): string {
	const named = found.filter(({ state }) => state === "found").length;
	return `Where outputs diverge: ${counted(named, "node")} found for ${counted(found.length, "engine")}`;
}

function effortOf({ rounds, compared }: Bisection): string {
	return rounds === 0 ? "" : ` (${counted(compared, "tensor")} compared in ${counted(rounds, "round")})`;
}

const says = ({ message }: Bisection): string => cleanMessage(message, maxChars);

export const bisectionSection = defineSection({
	id: "bisections",
	select: ({ result: { bisections = [] } }) =>
		bisections.length === 0 ? null : { title: titleOf(bisections), found: bisections },
	markdown: ({ title, found }, detail) => [
		`**${title}**`,
		found
			.slice(0, detail.goldens)
			.map(
				(one) =>
					`- **${phraseMarkdown(flagsAsCode(subjectName(one)))}:** ${phraseMarkdown(flagsAsCode(says(one)))}${effortOf(one)}`,
			)
			.join("\n"),
		`_${caveat}_`,
	],
	html: ({ title, found }) =>
		section(
			title,
			[
				html`<p>${caveat}</p>
`,
				...found.slice(0, maxShown).map(
					(
						one,
					) => html`<p><b>${subjectName(one)}</b>, case ${one.case}, ${labels[one.state]}: ${plainPhrase(flagsAsCode(says(one)))}${effortOf(one)}</p>
`,
				),
				moreText(found.length - maxShown, "searches"),
			],
			"bisections",
		),
	terminal: ({ title, found }, { color }) => [
		paint(title, "bold", color),
		...found.slice(0, maxShown).map((one) => `  ${subjectName(one)}: ${plainPhrase(flagsAsCode(says(one)))}`),
	],
});
