// Stories of engines that do not agree with themselves: no golden says which of two answers is right.
import type { ProbeName, ProbeResult, Result } from "../schema/result.ts";
import { subjectName } from "../text/labels.ts";
import { cleanMessage } from "./comparison-format.ts";
import type { Highlight } from "./highlight.ts";
import { type GateIndex, subjectKey } from "./index-gates.ts";
import { probeLabels } from "./probe-labels.ts";

/** Titles, as the end of a sentence that begins with the engine's name. */
const faults: Readonly<Record<ProbeName, string>> = {
	determinism: "gives two answers to one input",
	"duplicate-rows": "gives different answers to equal rows",
	neighbours: "lets rows depend on their neighbours",
	"batch-size": "gives another answer in another batch size",
	"profile-ends": "does not agree with itself at its profile's ends",
	padding: "lets padding leak into its answers",
};

const fixes: Readonly<Record<ProbeName, string>> = {
	determinism:
		"Look for random operators and plugins with atomic additions; where the model draws numbers on purpose, leave this probe out with `probes: { only: [...] }`.",
	"duplicate-rows": "Compare a batch of equal rows layer by layer; it may be a defect of a kernel or a plugin.",
	neighbours:
		"Look for what reduces over the batch, and for quantisation with one scale for the whole batch; where it is meant, leave this probe out.",
	"batch-size": "Compare the two batch sizes layer by layer; a reshape may have the exported batch size in it.",
	"profile-ends": "Run the engine at the size that the message names; narrow the profile where it is not served.",
	padding: "Look for a pooling or a normalisation that does not read the mask.",
};

function faultOf({ probe, got }: ProbeResult): string {
	if (got === null) return "gives no answer at a size that its profile holds";
	return got === "NaN" ? "gives no finite number" : faults[probe];
}

function probeHighlight(probe: ProbeResult, status: "warn" | "fail" | "note"): Highlight {
	const { model, engine, part } = probe;
	const subject = subjectName({ model, engine, part });
	const known = probe.state === "known";
	return {
		severity: status,
		topic: known ? ["probe known on the base", "probes known on the base"] : ["probe that differs", "probes that differ"],
		title: `${subject} ${faultOf(probe)}${known ? ", as its base does" : ""} (probe, no reference)`,
		sentences: [[`Probe “${probeLabels[probe.probe]}”: ${cleanMessage(probe.message)}`]],
		...(known ? {} : { fix: fixes[probe.probe] }),
	};
}

/** One story for each probe that differs and whose gate speaks, and each that is known on the base; and the keys of the gates that they tell. */
export function probeHighlights(result: Result, gates: GateIndex): { highlights: Highlight[]; keys: string[] } {
	const told = (result.probes ?? []).flatMap((probe): [ProbeResult, Highlight][] => {
		const status = gates.status("probe", probe);
		if (probe.state === "known") return [[probe, probeHighlight(probe, "note")]];
		if (probe.state !== "differs" || status === undefined) return [];
		return [[probe, probeHighlight(probe, status === "fail" ? "fail" : "warn")]];
	});
	return {
		highlights: told.map(([, highlight]) => highlight),
		keys: told.map(([{ model, engine, part }]) => `probe${subjectKey({ model, engine, part })}`),
	};
}
