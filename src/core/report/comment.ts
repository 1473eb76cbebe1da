// The comment of a pull request: the marker that finds it again, and the report within GitHub's limit.
import type { Result } from "../schema/result.ts";
import { renderMarkdown, type Shown } from "./markdown.ts";
import { type Marker, renderMarker } from "./marker.ts";

/** GitHub's own. */
export const commentLimit = 65_536;

export function renderComment(result: Result, marker: Marker, shown: Shown): string {
	const first = `${renderMarker(marker)}\n`;
	return first + renderMarkdown(result, { limit: commentLimit - first.length, ...shown });
}
