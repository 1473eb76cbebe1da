// An upgrade of TensorRT, where a result holds runs on several versions: the decision first.
import { type Upgrade, upgradesOf } from "../../merge/upgrade.ts";
import { cleanName } from "../../text/escape.ts";
import { cleanMessage } from "../comparison-format.ts";
import { flagsAsCode, plainPhrase } from "../highlight.ts";
import { html, section } from "../html/markup.ts";
import { phraseMarkdown } from "../markdown-parts.ts";
import { defineSection } from "../section.ts";
import { paint } from "../terminal-text.ts";

const maxShown = 100;

const titleOf = ({ from, to }: Upgrade): string =>
	`Upgrade: TensorRT ${cleanName(from, 40)} → ${cleanName(to, 40)}`;

function linesOf({ facts, plans, caveat }: Upgrade, most: number): string[] {
	const lines = facts.slice(0, most).map(({ says }) => cleanMessage(says, 500));
	return [...lines, ...(facts.length > most ? [`${facts.length - most} more.`] : []), plans, caveat];
}

export const upgradeSection = defineSection({
	id: "upgrade",
	select: ({ result }) => {
		const upgrades = upgradesOf(result);
		return upgrades.length === 0 ? null : upgrades;
	},
	markdown: (upgrades, detail) =>
		upgrades.flatMap((upgrade) => [
			`### ${titleOf(upgrade)}`,
			`**${upgrade.decision}**`,
			linesOf(upgrade, detail.rows)
				.map((line) => `- ${phraseMarkdown(flagsAsCode(line))}`)
				.join("\n"),
		]),
	html: (upgrades) =>
		upgrades.map((upgrade) =>
			section(
				titleOf(upgrade),
				[
					html`<p><b>${upgrade.decision}</b></p>
<ul>${linesOf(upgrade, maxShown).map(
						(line) => html`<li>${plainPhrase(flagsAsCode(line))}</li>
`,
					)}</ul>
`,
				],
				"upgrade",
			),
		),
	terminal: (upgrades, { color }) =>
		upgrades.flatMap((upgrade) => [
			paint(titleOf(upgrade), "bold", color),
			`  ${upgrade.decision}`,
			...linesOf(upgrade, maxShown).map((line) => `  - ${plainPhrase(flagsAsCode(line))}`),
		]),
});
