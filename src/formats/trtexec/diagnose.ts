// Diagnoses a run of trtexec: facts first, then the log, the exit code last.
import type { Diagnosis } from "../../core/errors.ts";
import { listNames } from "../../core/text/labels.ts";
import { paint } from "../../core/text/paint.ts";
import { catalogue } from "./failures/catalogue.ts";
import { endingSignal } from "./failures/ends.ts";
import {
	type CodedRule,
	type Facts,
	type LogFacts,
	linesOf,
	type Names,
	type RunFacts,
	titleOf,
} from "./failures/rule.ts";
import { createLogScan, type LogScan } from "./log-scan.ts";
import { dumpBytes } from "./output-dump.ts";
import type { LogLine, WrittenFile } from "./transcript.ts";

export interface Evidence extends RunFacts {
	lines?: Iterable<LogLine>;
	scan?: LogScan;
	wrote?: readonly WrittenFile[];
	inputs?: readonly WrittenFile[];
}

interface Found {
	rule: CodedRule;
	names: Names;
	lines: readonly LogLine[];
}

const excerptLines = 8;
const excerptChars = 400;
const titleChars = 600;

export function flagsOf(argv: readonly string[]): Map<string, string> {
	return new Map(
		argv.slice(1).map((argument) => {
			const at = argument.indexOf("=");
			return at < 0 ? [argument, ""] : [argument.slice(0, at), argument.slice(at + 1)];
		}),
	);
}

const bytesByPath = (files: readonly WrittenFile[]) => new Map(files.map(({ path, bytes }) => [path, bytes]));

function factsOf({ lines: _, scan: __, wrote, inputs = [], ...evidence }: Evidence, log: LogFacts) {
	const argv = evidence.argv ?? log.command ?? null;
	return {
		...evidence,
		log,
		signal: endingSignal(evidence.exitCode, evidence.signal),
		flags: flagsOf(argv ?? []),
		argumentCount: argv === null ? null : argv.length - 1,
		wrote: wrote === undefined ? null : bytesByPath(wrote),
		inputs: bytesByPath(inputs),
	};
}

function findAll(rules: readonly CodedRule[], facts: Facts, scan: LogScan) {
	return rules.flatMap((rule) => {
		const [hit] = linesOf(rule)
			.flatMap((pattern) => scan.hits.get(pattern) ?? [])
			.sort((a, b) => a.line.number - b.line.number);
		if (rule.lines && !hit) return [];
		const support = rule.with && scan.hits.get(rule.with);
		if ((rule.with && !support) || rule.when?.(facts) === false) return [];
		const { node, version } = facts.log;
		const names: Record<string, string | undefined> = {
			op: node?.op,
			output: node?.output,
			node: node?.name,
			version: version?.text,
			signal: facts.signal ?? "",
			plan: facts.flags.get("--loadEngine"),
			saved: facts.flags.get("--saveEngine"),
			...rule.names?.(facts),
			...hit?.names,
		};
		const lines = hit ? [hit.line, ...(support ? [support.line] : [])] : (rule.show?.(facts) ?? []);
		return [{ rule, names, lines }];
	});
}

const isCause = ({ rule }: Found) => rule.rank === undefined;

/** Causes first, then symptoms, each in log order; catalogue order decides a tie. */
function byRank(found: readonly Found[]) {
	const rankOf = ({ rule }: Found) => [undefined, "symptom", "fallback"].indexOf(rule.rank);
	const lineOf = (entry: Found) => entry.lines[0]?.number ?? 0;
	return found.toSorted((a, b) => rankOf(a) - rankOf(b) || lineOf(a) - lineOf(b));
}

function toExcerpt(lines: readonly LogLine[]) {
	const unique = new Map(lines.map((line) => [line.number, line]));
	return [...unique.values()]
		.toSorted((a, b) => a.number - b.number)
		.map(({ number, text }) => ({ line: number, text: text.slice(0, excerptChars) }));
}

const isFilled = ({ text }: LogLine) => text.trim() !== "";

function excerptOf(found: Found, scan: LogScan) {
	const reported = found.lines[0];
	const first = reported?.number ?? Infinity;
	// The parser names the node well before it reports the problem.
	const { node } = scan.facts;
	const at = node !== null && reported !== undefined && node.line.number < first ? [node.line] : [];
	// A symptom or fallback is printed after its cause.
	const before = isCause(found) ? [] : scan.errors.filter((line) => line.number < first).slice(-2);
	const own = [...new Set([...at, ...before, ...found.lines])].slice(0, excerptLines);
	const beside = scan.errors.filter((line) => line.number >= first && isFilled(line) && !own.includes(line));
	const lines = [...own, ...beside.slice(0, excerptLines - own.length)];
	return toExcerpt(
		lines.length > 0 || isCause(found) ? lines : scan.tail.filter(isFilled).slice(-excerptLines),
	);
}

/** Closes the gap of a name that was not captured; names may contain any character. */
function tidy(sentence: string) {
	const plain = sentence.replace(/[\u0000-\u001f\u007f-\u009f]/g, " ").slice(0, titleChars);
	return plain.replace(/ {2,}/g, " ").replace(/ (?=[.,;:](?: |$))/g, "");
}

function toDiagnosis(found: readonly Found[], scan: LogScan): Diagnosis | null {
	const [first, ...rest] = found;
	if (!first) return null;
	const { rule, names } = first;
	// Two rules that match the same line describe one failure.
	const others = rest.filter(
		(one) => isCause(one) && (one.lines[0] === undefined || one.lines[0] !== first.lines[0]),
	);
	return {
		code: rule.code,
		kind: rule.kind ?? "refusal",
		title: tidy(titleOf(rule, names)),
		fix: rule.fix,
		excerpt: excerptOf(first, scan),
		also: [...new Set(others.map((entry) => entry.rule.code))].filter((code) => code !== rule.code),
	};
}

function unknown(facts: Facts, scan: LogScan): Diagnosis {
	const exited = facts.exitCode === null ? "failed" : `ended with exit code ${facts.exitCode}`;
	const ending = facts.signal === null ? exited : `was ended by ${facts.signal}`;
	const lines = scan.lastErrors.length > 0 ? scan.lastErrors : scan.tail;
	return {
		code: "unknown",
		kind: "runner",
		title: `trtexec ${ending}, and its log matches no known failure.`,
		fix: "Read the last error lines below, and run it again with --verbose.",
		excerpt: toExcerpt(lines.filter(isFilled).slice(-excerptLines)),
		also: [],
	};
}

const ok: Diagnosis = {
	code: "ok",
	kind: "none",
	title: "trtexec completed without problems.",
	fix: "",
	excerpt: [],
	also: [],
};

function hasFailed({ spawnError, timedOut, signal, exitCode, log }: Facts): boolean {
	const wasStopped = spawnError != null || timedOut === true || signal !== null;
	return wasStopped || log.ending === "failed" || (exitCode ?? 0) !== 0;
}

export function diagnose(evidence: Evidence): Diagnosis {
	const scanner = createLogScan();
	for (const line of evidence.scan ? [] : (evidence.lines ?? [])) scanner.feed(line);
	const scan = evidence.scan ?? scanner.result();
	const facts = factsOf(evidence, scan.facts);
	if (hasFailed(facts)) return diagnoseFailed(facts, scan);
	const falseSuccess = toDiagnosis(findAll(catalogue.falseSuccess, facts, scan), scan);
	if (facts.exitCode !== null || facts.log.ending === "passed") return falseSuccess ?? ok;
	const logged = byRank(findAll(catalogue.log, facts, scan));
	if (facts.log.printedHelp && logged.length === 0) return falseSuccess ?? ok;
	const incomplete = findAll(catalogue.incomplete, facts, scan);
	return toDiagnosis([...logged, ...incomplete], scan) ?? unknown(facts, scan);
}

function diagnoseFailed(facts: Facts, scan: LogScan): Diagnosis {
	const find = (rules: readonly CodedRule[]) => toDiagnosis(findAll(rules, facts, scan), scan);
	const logged = byRank(findAll(catalogue.log, facts, scan));
	// Warnings are listed too, but never as the reason.
	const warnings = catalogue.falseSuccess.filter((rule) =>
		linesOf(rule).some((line) => !(line instanceof RegExp)),
	);
	const cause =
		logged[0] && logged[0].rule.rank !== "fallback"
			? toDiagnosis([...logged, ...findAll(warnings, facts, scan)], scan)
			: null;
	return (
		find(catalogue.start) ??
		find(catalogue.outside) ??
		cause ??
		find(catalogue.crash) ??
		toDiagnosis(logged, scan) ??
		unknown(facts, scan)
	);
}

export function touchedFiles(evidence: Evidence & { scan: LogScan }) {
	const flags = flagsOf(evidence.argv ?? evidence.scan.facts.command ?? []);
	const path = (flag: string) => flags.get(flag) || null;
	const inputs = [...evidence.scan.facts.loadedInputs.values()].map((loaded) => loaded.path);
	return { model: path("--onnx"), inputs: [...new Set(inputs)], plan: path("--saveEngine") };
}

/** A success that could not be fully checked is `unverified`, with a list of what is unchecked. */
export function diagnoseHonestly(evidence: Evidence & { scan: LogScan }): Diagnosis {
	const diagnosis = diagnose(evidence);
	const missing = diagnosis.code === "ok" ? unchecked(evidence) : [];
	if (missing.length === 0) return diagnosis;
	return {
		...diagnosis,
		code: "unverified",
		title: `trtexec reports success, but some evidence is missing. Not checked: ${listNames(missing, 4)}.`,
		fix: "Run `trtgate diagnose` on the whole log, where this run's files are. `trtgate run` checks all of them during the run.",
	};
}

function unchecked(evidence: Evidence & { scan: LogScan }) {
	const { facts } = evidence.scan;
	if (!facts.hasStart) return ["the start of trtexec's log"];
	if (facts.printedHelp) return [];
	const { model, plan } = touchedFiles(evidence);
	const sizes = new Set((evidence.inputs ?? []).map((file) => file.path));
	const read = [...facts.loadedInputs].flatMap(([name, { path }]) => {
		const dump = facts.dumps.get(`input ${name}`);
		return sizes.has(path) && dump !== undefined && dumpBytes(dump.tensor) !== null
			? []
			: [`the size of ${path}`];
	});
	const loads = flagsOf(evidence.argv ?? facts.command ?? []).get("--loadEngine");
	return [
		...(model !== null && evidence.model === undefined ? [`the tensors of ${model}`] : []),
		...(plan !== null && evidence.wrote?.some((file) => file.path === plan) !== true
			? [`the plan ${plan}`]
			: []),
		...(loads && evidence.plan === undefined ? [`whether ${loads} is unchanged since its build`] : []),
		...read,
	];
}

export function renderDiagnosis(diagnosis: Diagnosis, options: { color?: boolean } = {}): string {
	const color = options.color ?? false;
	const { code, title, fix, excerpt, also, kind } = diagnosis;
	const lines = [`${paint(paint(code, kind === "none" ? "green" : "red", color), "bold", color)}  ${title}`];
	if (kind === "runner")
		lines.push(paint("Caused by the machine, not the model: a retry may help.", "dim", color));
	if (fix) lines.push(`${paint("Fix:", "bold", color)} ${fix}`);
	if (also.length > 0) lines.push(`${paint("Also:", "bold", color)} ${also.join(", ")}`);
	const width = String(excerpt.at(-1)?.line ?? 0).length;
	lines.push(
		...excerpt.map(({ line, text }) => paint(`  ${String(line).padStart(width)} │ ${text}`, "dim", color)),
	);
	return lines.join("\n");
}
