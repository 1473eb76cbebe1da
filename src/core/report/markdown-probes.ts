// The probes in the Markdown report: one small table.
import type { ProbeResult, Result } from "../schema/result.ts";
import { cleanName, escapeMarkdown } from "../text/escape.ts";
import { counted, subjectName } from "../text/labels.ts";
import type { Detail } from "./budget.ts";
import { allowedApartText, apartText, baseApartText, probeLabels, probeStateLabels, probesTitle, sortedProbes } from "./probe-labels.ts";

function cells(probe: ProbeResult): string {
	const { model, engine, part, state, message } = probe;
	const texts = [
		subjectName({ model, engine, part }),
		probeLabels[probe.probe],
		probeStateLabels[state],
		apartText(probe),
		allowedApartText(probe),
		baseApartText(probe),
		cleanName(message, 200),
	];
	return `| ${texts.map(escapeMarkdown).join(" | ")} |`;
}

const head = "| engine | probe | answer | apart | allowed | base | |\n|---|---|---|--:|--:|--:|---|";

/** Left out where nothing was asked; those that agree go with the goldens that match when room is short. */
export function probeSection(result: Result, detail: Detail): { summary: string; body: string }[] {
	const probes = sortedProbes(result.probes ?? []);
	if (probes.length === 0) return [];
	const summary = probesTitle(result);
	const wanted = probes.filter(({ state }) => detail.matchingGoldens || state === "differs" || state === "known");
	if (wanted.length === 0) return [{ summary, body: "Each probe stands in `report.html`." }];
	const table = [head, ...wanted.slice(0, detail.goldens).map(cells)].join("\n");
	const more = wanted.length - detail.goldens;
	return [{ summary, body: more > 0 ? `${table}\n\n… and ${counted(more, "more probe")}.` : table }];
}
