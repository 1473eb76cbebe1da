// The appendix: every check, how speed was decided, the machine, and the files.
import type { GateResult, Result } from "../../../../generated/result.ts";
import { precedence } from "../../precedence.ts";
import { comparedOf } from "../../stats/summary.ts";
import { cleanMessage, cleanName, cleanText } from "../../text/escape.ts";
import { statusTones, subjectName } from "../../text/labels.ts";
import { formatCount, formatDuration, formatLimit } from "../../text/units.ts";
import { levelText } from "../comparison-format.ts";
import { backendOfRow, gateLabel } from "../facts.ts";
import { html, type Markup } from "../html/markup.ts";
import { type Column, heading, long, plain, type ReportSection, sentence, table } from "../section.ts";

const checkColumns = (result: Result): Column<GateResult>[] => [
	heading("Subject", subjectName),
	plain("gate", (gate) => gateLabel(gate.gate, backendOfRow(result, gate))),
	plain("status", ({ status }) => status, {
		tone: ({ status }) => statusTones[status],
		sortBy: ({ status }) => precedence.indexOf(status),
	}),
	long("message", ({ message }) => cleanMessage(message)),
];

export const checkSection: ReportSection = {
	id: "checks",
	formats: ["html"],
	appendix: ["html"],
	show({ result }) {
		const { gates } = result;
		if (gates.length === 0) return null;
		const rows = [...gates].sort((a, b) => precedence.indexOf(a.status) - precedence.indexOf(b.status));
		const passing = gates.filter(({ status }) => status === "pass").length;
		return {
			title: `All checks: ${passing} of ${gates.length} pass`,
			blocks: [table("all checks", checkColumns(result), rows, { noun: "check" })],
		};
	},
};

export const methodSection: ReportSection = {
	id: "method",
	formats: ["html"],
	appendix: ["html"],
	show({ result }) {
		const compared = result.workloads.find((workload) => comparedOf(workload).interval !== null);
		if (compared === undefined) return null;
		const { work, latency } = compared;
		const effect = formatLimit((work ?? latency).minimalEffect);
		const texts =
			work === undefined
				? [
						`Base and head ran alternately on one device. Each pair of runs gives one ratio of medians; the change is their geometric mean, with a t interval. All intervals hold together with ${levelText(latency)} confidence, over all looks and all workloads of this job. A pair that took far longer than the others is set aside.`,
						`Slower or faster: the interval excludes zero and the change is at least the smallest effect that counts (${effect} here, unless a row says otherwise). Unchanged: the whole interval lies within ± that effect. Anything else is inconclusive, which is not a pass.`,
					]
				: [
						`ONNX Runtime's WebAssembly build counted the instructions of one inference of each side, weighted by class; a count has no noise. More or less work: a change of at least ${effect} here, unless a row says otherwise. docs/work.md shows how far counts follow time.`,
					];
		const took = `Took ${formatDuration(result.durationMs)}, of which ${formatDuration(result.childMs)} in the measured programs.`;
		return { title: "How this was decided", blocks: [...texts, took].map((text) => sentence(text)) };
	},
};

const factColumns: readonly Column<readonly [key: string, value: string]>[] = [
	heading("what", ([key]) => cleanName(key)),
	long("value", ([, value]) => cleanName(value, 300)),
];

export const environmentSection: ReportSection = {
	id: "environment",
	formats: ["markdown", "html"],
	appendix: ["markdown", "html"],
	show({ result }, { format, detail }) {
		const { startedAt, tool, backend, config } = result;
		const fingerprint = Object.entries(result.environment);
		const isPage = format === "html";
		if (!isPage && (!detail.environment || fingerprint.length === 0)) return null;
		const run = {
			started: startedAt,
			trtgate: tool.version,
			backend: `${backend.name} ${backend.version}`,
			device: backend.device,
			config: config.path,
		};
		const facts = [...(isPage ? Object.entries(run) : []), ...fingerprint];
		return { title: "Environment", blocks: [table("environment", factColumns, facts, { noun: "fact" })] };
	},
};

function fileLink(path: string): Markup {
	const clean = cleanText(path);
	const parts = clean.split("/");
	const below = clean.length <= 300 && clean !== "" && !/^[/\\]|:|\\/.test(clean) && !parts.includes("..");
	const shown = html`<code>${cleanName(path, 160)}</code>`;
	return below ? html`<a href="./${parts.map(encodeURIComponent).join("/")}">${shown}</a>` : shown;
}

const fileColumns: readonly Column<Result["files"][number]>[] = [
	heading("file", ({ path }) => cleanName(path, 100), { cell: ({ path }) => fileLink(path) }),
	plain("content", ({ what }) => cleanName(what, 160)),
];

export const fileSection: ReportSection = {
	id: "files",
	formats: ["html", "terminal"],
	appendix: ["html"],
	show({ result: { files } }) {
		if (files.length === 0) return null;
		return {
			title: `Files: ${formatCount(files.length)}`,
			blocks: [table("files", fileColumns, files, { noun: "file" })],
		};
	},
};
