// The one line that says it all: what is not green, and how many checks pass.
import type { Result } from "../schema/result.ts";
import { cleanName } from "../text/escape.ts";
import { counted } from "../text/labels.ts";
import type { Highlight } from "./highlight.ts";
import { highlights } from "./highlights.ts";

function tally(list: readonly Highlight[]): string[] {
	const counts = new Map<string, { count: number; topic: Highlight["topic"] }>();
	for (const { topic } of list) counts.set(topic[0], { count: (counts.get(topic[0])?.count ?? 0) + 1, topic });
	return [...counts.values()].map(({ count, topic }) => counted(count, topic[0], topic[1]));
}

function checksText(result: Result): string {
	const total = result.gates.length;
	const passing = result.gates.filter((gate) => gate.status === "pass").length;
	if (total === 0) return "nothing was checked";
	if (total === 1) return passing === 1 ? "the only check passes" : "the only check does not pass";
	return passing === total ? `all ${counted(total, "check")} pass` : `${passing} of ${counted(total, "check")} pass`;
}

/**
 * `1 golden mismatch, 1 slowdown · 14 of 16 checks pass`.
 * @param all the stories of the result, where they are known already.
 */
export function headline(result: Result, all: readonly Highlight[] = highlights(result)): string {
	const told = tally(all);
	const shown = told.slice(0, 5);
	const more = told.length > shown.length ? [`${told.length - shown.length} other kinds`] : [];
	const stopped = result.partial === undefined ? [] : [`stopped in ${cleanName(result.partial.stage, 40)}`];
	return [...stopped, [...shown, ...more].join(", "), checksText(result)].filter((part) => part !== "").join(" · ");
}
