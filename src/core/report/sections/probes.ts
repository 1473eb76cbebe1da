// Probes: whether an engine agrees with itself, without a golden.
import type { ProbeName, ProbeResult, ProbeState } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, subjectName, type Tone } from "../../text/labels.ts";
import { formatValue } from "../../text/units.ts";
import { cleanMessage, dash } from "../comparison-format.ts";
import type { Highlight } from "../highlight.ts";
import { type Column, nameOf } from "../html/markup.ts";
import { type GateIndex, gateKey } from "../index-gates.ts";
import { type Block, details, type ReportSection, table } from "../section.ts";

/** What has to hold; the fault as the end of a sentence that begins with the engine's name; what to do. */
const probeTexts: Readonly<Record<ProbeName, { label: string; fault: string; fix: string }>> = {
	determinism: {
		label: "two runs agree",
		fault: "gives different outputs for the same input",
		fix: "Look for random operators and plugins with atomic additions; if the model draws random numbers on purpose, leave this probe out with `probes: { only: [...] }`.",
	},
	"duplicate-rows": {
		label: "equal rows agree",
		fault: "gives different outputs for equal rows",
		fix: "Compare a batch of equal rows layer by layer; it may be a defect of a kernel or a plugin.",
	},
	neighbours: {
		label: "a row does not depend on its neighbours",
		fault: "has rows that depend on their neighbours",
		fix: "Look for what reduces over the batch, and for quantisation with one scale for the whole batch; if it is intended, leave this probe out.",
	},
	"batch-size": {
		label: "batch sizes agree",
		fault: "gives different outputs at different batch sizes",
		fix: "Compare the two batch sizes layer by layer; a reshape may contain the exported batch size.",
	},
	"profile-ends": {
		label: "the profile's ends agree",
		fault: "is inconsistent at the ends of its profile",
		fix: "Run the engine at the size that the message names; narrow the profile if that size is not needed.",
	},
	padding: {
		label: "padding does not leak",
		fault: "lets padding leak into its outputs",
		fix: "Look for a pooling or a normalisation that does not read the mask.",
	},
};

/** What needs attention first; the tone is that of a difference without a gate. */
const states: Readonly<Record<ProbeState, { rank: number; label: string; tone: Tone }>> = {
	differs: { rank: 0, label: "differs", tone: "warn" },
	known: { rank: 1, label: "also in the base", tone: "plain" },
	agrees: { rank: 2, label: "agrees", tone: "ok" },
	skipped: { rank: 3, label: "does not apply", tone: "plain" },
};

/** `Probes (no reference): 10 of 11 answers agree, 3 do not apply`. */
function titleOf(probes: readonly ProbeResult[]): string {
	const count = (wanted: ProbeState): number => probes.filter(({ state }) => state === wanted).length;
	const skipped = count("skipped");
	const applied = probes.length - skipped;
	if (applied === 0) return "Probes (no reference): none applies";
	const rest = skipped === 0 ? "" : `, ${skipped} ${skipped === 1 ? "does" : "do"} not apply`;
	return `Probes (no reference): ${count("agrees")} of ${counted(applied, "answer agrees", "answers agree")}${rest}`;
}

function place(value: ProbeResult["got"] | undefined): number | null {
	return typeof value === "number" ? value : value == null ? null : 1e300;
}

const columns: readonly Column<ProbeResult>[] = [
	{
		title: "Engine",
		heading: true,
		text: subjectName,
		cell: ({ model, engine, part }) => nameOf(model, [engine], part),
	},
	{ title: "result", text: ({ state }) => states[state].label, tone: ({ state }) => states[state].tone },
	{ title: "probe", text: ({ probe }) => probeTexts[probe].label },
	{
		title: "difference",
		numeric: true,
		text: ({ got }) => (got === null ? dash : formatValue(got)),
		sortBy: ({ got }) => place(got),
	},
	{
		title: "allowed",
		numeric: true,
		text: ({ allowed }) => (allowed === null ? dash : `≤ ${formatValue(allowed)}`),
		sortBy: ({ allowed }) => allowed,
	},
	{
		title: "base",
		numeric: true,
		text: ({ base }) => (base === undefined ? dash : base === null ? "no output" : formatValue(base)),
		sortBy: ({ base }) => place(base),
	},
	{
		title: "what was compared",
		wraps: true,
		formats: ["markdown", "html"],
		text: ({ message }) => cleanMessage(message, 400),
	},
	{ title: "output", formats: ["terminal"], text: ({ output = "" }) => cleanName(output, 40) },
];

/** Of a probe that differs and has a gate, or that differs on the base too. */
function probeHighlight(probe: ProbeResult, gates: GateIndex): Highlight[] {
	const { label, fault, fix } = probeTexts[probe.probe];
	const status = gates.status("probe", probe);
	const isKnown = probe.state === "known";
	if (!isKnown && (probe.state !== "differs" || status === undefined)) return [];
	const what =
		probe.got === null
			? "gives no output at a size within its profile"
			: probe.got === "NaN"
				? "gives no finite output"
				: fault;
	return [
		{
			severity: isKnown ? "note" : status === "fail" ? "fail" : "warn",
			topic: isKnown
				? ["pre-existing probe difference", "pre-existing probe differences"]
				: ["probe difference", "probe differences"],
			title: `${subjectName(probe)} ${what}${isKnown ? ", as its base does" : ""} (probe, no reference)`,
			sentences: [`Probe “${label}”: ${cleanMessage(probe.message)}`],
			fix: isKnown ? undefined : fix,
			explains: gateKey("probe", probe),
		},
	];
}

const intro =
	"Checks without a golden: an engine has to agree with itself. They do not show which of two outputs is right. The difference is the relative L2 of the worst row; for integers, the share of elements that differ.";

function pageBlocks(probes: readonly ProbeResult[]): Block[] {
	const applied = probes.filter(({ state }) => state !== "skipped");
	const skipped = probes.filter(({ state }) => state === "skipped");
	const some = (label: string, rows: readonly ProbeResult[]) =>
		table(label, columns, rows, { noun: "probe" });
	return [
		{ kind: "sentence", text: intro },
		some("probes", applied),
		...(skipped.length === 0
			? []
			: details(`${skipped.length} that do not apply`, [some("probes that do not apply", skipped)])),
	];
}

/** A comment has only those that differ. */
function blocksOf(probes: readonly ProbeResult[], isComment: boolean): Block[] {
	const rows = probes.filter(({ state }) => (isComment ? states[state].rank < 2 : state !== "skipped"));
	return rows.length === 0
		? [{ kind: "sentence", text: "Each probe is in `report.html`." }]
		: [table("probes", columns, rows, { noun: "probe" })];
}

export const probeSection: ReportSection = {
	id: "probes",
	show({ result }, { format }) {
		const probes = [...(result.probes ?? [])].sort((a, b) => states[a.state].rank - states[b.state].rank);
		if (probes.length === 0) return null;
		const blocks = format === "html" ? pageBlocks(probes) : blocksOf(probes, format === "markdown");
		return { title: titleOf(probes), blocks };
	},
	highlights: ({ probes = [] }, gates) => probes.flatMap((probe) => probeHighlight(probe, gates)),
};
