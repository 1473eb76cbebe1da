// Probes: whether an engine agrees with itself, without a golden.
import type { ProbeName, ProbeResult, ProbeState, Result } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, subjectName, type Tone } from "../../text/labels.ts";
import { formatValue } from "../../text/units.ts";
import type { Detail } from "../budget.ts";
import { cleanMessage, dash } from "../comparison-format.ts";
import type { Highlight } from "../highlight.ts";
import { type Column, folded, html, type Piece, partLine, pill, section } from "../html/markup.ts";
import { type GateIndex, gateKey } from "../index-gates.ts";
import { foldedMarkdown } from "../markdown-parts.ts";
import { defineSection } from "../section.ts";
import { foldedTable, htmlTable, terminalTable } from "../table.ts";
import { toneStyles } from "../terminal-text.ts";

const maxInTerminal = 12;
const maxInHtml = 300;

/** What has to hold. */
const probeLabels: Readonly<Record<ProbeName, string>> = {
	determinism: "two runs agree",
	"duplicate-rows": "equal rows agree",
	neighbours: "a row does not depend on its neighbours",
	"batch-size": "batch sizes agree",
	"profile-ends": "the profile's ends agree",
	padding: "padding does not leak",
};

const probeStateLabels: Readonly<Record<ProbeState, string>> = {
	agrees: "agrees",
	differs: "differs",
	known: "also in the base",
	skipped: "does not apply",
};

/** Of a difference without a gate. */
const probeTones: Readonly<Record<ProbeState, Tone>> = {
	agrees: "ok",
	differs: "warn",
	known: "plain",
	skipped: "plain",
};

const order: readonly ProbeState[] = ["differs", "known", "agrees", "skipped"];

/** What needs attention first. */
function sortedProbes(probes: readonly ProbeResult[]): ProbeResult[] {
	return [...probes].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
}

/** `Probes (no reference): 10 of 11 answers agree, 3 do not apply`. */
function probesTitle(probes: readonly ProbeResult[]): string {
	const skipped = probes.filter(({ state }) => state === "skipped").length;
	const agreeing = probes.filter(({ state }) => state === "agrees").length;
	const applied = probes.length - skipped;
	if (applied === 0) return "Probes (no reference): none applies";
	const summary = `${agreeing} of ${counted(applied, "answer")} ${applied === 1 ? "agrees" : "agree"}`;
	return `Probes (no reference): ${summary}${skipped === 0 ? "" : `, ${skipped} ${skipped === 1 ? "does" : "do"} not apply`}`;
}

const place = (value: ProbeResult["got"] | undefined): number | null =>
	typeof value === "number" ? value : value === undefined || value === null ? null : 1e300;

const column = {
	engine: {
		title: "Engine",
		heading: true,
		text: subjectName,
		cell: ({ model, engine, part }) => html`<b>${cleanName(model)}</b> ${cleanName(engine)}${partLine(part)}`,
	},
	probe: { title: "probe", wraps: true, text: ({ probe }) => probeLabels[probe] },
	result: {
		title: "result",
		text: ({ state }) => probeStateLabels[state],
		cell: ({ state }) => pill(probeStateLabels[state], probeTones[state]),
		style: ({ state }) => toneStyles[probeTones[state]],
	},
	apart: {
		title: "difference",
		numeric: true,
		text: ({ got }) => (got === null ? dash : formatValue(got)),
		sortBy: ({ got }) => place(got),
	},
	allowed: {
		title: "allowed",
		numeric: true,
		text: ({ allowed }) => (allowed === null ? dash : `≤ ${formatValue(allowed)}`),
		sortBy: ({ allowed }) => allowed,
	},
	base: {
		title: "base",
		numeric: true,
		text: ({ base }) => (base === undefined ? dash : base === null ? "no output" : formatValue(base)),
		sortBy: ({ base }) => place(base),
	},
	message: {
		title: "what was compared",
		wraps: true,
		text: ({ message }) => cleanName(message, 200),
		cell: ({ message }) => cleanMessage(message, 400),
	},
	output: { title: "output", text: ({ output = "" }) => cleanName(output, 40) },
} as const satisfies Readonly<Record<string, Column<ProbeResult>>>;

const { output, ...inReports } = column;
const columns: readonly Column<ProbeResult>[] = Object.values(inReports);
/** The verdict beside the engine. */
const inTerminal: readonly Column<ProbeResult>[] = [
	column.engine,
	column.result,
	column.probe,
	column.apart,
	column.allowed,
	output,
];
const noun = "probe";

/** Titles, as the end of a sentence that begins with the engine's name. */
const faults: Readonly<Record<ProbeName, string>> = {
	determinism: "gives different outputs for the same input",
	"duplicate-rows": "gives different outputs for equal rows",
	neighbours: "has rows that depend on their neighbours",
	"batch-size": "gives different outputs at different batch sizes",
	"profile-ends": "is inconsistent at the ends of its profile",
	padding: "lets padding leak into its outputs",
};

const fixes: Readonly<Record<ProbeName, string>> = {
	determinism:
		"Look for random operators and plugins with atomic additions; if the model draws random numbers on purpose, leave this probe out with `probes: { only: [...] }`.",
	"duplicate-rows":
		"Compare a batch of equal rows layer by layer; it may be a defect of a kernel or a plugin.",
	neighbours:
		"Look for what reduces over the batch, and for quantisation with one scale for the whole batch; if it is intended, leave this probe out.",
	"batch-size": "Compare the two batch sizes layer by layer; a reshape may contain the exported batch size.",
	"profile-ends":
		"Run the engine at the size that the message names; narrow the profile if that size is not needed.",
	padding: "Look for a pooling or a normalisation that does not read the mask.",
};

function faultOf({ probe, got }: ProbeResult): string {
	if (got === null) return "gives no output at a size within its profile";
	return got === "NaN" ? "gives no finite output" : faults[probe];
}

function probeHighlight(probe: ProbeResult, status: "warn" | "fail" | "note"): Highlight {
	const known = probe.state === "known";
	return {
		severity: status,
		topic: known
			? ["pre-existing probe difference", "pre-existing probe differences"]
			: ["probe difference", "probe differences"],
		title: `${subjectName(probe)} ${faultOf(probe)}${known ? ", as its base does" : ""} (probe, no reference)`,
		sentences: [[`Probe “${probeLabels[probe.probe]}”: ${cleanMessage(probe.message)}`]],
		...(known ? {} : { fix: fixes[probe.probe] }),
		explains: gateKey("probe", probe),
	};
}

/** One for each probe that differs and has a gate, and for each that differs on the base too. */
function probeHighlights(result: Result, gates: GateIndex): Highlight[] {
	return (result.probes ?? []).flatMap((probe) => {
		const status = gates.status("probe", probe);
		if (probe.state !== "known" && (probe.state !== "differs" || status === undefined)) return [];
		return [probeHighlight(probe, probe.state === "known" ? "note" : status === "fail" ? "fail" : "warn")];
	});
}

interface Facts {
	title: string;
	probes: readonly ProbeResult[];
}

/** Only those that differ: report.html has all. */
function markdownBlock({ title, probes }: Facts, { goldens: most }: Detail): string {
	const rows = probes.filter(({ state }) => state === "differs" || state === "known");
	if (rows.length === 0) return foldedMarkdown(title, "Each probe is in `report.html`.");
	return foldedTable(title, columns, { rows, most, noun });
}

function htmlPart({ title, probes }: Facts): Piece {
	const applied = probes.filter(({ state }) => state !== "skipped");
	const skipped = probes.slice(applied.length);
	const table = (label: string, rows: readonly ProbeResult[]): Piece =>
		htmlTable(label, columns, { rows, most: maxInHtml, noun });
	const intro = html`<p>Checks without a golden: an engine has to agree with itself. They do not show which of two outputs is right. The difference is the relative L2 of the worst row; for integers, the share of elements that differ.</p>
`;
	const others =
		skipped.length === 0
			? null
			: folded(`${skipped.length} that do not apply`, table("probes that do not apply", skipped));
	return section(title, [intro, table("probes", applied), others], "probes");
}

export const probeSection = defineSection({
	id: "probes",
	select: ({ result }) => {
		const probes = sortedProbes(result.probes ?? []);
		return probes.length === 0 ? null : { title: probesTitle(probes), probes };
	},
	markdown: (facts, detail) => [markdownBlock(facts, detail)],
	html: htmlPart,
	terminal: ({ title, probes }, options) => {
		const rows = probes.filter(({ state }) => state !== "skipped");
		return terminalTable(title, inTerminal, {
			rows,
			most: maxInTerminal,
			noun,
			options,
		});
	},
	highlights: probeHighlights,
});
