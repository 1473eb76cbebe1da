// The tables of the Markdown report; each is left out where it would be empty.
import type { BuildRecord, Finding, GoldenCheck, Result } from "../schema/result.ts";
import { cleanName, escapeMarkdown } from "../text/escape.ts";
import { buildLabel, counted, goldenLabels, subjectName, withCaution } from "../text/labels.ts";
import { formatDuration, formatValue } from "../text/units.ts";
import type { Detail } from "./budget.ts";
import { dash, intervalText, levelText } from "./comparison-format.ts";
import { type BuildPair, buildPairs, engineSizeText, warningsText } from "./facts.ts";
import { goldenCounts } from "./golden-labels.ts";
import { gotText, metricLabel, worstText } from "./highlights-golden.ts";
import { armTitle, type WorkloadRow, workloadTexts } from "./rows.ts";

export interface Section {
	summary: string;
	body: string;
}

function table(head: readonly string[], rows: readonly (readonly string[])[], numeric: readonly number[] = []): string {
	const rule = head.map((_, column) => (numeric.includes(column) ? "--:" : "---"));
	const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
	const cell = (text: string, column: number) => escapeMarkdown(numeric.includes(column) ? keepUnits(text) : text);
	return [line(head), `|${rule.join("|")}|`, ...rows.map((row) => line(row.map(cell)))].join("\n");
}

/** A table of many columns breaks its cells, which must not part a number from its unit. */
function keepUnits(text: string): string {
	return text.replace(/(\d) (?=[%µ\p{L}])/gu, "$1\u00a0");
}

function changeCell({ workload: { latency } }: WorkloadRow, change: string): string {
	return latency.interval === null ? change : `${change} (${intervalText(latency)})`;
}

function rowCells(row: WorkloadRow): string[] {
	const texts = workloadTexts(row);
	return [
		subjectName(row.workload),
		row.verdict,
		texts.base,
		texts.head,
		changeCell(row, texts.change),
		texts.p99,
		texts.memory,
		texts.golden,
	];
}

function rowsTable(result: Result, rows: readonly WorkloadRow[], limit: number): string {
	const level = rows[0] === undefined ? "99 %" : levelText(rows[0].workload.latency);
	const memory = result.backend.kind === "tensorrt" ? "GPU memory" : "peak memory";
	const times = [armTitle("base", rows), armTitle("head", rows), `change (${level} interval)`, "P99 change"];
	const head = ["model · engine · workload", "verdict", ...times, memory, "golden"];
	const shown = table(head, rows.slice(0, limit).map(rowCells), [2, 3, 4, 5, 6, 7]);
	return rows.length > limit ? `${shown}\n\n… and ${counted(rows.length - limit, "more row")}.` : shown;
}

/** Only the rows that ask for attention. */
export function rowTable(result: Result, rows: readonly WorkloadRow[], detail: Detail): string[] {
	const loud = rows.filter((row) => !row.quiet);
	if (loud.length === 0) return [];
	const caution =
		result.backend.caution === undefined
			? []
			: [`Speed measured on ${escapeMarkdown(withCaution(cleanName(result.backend.name), result.backend))}.`];
	return [...caution, rowsTable(result, loud, detail.rows)];
}

export function quietRowSection(result: Result, rows: readonly WorkloadRow[], detail: Detail): Section[] {
	const quiet = rows.filter((row) => row.quiet);
	if (quiet.length === 0) return [];
	const word = escapeMarkdown(result.arms.base === null ? withCaution("timed", result.backend) : withCaution("unchanged", result.backend));
	const summary = `${quiet.length.toLocaleString("en-US")} ${word} ${quiet.length === 1 ? "row" : "rows"}`;
	const body = detail.quietRows ? rowsTable(result, quiet, detail.rows) : "Left out here; `report.html` holds them.";
	return [{ summary, body }];
}

interface CheckRow {
	subject: string;
	state: string;
	check: GoldenCheck;
}

function checkCells({ subject, state, check }: CheckRow): string[] {
	return [
		`${subject} · ${cleanName(check.output, 60)}`,
		metricLabel(check.metric),
		formatValue(check.base ?? null),
		gotText(check),
		check.allowed === null ? dash : `${check.bound === "at-least" ? "≥" : "≤"} ${formatValue(check.allowed)}`,
		check.pass ? "pass" : check.severity,
		worstText(check) ?? (check.detail === undefined ? state : cleanName(check.detail, 140)),
	];
}

export function goldenSection(result: Result, detail: Detail): Section[] {
	if (result.golden.length === 0) return [];
	const checks: CheckRow[] = result.golden.flatMap((verdict) =>
		verdict.checks.map((check) => ({ subject: subjectName(verdict), state: goldenLabels[verdict.state], check })),
	);
	const wanted = checks
		.filter(({ check }) => detail.matchingGoldens || !check.pass)
		.sort((a, b) => Number(a.check.pass) - Number(b.check.pass));
	const summary = `Goldens: ${goldenCounts(result.golden)}`;
	if (wanted.length === 0) return [{ summary, body: "Each output of each case stands in `report.html`." }];
	const head = ["case · output", "metric", "base engine", "head engine", "allowed", "check", "worst element"];
	const body = table(head, wanted.slice(0, detail.goldens).map(checkCells), [2, 3, 4]);
	const more = wanted.length - detail.goldens;
	return [{ summary, body: more > 0 ? `${body}\n\n… and ${counted(more, "more check")}.` : body }];
}

/** A cached engine's time is that of the run that built it. */
function buildTime({ durationMs, fromCache }: BuildRecord): string {
	return `${formatDuration(durationMs)}${fromCache === true ? " (cached)" : ""}`;
}

function buildCells({ model, engine, part, base, head }: BuildPair): string[] {
	const state = head === null ? dash : buildLabel(head);
	return [
		subjectName({ model, engine, part }),
		state,
		base === null ? dash : base.state === "built" ? buildTime(base) : buildLabel(base),
		head === null ? dash : buildTime(head),
		engineSizeText(base),
		engineSizeText(head),
		warningsText(head),
	];
}

export function buildSection(result: Result, detail: Detail): Section[] {
	const pairs = buildPairs(result);
	if (pairs.length === 0) return [];
	const built = pairs.filter((pair) => pair.head?.state === "built").length;
	const wanted = pairs.filter((pair) => detail.builtEngines || pair.head?.state !== "built");
	const summary = `Build gate: ${built} of ${counted(pairs.length, "engine")} built`;
	if (wanted.length === 0) return [{ summary, body: "Times and sizes stand in `report.html`." }];
	const head = ["engine", "head", "build time base", "build time head", "size base", "size head", "warnings"];
	const shown = table(head, wanted.slice(0, detail.rows).map(buildCells), [2, 3, 4, 5]);
	return [
		{ summary, body: wanted.length > detail.rows ? `${shown}\n\n… and ${counted(wanted.length - detail.rows, "more engine")}.` : shown },
	];
}

function findingCells(finding: Finding): string[] {
	const place = finding.model === undefined ? dash : subjectName({ ...finding, model: finding.model });
	return [finding.severity, cleanName(finding.code, 60), place, cleanName(finding.message, 300), cleanName(finding.fix ?? dash, 200)];
}

export function findingSection(result: Result, detail: Detail): Section[] {
	if (result.findings.length === 0) return [];
	const summary = `Preflight: ${counted(result.findings.length, "finding")}`;
	if (detail.findings === 0) return [{ summary, body: "They stand in `report.html`." }];
	const shown = table(["severity", "code", "where", "what", "fix"], result.findings.slice(0, detail.findings).map(findingCells));
	const more = result.findings.length - detail.findings;
	return [{ summary, body: more > 0 ? `${shown}\n\n… and ${counted(more, "more finding")}.` : shown }];
}
