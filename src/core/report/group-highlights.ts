// Makes one highlight of those that say the same: of subjects of one model, or in the same words of any.
import { type Group, groupBy } from "../group.ts";
import { counted, listNames, type Subject, subjectName } from "../text/labels.ts";
import type { Highlight } from "./highlight.ts";

type Known = Highlight & { about: Subject };

const levels = ["model", "engine", "workload", "case"] as const;
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

export function commonSubject([first, ...others]: readonly Subject[]): Subject {
	const same = (key: keyof Subject) => others.every((other) => other[key] === first?.[key]);
	const depth = levels.findIndex((level) => !same(level));
	const shared = depth === -1 ? levels : levels.slice(0, depth);
	const keys = [...shared, ...(same("part") ? (["part"] as const) : [])];
	return Object.fromEntries(keys.flatMap((key) => (first?.[key] === undefined ? [] : [[key, first[key]]])));
}

/** `fp16 · batch 8`, beside a title that names the model. */
export function restName(subject: Subject, common: Subject): string {
	const own = Object.entries(subject).filter(([key]) => !(key in common));
	return subjectName(Object.fromEntries(own));
}

function merged(list: Group<Known>): Highlight {
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
	const level = levels.findLast((key) => first.about[key] !== undefined) ?? "model";
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
