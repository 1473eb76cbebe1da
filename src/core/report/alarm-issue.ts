// The issue that a nightly run opens when a gate fails or could not decide, and closes when all is well again.
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

/** open: and keep up to date; a night that compared nothing needs somebody as much as one that failed. keep: what is open stays open. */
export function alarmOf(outcome: Outcome): "open" | "close" | "keep" {
	if (outcome === "fail" || outcome === "error") return "open";
	return outcome === "pass" || outcome === "warn" ? "close" : "keep";
}

function words({ outcome }: Result): { title: string; body: string } {
	if (outcome === "fail") return { title: "fails", body: "The scheduled gate fails." };
	return { title: "could not decide", body: "The scheduled gate could not decide, so nothing says whether the engines are still right." };
}

/** Titles are plain text, in which `@` and `#` still mean something to whoever quotes them. */
export function alarmTitle(result: Result, id: string): string {
	return shorten(
		cleanText(`${gateTitle(result.backend)} ${words(result).title} for ${id}: ${headline(result)}`).replace(/[@#](?=\w)/g, "$&\u200d"),
		titleChars,
	);
}

export function alarmBody(result: Result, marker: Marker, shown: Shown): string {
	const first = `${renderMarker(marker)}\n${words(result).body} This text is the newest run's; the issue closes by itself when a run is well again.\n\n`;
	return first + renderMarkdown(result, { limit: bodyLimit - first.length, ...shown });
}

export function isRecovered(result: Result, shown: Shown): string {
	const run = shown.links?.run === undefined ? "" : ` ${shown.links?.run}`;
	return `Well again: ${escapeMarkdown(headline(result))} (${escapeMarkdown(armsText(result))}).${run}`;
}
