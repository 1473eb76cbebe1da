// Stories of engines that were not built, of errors, and of gates that no other story tells of.
import type { BuildRecord, ErrorRecord, Finding, GateResult, Result } from "../schema/result.ts";
import { formatDuration } from "../units.ts";
import { saidText } from "./comparison-words.ts";
import { cleanText, shorten } from "./escape.ts";
import { type GateIndex, subjectKey } from "./index-gates.ts";
import type { Story, StorySeverity } from "./story.ts";
import { buildWords, gateWord, subjectName } from "./words.ts";

/** Lines of a log that a report shows; the whole is in the log file. */
export function excerptLines(lines: readonly string[]): string[] {
	return lines.slice(-12).map((line) => shorten(cleanText(shorten(line, 1000)), 240));
}

function failedBuild(build: BuildRecord): boolean {
	return build.state === "refused" || build.state === "timed-out" || (build.state === "skipped" && build.arm === "head");
}

export function buildStory(build: BuildRecord, gates: GateIndex): Story | null {
	if (!failedBuild(build)) return null;
	const status = gates.status("build", build);
	const severity: StorySeverity = build.arm === "base" ? "note" : status === undefined || status === "pass" ? "fail" : status;
	const said = build.failure === undefined ? buildWords[build.state] : saidText(build.failure.title, 300);
	const excerpt = excerptLines(build.failure?.excerpt ?? []);
	return {
		severity,
		topic: [`${build.arm} build ${buildWords[build.state]}`, `${build.arm} builds ${buildWords[build.state]}`],
		title: `${subjectName(build)} does not build (${build.arm}): ${said}`,
		sentences: [
			[`The build was ${buildWords[build.state]} after ${formatDuration(build.durationMs)}.`],
			...(build.failure === undefined ? [] : [["What it is: ", { code: saidText(build.failure.code, 80) }, "."]]),
			...(build.log === undefined ? [] : [["The whole log: ", { code: saidText(build.log, 200) }, "."]]),
		],
		...(build.failure === undefined ? {} : { fix: saidText(build.failure.fix) }),
		...(excerpt.length === 0 ? {} : { excerpt }),
	};
}

export function errorStory(error: ErrorRecord): Story {
	const place = error.model === undefined ? "" : `${subjectName({ ...error, model: error.model })}: `;
	const excerpt = excerptLines(error.excerpt ?? []);
	return {
		severity: error.kind === "github" ? "warn" : "error",
		topic: [error.kind === "github" ? "GitHub fault" : "error", error.kind === "github" ? "GitHub faults" : "errors"],
		title: `${place}${saidText(error.message, 400)}`,
		sentences: [
			["Code ", { code: saidText(error.code, 80) }, `, a fault of ${faultOf[error.kind]}.`],
			...(error.log === undefined ? [] : [["The whole log: ", { code: saidText(error.log, 200) }, "."]]),
		],
		...(error.fix === undefined ? {} : { fix: saidText(error.fix) }),
		...(excerpt.length === 0 ? {} : { excerpt }),
	};
}

const faultOf: Readonly<Record<ErrorRecord["kind"], string>> = {
	configuration: "the configuration",
	runner: "the runner, worth a retry",
	github: "GitHub's side; it does not change the outcome",
	internal: "trtgate itself",
};

const statusWords: Readonly<Record<GateResult["status"], string>> = {
	pass: "passes",
	warn: "warns",
	fail: "fails",
	inconclusive: "is inconclusive",
	error: "could not be judged",
};

function blockingFindings(result: Result, gate: GateResult): Finding[] {
	if (gate.gate !== "preflight") return [];
	return result.findings.filter(
		(finding) =>
			finding.severity !== "note" && finding.model === gate.model && (finding.engine === undefined || finding.engine === gate.engine),
	);
}

export function gateStory(result: Result, gate: GateResult): Story {
	const word = gateWord(gate.gate, result.backend);
	const findings = blockingFindings(result, gate);
	const fix = findings.find((finding) => finding.fix !== undefined)?.fix;
	return {
		severity: gate.status === "pass" ? "note" : gate.status,
		topic: [
			`${word} gate ${statusWords[gate.status]}`,
			`${word} gates ${gate.status === "inconclusive" ? "are inconclusive" : statusWords[gate.status].replace(/s$/, "")}`,
		],
		title: `${subjectName(gate)}: the ${word} gate ${statusWords[gate.status]}`,
		sentences: [
			[saidText(gate.message)],
			...findings
				.filter((finding) => finding.message !== gate.message)
				.slice(0, 3)
				.map((finding) => [{ code: saidText(finding.code, 80) }, `: ${saidText(finding.message)}`]),
		],
		...(fix === undefined ? {} : { fix: saidText(fix) }),
	};
}

/** Subjects that errors speak of: their `run` gate would only say it again. */
export function erredSubjects(result: Result): Set<string> {
	return new Set(result.errors.flatMap((error) => (error.model === undefined ? [] : [subjectKey({ ...error, model: error.model })])));
}
