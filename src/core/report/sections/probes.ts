// Whether engines agree with themselves, and where outputs first deviate from ONNX Runtime.
import type { Bisection, ProbeResult, ProbeState } from "../../../../generated/result.ts";
import { dash } from "../../compare/sentence.ts";
import { cleanMessage } from "../../text/escape.ts";
import { counted, present, subjectName, subjectOf, type Tone } from "../../text/labels.ts";
import { formatValue } from "../../text/units.ts";
import { sortable } from "../golden-format.ts";
import type { GateIndex, Highlight } from "../highlight.ts";
import { nameOf } from "../html/markup.ts";
import {
	type Column,
	details,
	heading,
	long,
	numbers,
	numeric,
	plain,
	type ReportSection,
	sentence,
	table,
} from "../section.ts";

/** `label`: what has to hold. `fault`: ends a sentence that begins with the engine. */
const probeTexts = {
	determinism: {
		label: "two runs agree",
		fault: "gives different outputs for the same input",
		fix: "Look for random operators and plugins with atomic additions; if the model is random on purpose, leave this probe out with `probes: { only: [...] }`.",
	},
	order: {
		label: "earlier inputs do not matter",
		fault: "gives outputs that depend on earlier inputs",
		fix: "Look for plugins that keep memory from one inference to the next, and for outputs that are not written whole.",
	},
	streams: {
		label: "several inferences at once agree with one",
		fault: "gives other outputs with several inferences at once",
		fix: "Look for plugins that keep one buffer for all execution contexts.",
	},
	"duplicate-rows": {
		label: "equal rows agree",
		fault: "gives different outputs for equal rows",
		fix: "Compare a batch of equal rows layer by layer; it may be a defect of a kernel or a plugin.",
	},
	neighbours: {
		label: "a row does not depend on its neighbours",
		fault: "has rows that depend on their neighbours",
		fix: "Look for what reduces over the batch, or is quantised with one scale for it; if intended, leave this probe out.",
	},
	"batch-size": {
		label: "batch sizes agree",
		fault: "gives different outputs at different batch sizes",
		fix: "Compare the two batch sizes layer by layer; a reshape may contain the exported batch size.",
	},
	"profile-sizes": {
		label: "the profile's sizes agree",
		fault: "is inconsistent at a size of its profile",
		fix: "Run the engine at the size that the message names; narrow the profile if that size is not needed.",
	},
	padding: {
		label: "padding does not leak",
		fault: "lets padding leak into its outputs",
		fix: "Look for a pooling or a normalisation that does not read the mask.",
	},
	refit: {
		label: "a refit with the same weights changes nothing",
		fault: "gives other outputs after a refit with the same weights",
		fix: "Build without `--refit`, or look for weights that several layers share.",
	},
};

/** Sorted by need of attention; the tone is that of a difference without a gate. */
const states: Readonly<Record<ProbeState, readonly [rank: number, label: string, tone: Tone]>> = {
	differs: [0, "differs", "warn"],
	known: [1, "also in the base", "plain"],
	agrees: [2, "agrees", "ok"],
	skipped: [3, "does not apply", "plain"],
};
const rankOf = ({ state }: ProbeResult) => states[state][0];

function titleOf(probes: readonly ProbeResult[]) {
	const count = (wanted: ProbeState) => probes.filter(({ state }) => state === wanted).length;
	const skipped = count("skipped");
	const applied = probes.length - skipped;
	if (applied === 0) return "Probes (no reference): none applies";
	const rest = skipped === 0 ? "" : `, ${skipped} ${skipped === 1 ? "does" : "do"} not apply`;
	return `Probes (no reference): ${count("agrees")} of ${counted(applied, "answer agrees", "answers agree")}${rest}`;
}

const columns: readonly Column<ProbeResult>[] = [
	heading<ProbeResult>("Engine", subjectName, {
		cell: ({ model, engine, part }) => nameOf(model, [engine], part),
	}),
	plain("result", ({ state }) => states[state][1], { tone: ({ state }) => states[state][2] }),
	plain("probe", ({ probe }) => probeTexts[probe].label),
	numeric("difference", ({ got }) => formatValue(got), { sortBy: ({ got }) => sortable(got) }),
	numbers(
		"allowed",
		({ allowed }) => allowed,
		(value) => `≤ ${formatValue(value)}`,
	),
	numeric(
		"base",
		({ base }) => (base === undefined ? dash : base === null ? "no output" : formatValue(base)),
		{ sortBy: ({ base }) => sortable(base) },
	),
	long("what was compared", ({ message }) => cleanMessage(message, 400)),
];

function probeHighlight(probe: ProbeResult, gates: GateIndex): Highlight[] {
	const { label, fault, fix } = probeTexts[probe.probe];
	const isKnown = probe.state === "known";
	const isGated = probe.state === "differs" && gates.of("probe", probe).length > 0;
	if (!isKnown && !isGated) return [];
	const odd = { null: "gives no output at a size within its profile", NaN: "gives no finite output" };
	const what = probe.got === null || probe.got === "NaN" ? odd[`${probe.got}`] : fault;
	return [
		{
			...gates.explain("probe", probe, "warn"),
			...(isKnown && { severity: "note" }),
			about: subjectOf(probe),
			topic: isKnown
				? ["pre-existing probe difference", "pre-existing probe differences"]
				: ["probe difference", "probe differences"],
			title: `${subjectName(probe)} ${what}${isKnown ? ", as its base does" : ""} (probe, no reference)`,
			sentences: [`Probe “${label}”: ${cleanMessage(probe.message)}`],
			fix: isKnown ? undefined : fix,
		},
	];
}

const intro =
	"Checks without a golden: an engine has to agree with itself. They do not show which of two outputs is right. The difference is the relative L2 of the worst row; for integers, the share of elements that differ.";

export const probeSection: ReportSection = {
	id: "probes",
	show({ result }, { format }) {
		const probes = [...(result.probes ?? [])].sort((a, b) => rankOf(a) - rankOf(b));
		if (probes.length === 0) return null;
		const isPage = format === "html";
		const most = format === "markdown" ? 1 : 2;
		const applied = probes.filter((probe) => rankOf(probe) <= most);
		const skipped = isPage ? probes.filter(({ state }) => state === "skipped") : [];
		const rest = table("probes that do not apply", columns, skipped, { noun: "probe" });
		return {
			title: titleOf(probes),
			blocks: [
				...present([
					isPage && intro,
					applied.length === 0 && !isPage && "Each probe is in `report.html`.",
				]).map((text) => sentence(text)),
				table("probes", columns, applied, { noun: "probe" }),
				...(skipped.length === 0 ? [] : details(`${skipped.length} that do not apply`, [rest])),
			],
		};
	},
	highlights: ({ probes = [] }, gates) => probes.flatMap((probe) => probeHighlight(probe, gates)),
};

const bisectionCaveat =
	"Each engine was built again with tensors between its nodes as outputs. That breaks fusions, so these engines are not quite the ones that were judged.";

function bisectionText(one: Bisection) {
	const { message, rounds, compared } = one;
	const effort =
		rounds === 0 ? "" : ` (${counted(compared, "tensor")} compared in ${counted(rounds, "round")})`;
	return `${subjectName(one)}: ${cleanMessage(message, 700)}${effort}`;
}

export const bisectionSection: ReportSection = {
	id: "bisections",
	show({ result: { bisections = [] } }, { detail }) {
		if (bisections.length === 0) return null;
		const named = bisections.filter(({ state }) => state === "found").length;
		const items = bisections.slice(0, detail.foldedRows).map(bisectionText);
		return {
			title: `Where outputs diverge: ${counted(named, "node")} found for ${counted(bisections.length, "engine")}`,
			isOpen: true,
			blocks: [{ kind: "list", items }, sentence(bisectionCaveat, "quiet")],
		};
	},
};
