// The check run, and the annotations that GitHub shows beside the code for what is not green.
import type { ErrorRecord, Finding, Location, Outcome, Result } from "../../../generated/result.ts";
import { groupBy } from "../group.ts";
import { cleanMessage, cleanText, shorten } from "../text/escape.ts";
import { capitalize, outcomeLabels, present, subjectName, unverifiedText } from "../text/labels.ts";
import { backendOf, gateLabel } from "./facts.ts";
import { headline } from "./highlights.ts";
import { type FailingGate, failingGates } from "./index-gates.ts";
import { renderMarkdown, type Shown } from "./markdown.ts";

const levels = { error: "failure", warning: "warning", notice: "notice" } as const;

type Level = keyof typeof levels;

interface Annotation {
	level: Level;
	title: string;
	message: string;
	path?: string;
	line?: number;
	column?: number;
}

function place(location: Location | undefined) {
	return location === undefined ? {} : { ...location, path: cleanText(location.path) };
}

function ofGate(gate: FailingGate, result: Result): Annotation {
	const { status, message, location } = gate;
	return {
		level: status === "fail" || status === "error" ? "error" : "warning",
		title: `${subjectName(gate)}: ${gateLabel(gate.gate, backendOf(result, gate))} ${status}`,
		message: cleanMessage(message, 2000),
		...place(location),
	};
}

function ofProblem(problem: ErrorRecord | Finding, level: Level, node?: string): Annotation {
	const { code, message, fix, location } = problem;
	const where = node === undefined ? "" : ` (node ${cleanMessage(node, 120)})`;
	const next = fix === undefined ? "" : ` ${cleanMessage(fix, 1000)}`;
	return {
		level,
		title: present([subjectName(problem), cleanMessage(code, 80)]).join(": "),
		message: `${cleanMessage(`${message}${where}`, 2000)}${next}`,
		...place(location),
	};
}

/** GitHub shows ten errors of a step, and the step itself ends with one. */
const mostOfStep = 9;

/** Most severe first; the last one counts the others. */
export function annotations(result: Result, most = mostOfStep): Annotation[] {
	const found = [
		...result.errors.map((error) => ofProblem(error, error.kind === "github" ? "warning" : "error")),
		...failingGates(result).map((gate) => ofGate(gate, result)),
		...result.findings.map((finding) =>
			ofProblem(finding, finding.severity === "note" ? "notice" : finding.severity, finding.node),
		),
	];
	// Gates, errors and both sides may give the same message about the same place.
	const distinct = groupBy(found, ({ message, path, line, column }) =>
		JSON.stringify([message, path, line, column]),
	);
	const order = Object.keys(levels);
	const all = [...distinct.values()]
		.map(([first]) => first)
		.sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
	if (all.length <= most) return all;
	const more = all.length - most + 1;
	const message = `${more} more annotations are in report.html and result.json.`;
	return [...all.slice(0, most - 1), { level: "notice", title: `${more} more`, message }];
}

/** An inconclusive outcome is neither: if the config wants it to fail, its gates have failed. */
const conclusions: Readonly<Record<Outcome, "success" | "failure" | "neutral">> = {
	...{ pass: "success", warn: "success", inconclusive: "neutral", fail: "failure", error: "failure" },
};

const maxAnnotations = 200;
const titleChars = 250;
const summaryLimit = 65_000;

const blame: Readonly<Record<NonNullable<Result["failureKind"]>, string>> = {
	runner: "the runner is at fault, not the change; run it again",
	configuration: "the configuration is at fault",
	internal: "trtgate itself is at fault",
};

function title(result: Result) {
	const label = outcomeLabels[result.outcome];
	const why = result.failureKind === undefined ? "" : ` (${blame[result.failureKind]})`;
	const state = result.unverified === true ? `${unverifiedText}: ${label}` : capitalize(label);
	return shorten(`${state}${why}: ${headline(result)}`, titleChars);
}

export function describeCheckRun(result: Result, shown: Shown) {
	const conclusion = conclusions[result.outcome];
	return {
		conclusion: result.unverified === true && conclusion === "success" ? "neutral" : conclusion,
		title: title(result),
		summary: renderMarkdown(result, { limit: summaryLimit, ...shown }),
		annotations: annotations(result, maxAnnotations).map(({ path, line = 1, message, ...one }) => ({
			path: path ?? result.config.path,
			line: path === undefined ? 1 : Math.max(1, line),
			level: levels[one.level],
			title: shorten(one.title, titleChars),
			message,
		})),
	};
}
