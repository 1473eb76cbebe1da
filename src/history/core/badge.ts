// A badge beside the history: the outcome of the newest run of the main branch, for a README.
import type { Result } from "../../../generated/result.ts";
import { palettes } from "../../core/report/html/style.ts";
import { cleanName, escapeXml } from "../../core/text/escape.ts";
import { outcomeLabels, statusTones } from "../../core/text/labels.ts";
import type { HistoryFile } from "./files.ts";

type Badged = Pick<Result, "outcome" | "startedAt" | "config">;

/** One for each config, so that none hides another's failure. */
export function badgeOf({ outcome, startedAt, config }: Badged): HistoryFile {
	const isUsual = config.path === "trtgate.yml";
	const own = isUsual ? "" : `-${config.path.replaceAll(/[^A-Za-z0-9]+/g, "-").slice(0, 80)}`;
	const label = isUsual ? "trtgate" : `trtgate ${cleanName(config.path, 30)}`;
	const colour = palettes.light[statusTones[outcome]] ?? "";
	// Without its date, a badge of a workflow that no longer runs would look like news.
	const message = `${outcomeLabels[outcome]}, ${startedAt.slice(0, 10)}`;
	return { path: `badge${own}.svg`, text: drawBadge(label, message, colour) };
}

const height = 20;
const padding = 7;
/** Of Verdana with 11 pixels; `textLength` fits other fonts to it. */
const charWidth = 6.2;

/** White on its own ground, readable on light and dark pages. */
function drawBadge(label: string, message: string, colour: string) {
	const widthOf = (text: string) => Math.round([...text].length * charWidth);
	const left = widthOf(label) + 2 * padding;
	const width = left + widthOf(message) + 2 * padding;
	const text = (content: string, x: number) =>
		`<text x="${x}" y="14" textLength="${widthOf(content)}" lengthAdjust="spacingAndGlyphs">${escapeXml(content)}</text>`;
	const name = escapeXml(`${label}: ${message}`);
	return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" role="img" aria-label="${name}"><title>${name}</title><clipPath id="r"><rect width="${width}" height="${height}" rx="3"/></clipPath><g clip-path="url(#r)"><rect width="${left}" height="${height}" fill="#4a5159"/><rect x="${left}" width="${width - left}" height="${height}" fill="${colour}"/></g><g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">${text(label, padding)}${text(message, left + padding)}</g></svg>
`;
}
