// An upgrade of TensorRT, where a result holds runs on several versions: the decision first.
import { type Upgrade, upgradesOf } from "../../merge/upgrade.ts";
import { cleanName } from "../../text/escape.ts";
import { cleanMessage } from "../comparison-format.ts";
import type { Block, ReportSection } from "../section.ts";

const titleOf = ({ from, to }: Upgrade): string =>
	`Upgrade: TensorRT ${cleanName(from, 40)} → ${cleanName(to, 40)}`;

function blocksOf({ decision, facts, plans, caveat }: Upgrade, most: number): Block[] {
	const says = facts.slice(0, most).map((fact) => cleanMessage(fact.says, 500));
	const more = facts.length > most ? [`${facts.length - most} more.`] : [];
	return [
		{ kind: "sentence", style: "strong", text: decision },
		{ kind: "list", items: [...says, ...more, plans, caveat] },
	];
}

export const upgradeSection: ReportSection = {
	id: "upgrade",
	show({ result }, { detail }) {
		const [first, ...others] = upgradesOf(result);
		if (first === undefined) return null;
		const most = Math.min(100, detail.rows);
		const rest = others.flatMap((upgrade): Block[] => [
			{ kind: "heading", text: titleOf(upgrade) },
			...blocksOf(upgrade, most),
		]);
		return { title: titleOf(first), isOpen: true, blocks: [...blocksOf(first, most), ...rest] };
	},
};
