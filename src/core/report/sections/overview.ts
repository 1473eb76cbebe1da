// The start of a report, its next steps and its appendix.
import type { GateResult, Part, Result } from "../../../../generated/result.ts";
import { dash, levelText } from "../../compare/sentence.ts";
import { groupBy } from "../../group.ts";
import { type Upgrade, upgradesOf } from "../../merge/upgrade.ts";
import { comparedOf } from "../../stats/summary.ts";
import { cleanMessage, cleanName, cleanText, quoted, shellWord } from "../../text/escape.ts";
import { counted, outcomeLabels, precedence, present, statusTones, subjectName } from "../../text/labels.ts";
import { formatCount, formatDuration, formatLimit } from "../../text/units.ts";
import { nextStep } from "../engine-text.ts";
import { backendOfRow, gateLabel, jobFacts, noBaseText, partsText, partsToReport } from "../facts.ts";
import { html } from "../html/markup.ts";
import {
	type Block,
	type Column,
	details,
	heading,
	long,
	numbers,
	plain,
	type ReportSection,
	sentence,
	table,
} from "../section.ts";

const [maxNotes, maxCards, maxFixes] = [30, 200, 5];

export const noticeSection: ReportSection = {
	id: "notices",
	show({ result }) {
		const { partial } = result;
		const ended =
			partial &&
			`Partial result: the run ended in ${cleanName(partial.stage, 60)} (${cleanName(partial.reason, 300)}). What follows is what was known by then.`;
		const notice = (text: string): Block => ({ kind: "notice", text, isUrgent: text === ended });
		return { blocks: present([ended, noBaseText(result)]).map(notice) };
	},
};

export const noteSection: ReportSection = {
	id: "notes",
	appendix: ["markdown"],
	show({ result: { notes } }, { format }) {
		if (notes.length === 0) return null;
		const hidden = notes.length - maxNotes;
		const items = present([
			...notes.slice(0, maxNotes).map((note) => cleanMessage(note, 400)),
			hidden > 0 && `… and ${counted(hidden, "more note")}, in result.json.`,
		]);
		if (format === "terminal")
			return { blocks: items.map((text) => ({ kind: "notice", text: `Note: ${text}` })) };
		return { title: counted(notes.length, "note"), blocks: [{ kind: "list", items }] };
	},
};

export const highlightSection: ReportSection = {
	id: "highlights",
	show({ highlights, lead }, { format, detail }) {
		const most = { markdown: detail.highlights, html: 6, terminal: 8 }[format];
		const cards = highlights
			.slice(0, maxCards)
			.map((highlight): Block => ({ kind: "highlight", highlight, isLead: highlight === lead }));
		const hidden = highlights.length - most;
		if (hidden <= 0) return cards.length === 0 ? null : { blocks: cards };
		const more = counted(hidden, "more item");
		const rest =
			format === "html" ? details(more, cards.slice(most)) : [sentence(`… and ${more}, in \`report.html\`.`)];
		return { blocks: [...cards.slice(0, most), ...rest] };
	},
};

export const nextStepSection: ReportSection = {
	id: "next-steps",
	formats: ["markdown", "terminal"],
	show({ highlights }, { format, detail, resultPath = "result.json" }) {
		const command = nextStep.replace("result.json", () => shellWord(resultPath));
		const isComment = format === "markdown";
		const shown = isComment ? highlights.slice(0, detail.highlights) : highlights;
		const fixes = new Map<string, string>();
		for (const { fix, about = {} } of shown) {
			const text = fix === undefined ? "" : cleanText(fix).replace(nextStep, () => command);
			// What several need names none of them.
			if (text !== "") fixes.set(text, fixes.has(text) ? "" : subjectName(about));
		}
		const [only, ...others] = fixes.keys();
		if (only === undefined) return null;
		if (!isComment)
			return {
				title: "What to do next",
				blocks: [{ kind: "list", items: [...fixes.keys()].slice(0, maxFixes) }],
			};
		if (others.length === 0) return { blocks: [sentence(`Next: ${only}`)] };
		const items = [...fixes].map(([fix, name]) => (name === "" ? fix : `${name}: ${fix}`));
		return { blocks: [sentence("Next:"), { kind: "list", items: items.slice(0, maxFixes) }] };
	},
};

const upgradeTitle = ({ from, to, device }: Upgrade) =>
	`Upgrade: TensorRT ${cleanName(from, 40)} → ${cleanName(to, 40)}${device === undefined ? "" : ` on ${cleanName(device, 60)}`}`;

/** Five nodes that left the precision, with causes, and what to do. */
const maxSaysChars = 1500;

function upgradeBlocks({ facts, plans, caveat }: Upgrade, most: number): Block[] {
	const says = facts.slice(0, most).map((fact) => cleanMessage(fact.says, maxSaysChars));
	const more = facts.length > most && `${facts.length - most} more.`;
	return [{ kind: "list", items: present([...says, more, plans, caveat]) }];
}

const mostOfModel = 4;

/** A comment has a line for each model, the worst first. */
function upgradeLines({ facts, plans, caveat }: Upgrade, most: number): Block[] {
	const models = [...groupBy(facts, ({ model }) => model)];
	const lines = models.slice(0, most).map(([model, own]) => {
		const says = own
			.slice(0, mostOfModel)
			.map((fact) => cleanMessage(fact.says, maxSaysChars).replace(/\.$/, ""));
		const text = `${says.join("; ")}${own.length > mostOfModel ? `; ${own.length - mostOfModel} more` : ""}.`;
		if (model === undefined) return text;
		const name = quoted(model);
		// The line begins with the model's name.
		return `${name}: ${text.replaceAll(`${name}: `, "").replaceAll(`${name.slice(0, -1)}/`, () => "`")}`;
	});
	const more = models.length > most && `${counted(models.length - most, "more model")}.`;
	return [
		{ kind: "list", items: present([...lines, more]) },
		...details("Plans and method", [{ kind: "list", items: [plans, caveat] }]),
	];
}

export const upgradeSection: ReportSection = {
	id: "upgrade",
	show({ result }, { format, detail }) {
		const [first, ...others] = upgradesOf(result);
		if (first === undefined) return null;
		const most = Math.min(100, detail.rows);
		const blocksOf = format === "markdown" ? upgradeLines : upgradeBlocks;
		const rest = others.flatMap((upgrade): Block[] => [
			{ kind: "heading", text: upgradeTitle(upgrade) },
			sentence(upgrade.decision, "strong"),
			...blocksOf(upgrade, most),
		]);
		// The first line of a comment has it, if it is the only one.
		const isTold = format === "markdown" && others.length === 0;
		const decision = isTold ? [] : [sentence(first.decision, "strong")];
		return {
			title: upgradeTitle(first),
			isOpen: true,
			blocks: [...decision, ...blocksOf(first, most), ...rest],
		};
	},
};

function whyText({ reason, partial, attempt }: Part) {
	if (reason !== undefined) return cleanMessage(reason, 300);
	const ended = partial && `${cleanName(partial.stage, 40)} (${cleanMessage(partial.reason, 200)})`;
	return present([attempt && `from attempt ${attempt}`, ended && `partial: ended in ${ended}`]).join("; ");
}

function deviceText({ backend }: Part) {
	if (backend === undefined) return dash;
	const caveat = backend.caveat === undefined ? "" : ` (${cleanName(backend.caveat, 60)})`;
	return `${cleanName(backend.device, 80)}${caveat}`;
}

const partColumns: readonly Column<Part>[] = [
	heading("Part", ({ name }) => cleanName(name, 80)),
	plain("state", ({ state, outcome }) => (state === "merged" && outcome ? outcomeLabels[outcome] : state), {
		tone: ({ state, outcome }) => (state === "merged" ? statusTones[outcome ?? "note"] : "bad"),
	}),
	plain("device", deviceText),
	plain("software", ({ backend }) => (backend ? cleanName(`${backend.name} ${backend.version}`, 100) : dash)),
	numbers("workloads", ({ workloads }) => workloads, formatCount),
	numbers("took", ({ durationMs }) => durationMs, formatDuration),
	long("why", whyText),
];

const urgency: Readonly<Record<Part["state"], number>> = { refused: 0, missing: 1, merged: 2 };

export const partSection: ReportSection = {
	id: "parts",
	formats: ["markdown", "html"],
	show({ result }) {
		const parts = partsToReport(result);
		if (parts.length === 0) return null;
		const rank = ({ state, partial }: Part) => urgency[state] * 2 + (partial === undefined ? 1 : 0);
		const rows = [...parts].sort((a, b) => rank(a) - rank(b));
		const rule = sentence("No gate compares numbers of different parts with each other.", "quiet");
		return {
			title: `Parts: ${partsText(parts)}`,
			blocks: [table("parts", partColumns, rows, { noun: "part" }), rule],
		};
	},
};

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
						`Base and head ran alternately on one device. Each pair of runs gives a ratio of medians; the change is their geometric mean, with a t interval. All intervals of this job hold together with ${levelText(latency)} confidence. A pair that took far longer than the others is set aside.`,
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
		if (!isPage && !detail.environment) return null;
		const run = {
			started: startedAt,
			trtgate: tool.version,
			backend: `${backend.name} ${backend.version}`,
			device: backend.device,
			config: config.path,
		};
		const known = new Set(Object.values(result.environment));
		const job = jobFacts(result).filter(([label, value]) => label !== "parts" && !known.has(value));
		const own = isPage ? Object.entries(run) : [...job, ["trtgate", tool.version] as const];
		const facts = [...own, ...fingerprint];
		return { title: "Environment", blocks: [table("environment", factColumns, facts, { noun: "fact" })] };
	},
};

function fileLink(path: string) {
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
