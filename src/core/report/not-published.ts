// Says in the job summary what could not be shown elsewhere, and what to do about it.
import { cleanName, escapeMarkdown } from "../text/escape.ts";
import { flagsAsCode } from "./highlight.ts";
import { phraseMarkdown } from "./markdown.ts";

export interface Unpublished {
	what: string;
	message: string;
	fix: string;
}

/** "" where all was shown. */
export function renderUnpublished(list: readonly Unpublished[]): string {
	if (list.length === 0) return "";
	const spoken = (text: string): string => phraseMarkdown(flagsAsCode(cleanName(text, 700)));
	const lines = list.slice(0, 20).map(({ what, message, fix }) => `> - **${escapeMarkdown(what)}**: ${spoken(message)} ${spoken(fix)}`);
	return `\n> [!NOTE]\n> The outcome stands. Not everything could be published:\n${lines.join("\n")}\n`;
}
