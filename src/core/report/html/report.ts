// The report as one HTML file that needs nothing else: offline, light and dark, sortable, printable.
import type { Result } from "../../schema/result.ts";
import { cleanName } from "../../text/escape.ts";
import { gateTitle, outcomeLabels } from "../../text/labels.ts";
import { workloadRows } from "../rows.ts";
import { appendixSection, errorSection, findingSection } from "./appendix.ts";
import { buildSection } from "./builds.ts";
import { goldenChangeSection } from "./golden-changes.ts";
import { goldenSection } from "./goldens.ts";
import { html, type Markup } from "./markup.ts";
import { partsSection } from "./parts-section.ts";
import { probeSection } from "./probes.ts";
import { sortScript, sortScriptHash } from "./script.ts";
import { styleSheet } from "./style.ts";
import { highlightsPart, noticesPart, pageHeader } from "./summary.ts";
import { changedDetails, detailAnchors, unchangedDetails } from "./workload-detail.ts";
import { workloadSection } from "./workloads-table.ts";

/** Nothing is loaded, sent or framed; one script runs, known by its hash. */
const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src '${sortScriptHash}'; base-uri 'none'; form-action 'none'`;

function pageHead(result: Result): Markup {
	return html`<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${gateTitle(result.backend)} · ${outcomeLabels[result.outcome]}</title>
<style>${{ markup: styleSheet }}</style>
`;
}

function pageFooter(result: Result): Markup {
	return html`<footer>trtgate ${cleanName(result.tool.version, 40)} · ${cleanName(result.startedAt, 40)} · drawn from result.json, which holds every figure of this page</footer>
`;
}

export function renderHtml(result: Result): string {
	const rows = workloadRows(result);
	const anchors = detailAnchors(rows);
	const page = html`<!doctype html>
<html lang="en">
<head>
${pageHead(result)}</head>
<body>
${pageHeader(result)}<main>
${noticesPart(result)}${highlightsPart(result)}${partsSection(result)}${workloadSection(result, rows, anchors)}${changedDetails(result, anchors)}${goldenChangeSection(result)}${goldenSection(result)}${probeSection(result)}${buildSection(result)}${findingSection(result)}${errorSection(result)}${unchangedDetails(result, anchors)}${appendixSection(result)}</main>
${pageFooter(result)}<script>${{ markup: sortScript }}</script>
</body>
</html>
`;
	return page.markup;
}
