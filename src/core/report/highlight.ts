// Highlights: one thing each that is not green, how alike ones are grouped, and the gates that they explain.

import type { GateName, GateResult, GateStatus, Result } from "../../../generated/result.ts";
import { type Group, groupBy } from "../group.ts";
import { cleanText, shorten, withoutMarks } from "../text/escape.ts";
import {
	commonSubject,
	counted,
	listNames,
	precedence,
	type Subject,
	subjectLevels,
	subjectName,
	worstOutcome,
} from "../text/labels.ts";

export type HighlightSeverity = "fail" | "error" | "inconclusive" | "warn" | "note";

/** Texts are clean, shortened and not escaped; backticks mark code in all but the title. */
export interface Highlight {
	severity: HighlightSeverity;
	topic: readonly [one: string, many: string];
	about?: Subject;
	title: string;
	count?: number;
	lines?: readonly string[];
	sentences: readonly string[];
	fix?: string;
	excerpt?: readonly string[];
	/** Keys (`gateKey`) of the gates, which get no highlight of their own. */
	explains?: readonly string[];
}

export const severityOrder: readonly string[] = [...precedence, "note"];

/** The first lines of a log show what broke, the last how it ended. */
export function excerptLines(lines: readonly string[]): string[] {
	const shown = lines.length <= 12 ? lines : [...lines.slice(0, 6), "…", ...lines.slice(-6)];
	return shown.map((line) => shorten(cleanText(shorten(line, 1000)), 240));
}

/** Signs such as `%` and `→` are not words. */
export function countWords(text: string): number {
	return text.match(/\S*[\p{L}\p{N}]\S*/gu)?.length ?? 0;
}

const mostTitleWords = 26;
/** A short first sentence is kept with the lines, however many there are. */
const mostOpeningWords = 8;
/** Kept free for `… and 3 more in report.html`. */
const moreWords = 5;

function cut(text: string, maxWords: number) {
	let left = maxWords;
	const words = text.split(" ");
	const end = words.findIndex((word) => {
		left -= countWords(word);
		return left < 0;
	});
	return end === -1 ? text : `${words.slice(0, end).join(" ")} …`;
}

export function briefTitle({ title }: Highlight): string {
	return cut(title, mostTitleWords);
}

/** Without its fix, which a comment names at the end. */
export function brief({ lines, fix: _, ...highlight }: Highlight, maxWords: number): Highlight {
	const title = briefTitle(highlight);
	let left = maxWords - countWords(title);
	const take = (texts: readonly string[], reserved = 0) =>
		texts.filter((text) => {
			const words = countWords(withoutMarks(text));
			if (words > left - reserved) return false;
			left -= words;
			return true;
		});
	const [first = "", ...others] = highlight.sentences;
	if (lines === undefined) {
		const [whole] = take([first]);
		const sentences = whole === undefined ? [cut(withoutMarks(first), left)] : [whole, ...take(others)];
		return { ...highlight, title, sentences: sentences.filter((text) => text !== "") };
	}
	const openingWords = countWords(withoutMarks(first));
	const forOpening = openingWords > mostOpeningWords ? 0 : openingWords;
	const shown = take(lines, moreWords + forOpening);
	const hidden = lines.length - shown.length;
	const more = hidden === 0 ? [] : take([`… and ${hidden} more in report.html`], forOpening);
	return { ...highlight, title, lines: [...shown, ...more], sentences: take(highlight.sentences) };
}

type Known = Highlight & { about: Subject };

const maxLines = 8;

const saysOf = ({ about, title }: Known) => title.slice(subjectName(about).length);
const wordsOf = ({ lines = [], sentences }: Highlight) => JSON.stringify([lines, sentences]);
const modelOf = ({ about: { model, part } }: Known) => JSON.stringify([model, part]);

export function groupAlike(all: readonly Highlight[]): Highlight[] {
	const keyOf = (one: Highlight, index: number) => {
		const { about, severity, topic, fix } = one;
		return about === undefined ? index : JSON.stringify([severity, topic, fix, saysOf({ ...one, about })]);
	};
	const keyed = all.map((highlight, index) => ({ highlight, key: keyOf(highlight, index) }));
	return [...groupBy(keyed, ({ key }) => key).values()].flatMap((group) => {
		const list = group.map(({ highlight }) => highlight);
		if (!list.every(isKnown) || list.length === 1) return list;
		const isSame = new Set(list.map(wordsOf)).size === 1;
		return [...groupBy(list, isSame ? () => "" : modelOf).values()].map(merged);
	});
}

function isKnown(highlight: Highlight): highlight is Known {
	return highlight.about !== undefined;
}

export function restName(subject: Subject, common: Subject): string {
	const own = Object.entries(subject).filter(([key]) => !(key in common));
	return subjectName(Object.fromEntries(own));
}

function merged(list: Group<Known>) {
	const [first, ...others] = list;
	if (others.length === 0) return first;
	const common = commonSubject(list.map(({ about }) => about));
	const count = list.reduce((sum, one) => sum + (one.count ?? 1), 0);
	const isSame = new Set(list.map(wordsOf)).size === 1;
	if (common.model === undefined) {
		const also = `Also ${listNames(others.map(({ about }) => subjectName(about)))}.`;
		return {
			...first,
			count,
			title: `${first.title}, and ${others.length} more`,
			sentences: [...first.sentences, also],
		};
	}
	const level = subjectLevels.findLast((key) => first.about[key] !== undefined) ?? "model";
	const rests = list.map(({ about }) => restName(about, common));
	const isOneSubject = rests.every((rest) => rest === "");
	const extent = isOneSubject ? "" : ` in ${counted(list.length, level)}`;
	// A reason in the title may be a whole sentence.
	const says = isOneSubject ? saysOf(first) : saysOf(first).replace(/\.$/, ",");
	const title = `${subjectName(common)}${says}${extent}`;
	if (isSame) return { ...first, count, about: common, title };
	const lines = list.slice(0, maxLines).map(({ lines: own = [], sentences }, index) => {
		const says = own[0] ?? sentences[0] ?? "";
		return rests[index] === "" ? says : `${rests[index]}: ${says}`;
	});
	const hidden = list.length - lines.length;
	const more =
		hidden > 0 ? [`… and ${isOneSubject ? `${hidden} more` : counted(hidden, `more ${level}`)}.`] : [];
	return { ...first, count, about: common, title, lines: [...lines, ...more], sentences: [] };
}

interface GateSubject {
	model: string;
	engine?: string;
	workload?: string;
	/** The same workload in two parts of a merged result is two subjects. */
	part?: string | undefined;
}

/** A key that no name can forge. */
export function subjectKey({ model, engine, workload, part }: GateSubject): string {
	return JSON.stringify([model, engine ?? null, workload ?? null, part ?? null]);
}

export function engineKey({ model, engine, part }: { model: string; engine: string; part?: string }): string {
	return subjectKey({ model, engine, part });
}

export function gateKey(gate: GateName, subject: GateSubject): string {
	return gate + subjectKey(subject);
}

export class GateIndex {
	readonly #gates: ReadonlyMap<string, readonly GateResult[]>;

	constructor({ gates }: Result) {
		this.#gates = groupBy(gates, (gate) => gateKey(gate.gate, gate));
	}

	of(gate: GateName, subject: GateSubject): readonly GateResult[] {
		return this.#gates.get(gateKey(gate, subject)) ?? [];
	}

	status(gate: GateName, subject: GateSubject, cases?: ReadonlySet<string>): GateStatus | undefined {
		const own = this.of(gate, subject).filter((one) => cases?.has(one.case ?? "") ?? true);
		return own.length === 0 ? undefined : worstOutcome(own.map(({ status }) => status));
	}

	/** How a highlight explains a gate; `otherwise` is its severity if the gate passes or did not judge. */
	explain(
		gate: GateName,
		subject: GateSubject,
		otherwise: HighlightSeverity,
		cases?: ReadonlySet<string>,
	): Pick<Highlight, "severity" | "explains"> {
		const status = this.status(gate, subject, cases) ?? "pass";
		return { severity: status === "pass" ? otherwise : status, explains: [gateKey(gate, subject)] };
	}
}

export type FailingGate = GateResult & { status: Exclude<GateStatus, "pass"> };

export function failingGates(result: Result): FailingGate[] {
	return result.gates.filter((gate): gate is FailingGate => gate.status !== "pass");
}
