// What GitHub shows beside the code: one annotation for each gate, error and finding that is not green.

import type {
	ErrorRecord,
	Finding,
	GateResult,
	GateStatus,
	Location,
	Result,
} from "../../../generated/result.ts";
import { cleanText } from "../text/escape.ts";
import { subjectName } from "../text/labels.ts";
import { cleanMessage } from "./comparison-format.ts";
import { backendOf } from "./facts.ts";
import { gateLabel } from "./gate-labels.ts";

type AnnotationLevel = "error" | "warning" | "notice";

export interface Annotation {
	level: AnnotationLevel;
	title: string;
	message: string;
	path?: string;
	line?: number;
	column?: number;
}

/** The check-runs API takes 50 in one request. */
const maxAnnotations = 50;

const gateLevels: Readonly<Record<Exclude<GateStatus, "pass">, AnnotationLevel>> = {
	fail: "error",
	error: "error",
	inconclusive: "warning",
	warn: "warning",
};

const findingLevels: Readonly<Record<Finding["severity"], AnnotationLevel>> = {
	error: "error",
	warning: "warning",
	note: "notice",
};

function place(location: Location | undefined): Pick<Annotation, "path" | "line" | "column"> {
	if (location === undefined) return {};
	const { path, line, column } = location;
	return { path: cleanText(path), line, column };
}

function withFix(message: string, fix: string | undefined): string {
	return fix === undefined
		? cleanMessage(message, 2000)
		: `${cleanMessage(message, 2000)} ${cleanMessage(fix, 1000)}`;
}

function ofGate(gate: GateResult, result: Result): Annotation[] {
	if (gate.status === "pass") return [];
	const label = gateLabel(gate.gate, backendOf(result, gate));
	const title = `${subjectName(gate)}: ${label} ${gate.status}`;
	return [
		{
			level: gateLevels[gate.status],
			title,
			message: cleanMessage(gate.message, 2000),
			...place(gate.location),
		},
	];
}

function titleOf(record: ErrorRecord | Finding): string {
	return [subjectName(record), cleanMessage(record.code, 80)].filter((part) => part !== "").join(": ");
}

function ofError(error: ErrorRecord): Annotation {
	const level: AnnotationLevel = error.kind === "github" ? "warning" : "error";
	return {
		level,
		title: titleOf(error),
		message: withFix(error.message, error.fix),
		...place(error.location),
	};
}

function ofFinding(finding: Finding): Annotation {
	const node = finding.node === undefined ? "" : ` (node ${cleanMessage(finding.node, 120)})`;
	return {
		level: findingLevels[finding.severity],
		title: titleOf(finding),
		message: withFix(`${finding.message}${node}`, finding.fix),
		...place(finding.location),
	};
}

const urgency: Readonly<Record<AnnotationLevel, number>> = { error: 0, warning: 1, notice: 2 };

/** The same message about the same place appears once, whatever gate, error or side it comes from. */
function distinct(list: readonly Annotation[]): Annotation[] {
	const seen = new Map<string, Annotation>();
	for (const annotation of list) {
		const key = JSON.stringify([annotation.message, annotation.path, annotation.line, annotation.column]);
		if (!seen.has(key)) seen.set(key, annotation);
	}
	return [...seen.values()];
}

/** At most 50 unless `most` is given, most severe first; the last one counts the others. */
export function annotations(result: Result, most = maxAnnotations): Annotation[] {
	const all = distinct([
		...result.errors.map(ofError),
		...result.gates.flatMap((gate) => ofGate(gate, result)),
		...result.findings.map(ofFinding),
	]).sort((a, b) => urgency[a.level] - urgency[b.level]);
	if (all.length <= most) return all;
	const shown = all.slice(0, most - 1);
	const more = all.length - shown.length;
	return [
		...shown,
		{
			level: "notice",
			title: `${more} more`,
			message: `${more} more annotations are in report.html and result.json.`,
		},
	];
}
