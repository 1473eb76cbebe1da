// Stories of engines that were not built, of errors, and of gates that no other story tells of.
import type { BuildRecord, ErrorRecord, Finding, GateName, GateResult, Result } from "../schema/result.ts";
import { cleanName, cleanText, shorten } from "../text/escape.ts";
import { buildLabel, gateLabel, subjectName } from "../text/labels.ts";
import { formatDuration } from "../text/units.ts";
import { cleanMessage } from "./comparison-format.ts";
import type { Highlight, HighlightSeverity } from "./highlight.ts";
import { engineKey, type GateIndex, subjectKey } from "./index-gates.ts";
import { backendOf } from "./part-backend.ts";

const mostExcerptLines = 12;

/** Lines of a log that a report shows: the first say what broke, the last how it ended. The whole is in the log file. */
export function excerptLines(lines: readonly string[]): string[] {
	const half = mostExcerptLines / 2;
	const shown = lines.length <= mostExcerptLines ? lines : [...lines.slice(0, half), "…", ...lines.slice(-half)];
	return shown.map((line) => shorten(cleanText(shorten(line, 1000)), 240));
}

function failedBuild(build: BuildRecord): boolean {
	return build.state === "refused" || build.state === "timed-out" || (build.state === "skipped" && build.arm === "head");
}

/** Builds of one engine that failed in the same way, one or both arms. */
function sameFailures(builds: readonly BuildRecord[]): BuildRecord[][] {
	const groups = new Map<string, BuildRecord[]>();
	for (const build of builds.filter(failedBuild)) {
		const key = JSON.stringify([engineKey(build), build.state, build.failure?.title ?? null]);
		groups.set(key, [...(groups.get(key) ?? []), build]);
	}
	return [...groups.values()];
}

function buildSeverity(builds: readonly BuildRecord[], gates: GateIndex): HighlightSeverity {
	const head = builds.find((build) => build.arm === "head");
	// A base that does not build is no fault of the change.
	if (head === undefined) return "note";
	const status = gates.status("build", head);
	return status === undefined || status === "pass" ? "fail" : status;
}

function buildHighlight(builds: readonly BuildRecord[], gates: GateIndex): Highlight[] {
	const build = builds.find(({ arm }) => arm === "head") ?? builds[0];
	if (build === undefined) return [];
	const { failure } = build;
	const word = buildLabel(build);
	const arms = builds.map(({ arm }) => arm).join(" and ");
	const excerpt = excerptLines(failure?.excerpt ?? []);
	const highlight: Highlight = {
		severity: buildSeverity(builds, gates),
		topic: [`build ${word}`, `builds ${word}`],
		title: `${subjectName(build)} does not build (${arms}): ${failure === undefined ? word : cleanMessage(failure.title, 300)}`,
		sentences: [
			[`The build ${word === "failed" || word === "timed out" ? word : `was ${word}`} after ${formatDuration(build.durationMs)}.`],
			...(failure === undefined ? [] : [["What it is: ", { code: cleanMessage(failure.code, 80) }, "."]]),
			...(build.log === undefined ? [] : [["The whole log: ", { code: cleanMessage(build.log, 200) }, "."]]),
		],
		...(failure === undefined ? {} : { fix: cleanMessage(failure.fix) }),
		...(excerpt.length === 0 ? {} : { excerpt }),
	};
	return [highlight];
}

/** One story for each engine that was not built; told once where both arms failed in the same way. */
export function buildHighlights(result: Result, gates: GateIndex): Highlight[] {
	return sameFailures(result.builds).flatMap((builds) => buildHighlight(builds, gates));
}

/** Engines that those stories tell of. */
export function unbuiltSubjects(result: Result): Set<string> {
	return new Set(result.builds.filter(failedBuild).map(engineKey));
}

export function errorHighlight(error: ErrorRecord): Highlight {
	const place = error.model === undefined ? partPrefix(error.part) : `${subjectName({ ...error, model: error.model })}: `;
	const excerpt = excerptLines(error.excerpt ?? []);
	return {
		severity: error.kind === "github" ? "warn" : "error",
		topic: [error.kind === "github" ? "GitHub fault" : "error", error.kind === "github" ? "GitHub faults" : "errors"],
		title: `${place}${cleanMessage(error.message, 400)}`,
		sentences: [
			["Code ", { code: cleanMessage(error.code, 80) }, `, a fault of ${faultOf[error.kind]}.`],
			...(error.log === undefined ? [] : [["The whole log: ", { code: cleanMessage(error.log, 200) }, "."]]),
		],
		...(error.fix === undefined ? {} : { fix: cleanMessage(error.fix) }),
		...(excerpt.length === 0 ? {} : { excerpt }),
	};
}

function partPrefix(part: string | undefined): string {
	return part === undefined ? "" : `${cleanName(part, 60)}: `;
}

const faultOf: Readonly<Record<ErrorRecord["kind"], string>> = {
	configuration: "the configuration",
	runner: "the runner, worth a retry",
	github: "GitHub's side; it does not change the outcome",
	internal: "trtgate itself",
};

const statusLabels: Readonly<Record<GateResult["status"], string>> = {
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
			finding.severity !== "note" &&
			finding.part === gate.part &&
			finding.model === gate.model &&
			(finding.engine === undefined || finding.engine === gate.engine),
	);
}

const gateFixes: Readonly<Partial<Record<GateName, string>>> = {
	"limit-change": "Put the limit back, or let a reviewer approve that less is demanded from now on.",
	vanished: "Find out why the head no longer reports it; what is not reported is not gated.",
};

export function gateHighlight(result: Result, gate: GateResult): Highlight {
	const word = gateLabel(gate.gate, backendOf(result, gate));
	const findings = blockingFindings(result, gate);
	const fix = findings.find((finding) => finding.fix !== undefined)?.fix ?? gateFixes[gate.gate];
	return {
		severity: gate.status === "pass" ? "note" : gate.status,
		topic: [
			`${word} gate ${statusLabels[gate.status]}`,
			`${word} gates ${gate.status === "inconclusive" ? "are inconclusive" : statusLabels[gate.status].replace(/s$/, "")}`,
		],
		title: `${subjectName(gate)}: the ${word} gate ${statusLabels[gate.status]}`,
		sentences: [
			[cleanMessage(gate.message)],
			...findings
				.filter((finding) => finding.message !== gate.message)
				.slice(0, 3)
				.map((finding) => [{ code: cleanMessage(finding.code, 80) }, `: ${cleanMessage(finding.message)}`]),
		],
		...(fix === undefined ? {} : { fix: cleanMessage(fix) }),
	};
}

/** Subjects that errors speak of: their `run` gate would only say it again. */
export function erredSubjects(result: Result): Set<string> {
	return new Set(result.errors.flatMap((error) => (error.model === undefined ? [] : [subjectKey({ ...error, model: error.model })])));
}
