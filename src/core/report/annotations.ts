// The annotations that GitHub shows beside the code, for what is not green.
import type { ErrorRecord, Finding, GateResult, Location, Result } from "../../../generated/result.ts";
import { groupBy } from "../group.ts";
import { cleanText } from "../text/escape.ts";
import { subjectName } from "../text/labels.ts";
import { cleanMessage } from "./comparison-format.ts";
import { backendOf, gateLabel } from "./facts.ts";

export interface Annotation {
	level: "error" | "warning" | "notice";
	title: string;
	message: string;
	path?: string;
	line?: number;
	column?: number;
}

/** The check-runs API takes 50 in one request. */
const maxAnnotations = 50;

const levels = ["error", "warning", "notice"] as const;

function place(location: Location | undefined): Pick<Annotation, "path" | "line" | "column"> {
	return location === undefined ? {} : { ...location, path: cleanText(location.path) };
}

function ofGate(gate: GateResult, result: Result): Annotation[] {
	const { status, message, location } = gate;
	if (status === "pass") return [];
	return [
		{
			level: status === "fail" || status === "error" ? "error" : "warning",
			title: `${subjectName(gate)}: ${gateLabel(gate.gate, backendOf(result, gate))} ${status}`,
			message: cleanMessage(message, 2000),
			...place(location),
		},
	];
}

function ofProblem(problem: ErrorRecord | Finding, level: Annotation["level"], node?: string): Annotation {
	const { code, message, fix, location } = problem;
	const where = node === undefined ? "" : ` (node ${cleanMessage(node, 120)})`;
	const next = fix === undefined ? "" : ` ${cleanMessage(fix, 1000)}`;
	return {
		level,
		title: [subjectName(problem), cleanMessage(code, 80)].filter((part) => part !== "").join(": "),
		message: `${cleanMessage(`${message}${where}`, 2000)}${next}`,
		...place(location),
	};
}

/** At most 50 unless `most` is given, most severe first; the last one counts the others. */
export function annotations(result: Result, most = maxAnnotations): Annotation[] {
	const found = [
		...result.errors.map((error) => ofProblem(error, error.kind === "github" ? "warning" : "error")),
		...result.gates.flatMap((gate) => ofGate(gate, result)),
		...result.findings.map((finding) =>
			ofProblem(finding, finding.severity === "note" ? "notice" : finding.severity, finding.node),
		),
	];
	// Gates, errors and both sides may give the same message about the same place.
	const distinct = groupBy(found, ({ message, path, line, column }) =>
		JSON.stringify([message, path, line, column]),
	);
	const all = [...distinct.values()]
		.flatMap(([first]) => first ?? [])
		.sort((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level));
	if (all.length <= most) return all;
	const shown = all.slice(0, most - 1);
	const more = all.length - shown.length;
	const message = `${more} more annotations are in report.html and result.json.`;
	return [...shown, { level: "notice", title: `${more} more`, message }];
}
