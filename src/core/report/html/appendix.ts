// What a reader may want to look up: all checks, findings, the method, the environment, files and errors.
import { precedence } from "../../precedence.ts";
import type { ErrorRecord, Finding, GateResult, Result } from "../../schema/result.ts";
import { cleanName, cleanText } from "../../text/escape.ts";
import { counted, gateLabel, statusTones, subjectName, type Tone, withCaution } from "../../text/labels.ts";
import { formatDuration, formatLimit } from "../../text/units.ts";
import { cleanMessage, levelText } from "../comparison-format.ts";
import { gpuFacts } from "../gpu-format.ts";
import { excerptLines } from "../highlights-build.ts";
import { backendOf } from "../part-backend.ts";
import { html, type Markup, type Piece } from "./markup.ts";
import { folded, logExcerpt, moreText, pill, section } from "./parts.ts";
import { type Column, sortableTable } from "./table.ts";

const mostRows = 1000;

function gatesPart(result: Result): Piece {
	if (result.gates.length === 0) return null;
	const columns: Column<GateResult>[] = [
		{ title: "Subject", heading: true, cell: (gate) => subjectName(gate) },
		{ title: "gate", cell: (gate) => gateLabel(gate.gate, backendOf(result, gate)) },
		{ title: "status", cell: (gate) => pill(gate.status, statusTones[gate.status]), sortBy: (gate) => precedence.indexOf(gate.status) },
		{ title: "message", wraps: true, cell: (gate) => cleanMessage(gate.message) },
	];
	const rows = [...result.gates].sort((a, b) => precedence.indexOf(a.status) - precedence.indexOf(b.status)).slice(0, mostRows);
	const passing = result.gates.filter((gate) => gate.status === "pass").length;
	return folded(`All checks: ${passing} of ${result.gates.length} pass`, [
		sortableTable("all checks", columns, rows),
		moreText(result.gates.length - mostRows, "checks"),
	]);
}

const findingTones: Readonly<Record<Finding["severity"], Tone>> = { error: "bad", warning: "warn", note: "plain" };

export function findingSection(result: Result): Piece {
	if (result.findings.length === 0) return null;
	const columns: Column<Finding>[] = [
		{
			title: "Where",
			heading: true,
			cell: (finding) =>
				finding.model === undefined
					? "–"
					: `${subjectName({ ...finding, model: finding.model })}${finding.arm === undefined ? "" : ` (${finding.arm})`}`,
		},
		{ title: "severity", cell: (finding) => pill(finding.severity, findingTones[finding.severity]) },
		{ title: "code", cell: (finding) => html`<code>${cleanName(finding.code, 60)}</code>` },
		{
			title: "what",
			wraps: true,
			cell: (finding) =>
				html`${cleanMessage(finding.message)}${finding.node === undefined ? null : html`<small>node ${cleanName(finding.node, 120)}</small>`}`,
		},
		{ title: "what to do", wraps: true, cell: (finding) => (finding.fix === undefined ? "" : cleanMessage(finding.fix)) },
	];
	const body = [
		sortableTable("findings", columns, result.findings.slice(0, mostRows)),
		moreText(result.findings.length - mostRows, "findings"),
	];
	return section(`Preflight: ${counted(result.findings.length, "finding")}`, body, "findings");
}

function methodPart(result: Result): Piece {
	const compared = result.workloads.find((workload) => workload.latency.interval !== null);
	if (compared === undefined) return null;
	const effect = formatLimit(compared.latency.minimalEffect);
	const on =
		result.backend.caution === undefined ? "" : ` All times are of ${withCaution(cleanName(result.backend.name), result.backend)}.`;
	const figure =
		compared.figure === "fastest"
			? " of their fastest iterations, because on a shared CPU other programs only ever add time"
			: " of medians";
	const paired = `Base and head ran in turn, in shuffled order, on one device. Each pair of runs gives one ratio${figure}; the change is the mean of the logarithms of these ratios, the base and head beside it are the geometric means of the same runs, and the interval is a t interval. All intervals of latency and P99 hold together with ${levelText(compared.latency)} confidence, over all looks and all workloads of this job. A pair whose two runs together took far longer than the other pairs is set aside, whichever arm was slow. Iterations inside a run are shown and never counted as replication.`;
	const rules = `Slower or faster: the interval excludes zero and the change is at least the smallest effect that counts (${effect} here, unless a row says otherwise). Unchanged: the whole interval lies within ± that effect. Anything else is inconclusive, which is not a pass. Memory, sizes and goldens are compared exactly.`;
	return folded(
		"How this was decided",
		html`<p>${paired}</p><p>${rules}</p><p>Took ${formatDuration(result.durationMs)}, of which ${formatDuration(result.childMs)} in the measured programs.${on}</p>`,
	);
}

function environmentPart(result: Result): Piece {
	const entries: [string, string][] = [
		["started", result.startedAt],
		["trtgate", result.tool.version],
		["backend", `${result.backend.name} ${result.backend.version}`],
		["device", result.backend.device],
		["config", result.config.path],
		...Object.entries(result.environment).slice(0, 200),
		...gpuFacts(result).map(({ label, value }): [string, string] => [label, value]),
	];
	const rows = entries.map(
		([key, value]) => html`<tr><th scope="row">${cleanName(key)}</th><td class="wrap">${cleanName(value, 300)}</td></tr>\n`,
	);
	return folded(
		"Environment",
		html`<div class="scroll" role="region" aria-label="environment" tabindex="0"><table><thead><tr><th scope="col">what</th><th scope="col">value</th></tr></thead><tbody>
${rows}</tbody></table></div>
`,
	);
}

/** A link only to what lies beside or below this page; anything else is text. */
function fileLink(path: string): Markup {
	const clean = cleanText(path);
	const parts = clean.split("/");
	const below = clean.length <= 300 && clean !== "" && !/^[/\\]|:|\\/.test(clean) && !parts.includes("..");
	const shown = html`<code>${cleanName(path, 160)}</code>`;
	return below ? html`<a href="./${parts.map(encodeURIComponent).join("/")}">${shown}</a>` : shown;
}

function filesPart(result: Result): Piece {
	if (result.files.length === 0) return null;
	const shown = result.files.slice(0, mostRows);
	const list = shown.map((file) => html`<li>${fileLink(file.path)} <span class="mut">${cleanName(file.what, 160)}</span></li>\n`);
	return folded(`Files: ${result.files.length.toLocaleString("en-US")}`, [
		html`<ul>${list}</ul>`,
		moreText(result.files.length - mostRows, "files"),
	]);
}

function errorItem(error: ErrorRecord): Markup {
	const place = error.model === undefined ? ` ${cleanName(error.part ?? "", 60)}` : ` ${subjectName({ ...error, model: error.model })}`;
	const lines = excerptLines(error.excerpt ?? []);
	const log = error.log === undefined ? null : html`<p>Log: <code>${cleanName(error.log, 200)}</code></p>`;
	const fix = error.fix === undefined ? null : html`<p>${cleanMessage(error.fix)}</p>`;
	return html`<li>${pill(error.kind, error.kind === "github" ? "warn" : "bad")} <code>${cleanName(error.code, 60)}</code>${place}<p>${cleanMessage(error.message, 1000)}</p>${fix}${lines.length === 0 ? null : logExcerpt(lines)}${log}</li>\n`;
}

export function errorSection(result: Result): Piece {
	if (result.errors.length === 0) return null;
	const list = html`<ul>${result.errors.slice(0, 200).map(errorItem)}</ul>`;
	return section(
		`Errors: ${result.errors.length.toLocaleString("en-US")}`,
		[list, moreText(result.errors.length - 200, "errors")],
		"errors",
	);
}

export function appendixSection(result: Result): Piece {
	return section("More", [gatesPart(result), methodPart(result), environmentPart(result), filesPart(result)], "more");
}
