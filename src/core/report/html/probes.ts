// The section of probes: whether each engine agrees with itself, where no reference is needed.
import type { ProbeResult, Result } from "../../schema/result.ts";
import { cleanName } from "../../text/escape.ts";
import { cleanMessage } from "../comparison-format.ts";
import {
	allowedApartText,
	apartText,
	baseApartText,
	probeLabels,
	probeStateLabels,
	probesTitle,
	probeTones,
	sortedProbes,
} from "../probe-labels.ts";
import { html, type Piece } from "./markup.ts";
import { folded, moreText, partLine, pill, section } from "./parts.ts";
import { type Column, sortableTable } from "./table.ts";

const mostRows = 300;

const place = (value: ProbeResult["got"] | undefined): number | null =>
	typeof value === "number" ? value : value === undefined || value === null ? null : 1e300;

const columns: readonly Column<ProbeResult>[] = [
	{
		title: "Engine",
		heading: true,
		cell: ({ model, engine, part }) => html`<b>${cleanName(model)}</b> ${cleanName(engine)}${partLine(part)}`,
	},
	{ title: "probe", wraps: true, cell: ({ probe }) => probeLabels[probe] },
	{ title: "answer", cell: ({ state }) => pill(probeStateLabels[state], probeTones[state]) },
	{ title: "apart", numeric: true, cell: apartText, sortBy: ({ got }) => place(got) },
	{ title: "allowed", numeric: true, cell: allowedApartText, sortBy: ({ allowed }) => allowed },
	{ title: "base", numeric: true, cell: baseApartText, sortBy: ({ base }) => place(base) },
	{ title: "what was compared", wraps: true, cell: ({ message }) => cleanMessage(message, 400) },
];

export function probeSection(result: Result): Piece {
	const probes = sortedProbes(result.probes ?? []);
	if (probes.length === 0) return null;
	const asked = probes.filter(({ state }) => state !== "skipped");
	const skipped = probes.slice(asked.length);
	const table = (label: string, rows: readonly ProbeResult[]): Piece =>
		rows.length === 0 ? null : [sortableTable(label, columns, rows.slice(0, mostRows)), moreText(rows.length - mostRows, "probes")];
	const intro = html`<p>Questions that need no golden: an engine has to agree with itself. They do not say which of two answers is right. Apart is the relative L2 of the worst row, of integers the share that differs.</p>
`;
	const others = skipped.length === 0 ? null : folded(`${skipped.length} that do not apply`, table("probes that do not apply", skipped));
	return section(probesTitle(result), [intro, table("probes", asked), others], "probes");
}
