// Differences between the declarations of head and base, and what is no longer checked.
import type {
	GateName,
	GateResult,
	InterfaceChange,
	InterfaceRow,
	InterfaceValue,
	RecipeChange,
	RecipeRow,
	Result,
	WorkloadResult,
} from "../../../../generated/result.ts";
import { dash } from "../../compare/sentence.ts";
import { type Group, groupBy } from "../../group.ts";
import { cleanMessage, cleanName } from "../../text/escape.ts";
import {
	capitalize,
	counted,
	interfaceText,
	listNames,
	present,
	statusTones,
	subjectName,
	subjectOf,
} from "../../text/labels.ts";
import { explanationSentences } from "../engine-text.ts";
import {
	type FailingGate,
	failingGates,
	type GateIndex,
	gateKey,
	type Highlight,
	subjectKey,
} from "../highlight.ts";
import { type Column, code, heading, long, plain, type ReportSection, table } from "../section.ts";

interface Line<Change, Row> {
	change: Change;
	row: Row;
}

const recipeColumns: readonly Column<Line<RecipeChange, RecipeRow>>[] = [
	heading("Engine", ({ change }) => subjectName(change)),
	code("setting", ({ row }) => cleanName(row.what, 80)),
	code("base", ({ row }) => cleanName(row.base, 200)),
	code("head", ({ row }) => cleanName(row.head, 200)),
];

export function recipeSentence(
	{ recipeChanges = [] }: Result,
	{ model, engine, part }: Pick<WorkloadResult, "model" | "engine" | "part">,
): string | null {
	const change = recipeChanges.find(
		(one) => one.model === model && one.engine === engine && one.part === part,
	);
	if (change === undefined || change.rows.length === 0) return null;
	const texts = change.rows.map(
		({ what, base, head }) => `${cleanName(what, 60)} ${cleanName(base, 60)} → ${cleanName(head, 60)}`,
	);
	return `Built differently: ${listNames(texts, 4)}.`;
}

/** A new name does not change a build. */
function recipeTitle(changes: readonly RecipeChange[]) {
	const built = changes.filter(({ rows }) => rows.length > 0).length;
	const renamed = changes.filter(({ was }) => was !== undefined).length;
	const parts = present([
		built > 0 && `${counted(built, "engine")} built differently`,
		renamed > 0 && `${built === 0 ? counted(renamed, "engine") : renamed} renamed`,
	]);
	return `${parts.join(", ")}, base → head`;
}

export const recipeSection: ReportSection = {
	id: "recipes",
	show({ result: { recipeChanges = [] } }) {
		const lines = recipeChanges.flatMap((change) => {
			const { was, rows, model, engine } = change;
			const renamed = was === undefined ? [] : [{ what: "name", base: was, head: `${model}/${engine}` }];
			return [...renamed, ...rows].map((row) => ({ change, row }));
		});
		if (lines.length === 0) return null;
		const blocks = [table("recipes", recipeColumns, lines, { noun: "setting" })];
		return { title: recipeTitle(recipeChanges), blocks };
	},
};

const maxNamed = 6;

function valueText(value: InterfaceValue | null, absent: string) {
	if (value === null) return absent;
	return `${cleanName(value.name, 80)} ${cleanName(value.dtype, 40)} ${cleanName(value.shape, 120)}`;
}

const interfaceColumns: readonly Column<Line<InterfaceChange, InterfaceRow>>[] = [
	heading("Model", ({ change }) => subjectName(change)),
	plain("", ({ row }) => row.side),
	code("base", ({ row }) => valueText(row.base, "none")),
	code("head", ({ row }) => valueText(row.head, row.side === "workload" ? "no longer runs" : "removed")),
];

/** A sentence that begins with a dimension's name keeps its case. */
function sentenceOf(row: InterfaceRow) {
	const text = cleanMessage(interfaceText(row), 400);
	return `${row.side === "size" ? text : capitalize(text)}.`;
}

/** Narrower sizes and the workloads that they exclude are one change. */
function interfaceHighlight(changes: Group<InterfaceChange>, gates: GateIndex): Highlight[] {
	const [change] = changes;
	if (gates.of("interface", change).length === 0) return [];
	const rows = changes.flatMap((one) => one.rows);
	const isOfSizes = rows.every(({ side }) => side === "size" || side === "workload");
	const undo = isOfSizes
		? "If the change is unintended, restore the sizes under `dims` or `profiles` in trtgate.yml. If it is intended"
		: "If the change is unintended, export the model with the old interface. If it is intended, record its golden again";
	return [
		{
			...gates.explain("interface", change, "warn"),
			topic: ["changed interface", "changed interfaces"],
			title: `${subjectName(change)}: the interface changed (${counted(rows.length, "difference")})`,
			sentences: present([
				...rows.slice(0, maxNamed).map(sentenceOf),
				rows.length > maxNamed && `${rows.length - maxNamed} more differ.`,
			]),
			fix: `${undo}, adapt what feeds and reads the engine, and let the target branch set \`gates: { interface: warn, not-comparable: neutral }\` for this model first: its rules judge the change.`,
		},
	];
}

export const interfaceSection: ReportSection = {
	id: "interfaces",
	formats: ["markdown", "html"],
	show({ result: { interfaceChanges = [] } }) {
		const lines = interfaceChanges.flatMap((change) => change.rows.map((row) => ({ change, row })));
		if (lines.length === 0) return null;
		return {
			title: `${counted(new Set(interfaceChanges.map(subjectKey)).size, "changed interface")}, base → head`,
			blocks: [table("changed interfaces", interfaceColumns, lines, { noun: "row" })],
		};
	},
	highlights: ({ interfaceChanges = [] }, gates) =>
		[...groupBy(interfaceChanges, subjectKey).values()].flatMap((one) => interfaceHighlight(one, gates)),
};

const gateTexts: Readonly<Partial<Record<GateName, Pick<Highlight, "topic" | "title" | "fix">>>> = {
	"limit-change": {
		topic: ["looser rule to review", "looser rules to review"],
		title: "its rules need a review",
		fix: "Restore the rule, or let a reviewer approve that it is looser after the merge.",
	},
	coverage: {
		topic: ["subject no longer checked", "subjects no longer checked"],
		title: "no longer checked",
		fix: "Restore it in trtgate.yml, or let a reviewer approve that it is no longer checked.",
	},
	vanished: {
		topic: ["subject with vanished figures", "subjects with vanished figures"],
		title: "figures are no longer reported",
		fix: "Find out why the head no longer reports it; what is not reported is not gated.",
	},
};

const gateColumns: readonly Column<GateResult>[] = [
	heading("Subject", subjectName),
	long("what changed", ({ message }) => cleanMessage(message)),
	code("in", ({ location: { path, line } = { path: "" } }) =>
		path === "" ? dash : `${cleanName(path, 80)}${line === undefined ? "" : `:${line}`}`,
	),
	plain("gate", ({ status }) => status, { tone: ({ status }) => statusTones[status] }),
];

function gateHighlight(gate: FailingGate) {
	const text = gateTexts[gate.gate];
	if (text === undefined) return [];
	return [
		{
			...text,
			severity: gate.status,
			about: subjectOf(gate),
			title: `${subjectName(gate)}: ${text.title}`,
			sentences: [cleanMessage(gate.message)],
			explains: [gateKey(gate.gate, gate)],
		},
	];
}

function gateSection(
	id: string,
	names: readonly GateName[],
	titleOf: (count: number) => string,
): ReportSection {
	const failing = (result: Result) => failingGates(result).filter(({ gate }) => names.includes(gate));
	return {
		id,
		show({ result }) {
			const rows = failing(result);
			if (rows.length === 0) return null;
			return { title: titleOf(rows.length), blocks: [table(id, gateColumns, rows, { noun: "change" })] };
		},
		highlights: (result) => failing(result).flatMap(gateHighlight),
	};
}

export const limitChangeSection = gateSection(
	"limit-changes",
	["limit-change"],
	(count) => `Rules: ${counted(count, "change")} to review`,
);

export const coverageSection = gateSection(
	"coverage",
	["coverage", "vanished"],
	(count) => `Coverage: ${count} no longer checked or reported`,
);

const maxLayerSentences = 2;

function trendHighlight(result: Result, gate: FailingGate): Highlight {
	const [first = "", ...others] = gate.message.split(". ");
	const row = result.workloads.find((workload) => subjectKey(workload) === subjectKey(gate));
	// A row that is slower by itself is explained by its own highlight.
	const layers =
		row?.explanation === undefined || row.verdict === "regressed"
			? []
			: explanationSentences(row.explanation).slice(0, maxLayerSentences);
	return {
		severity: gate.status,
		topic: ["change of a trend", "changes of trends"],
		title: `${subjectName(gate)}, trend: ${cleanMessage(first)}`,
		// One by one, so that a comment has room for the first.
		sentences: [...others.map((one) => cleanMessage(`${one.replace(/\.$/, "")}.`)), ...layers],
		explains: [gateKey("trend", gate)],
	};
}

export const trendSection: ReportSection = {
	id: "trend",
	show: () => null,
	highlights: (result) =>
		failingGates(result).flatMap((gate) => (gate.gate === "trend" ? [trendHighlight(result, gate)] : [])),
};
