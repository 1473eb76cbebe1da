// The issue that a nightly run opens when a gate fails or could not decide, and closes when a run passes again.
import type { Outcome, Result } from "../schema/result.ts";
import { cleanText, escapeMarkdown, shorten } from "../text/escape.ts";
import { gateTitle } from "../text/labels.ts";
import { type Marker, renderMarker } from "./comment.ts";
import { armsText } from "./facts.ts";
import { headline } from "./highlights.ts";
import { renderMarkdown, type Shown } from "./markdown.ts";

export const alarmLabel = "trtgate";

const titleChars = 200;
const bodyLimit = 65_536;

/** open: and keep up to date; a run that compared nothing needs attention as much as one that failed. keep: an open issue stays open. */
export function alarmOf(outcome: Outcome): "open" | "close" | "keep" {
	if (outcome === "fail" || outcome === "error") return "open";
	return outcome === "pass" || outcome === "warn" ? "close" : "keep";
}

function alarmText({ outcome }: Result): { title: string; body: string } {
	if (outcome === "fail") return { title: "fails", body: "The scheduled gate fails." };
	return {
		title: "could not decide",
		body: "The scheduled gate could not decide, so it is unknown whether the engines are still correct.",
	};
}

/** Titles are plain text, but `@` and `#` become active where they are quoted. */
export function alarmTitle(result: Result, id: string): string {
	return shorten(
		cleanText(`${gateTitle(result.backend)} ${alarmText(result).title} for ${id}: ${headline(result)}`).replace(/[@#](?=\w)/g, "$&\u200d"),
		titleChars,
	);
}

export function alarmBody(result: Result, marker: Marker, shown: Shown): string {
	const first = `${renderMarker(marker)}\n${alarmText(result).body} This text is from the newest run; the issue closes automatically when a run passes again.\n\n`;
	return first + renderMarkdown(result, { limit: bodyLimit - first.length, ...shown });
}

export function isRecovered(result: Result, shown: Shown): string {
	const run = shown.links?.run === undefined ? "" : ` ${shown.links?.run}`;
	return `Well again: ${escapeMarkdown(headline(result))} (${escapeMarkdown(armsText(result))}).${run}`;
}
