// Stories of goldens that are not the same in base and head.
import type { GoldenChange, MovedOutput, Result } from "../schema/result.ts";
import { cleanName } from "../text/escape.ts";
import { counted } from "../text/labels.ts";
import { formatValue } from "../text/units.ts";
import { cleanMessage } from "./comparison-format.ts";
import type { Highlight, Phrase } from "./highlight.ts";
import { type GateIndex, subjectKey } from "./index-gates.ts";

const mostChanged = 6;

export function movedText({ relativeL2, maxAbs, detail }: MovedOutput): string {
	if (relativeL2 === null) return detail === undefined ? "cannot be compared" : cleanName(detail, 120);
	return `relative L2 ${formatValue(relativeL2)}, at most ${formatValue(maxAbs)}`;
}

export function whyText({ reason, author }: GoldenChange): string {
	const who = author === undefined ? "Nobody named" : cleanName(author, 80);
	return reason === undefined ? "Nobody says why." : `${who} says: “${cleanMessage(reason, 300)}”`;
}

export function revisionText({ base, head }: GoldenChange): string {
	const [from, to] = [cleanName(base ?? "none", 60), cleanName(head ?? "gone", 60)];
	return from === to ? from : `${from} → ${to}`;
}

function sentencesOf(change: GoldenChange): Phrase[] {
	const { weakened, moved, movedTotal, notes, tolerances } = change;
	const [first] = moved;
	const tighter = tolerances.filter(({ looser }) => !looser).length;
	return [
		...weakened.slice(0, mostChanged).map((text): Phrase => [`WEAKER: ${cleanMessage(text, 300)}`]),
		...(weakened.length > mostChanged ? [[`${counted(weakened.length - mostChanged, "more thing")} became weaker.`]] : []),
		...(first === undefined
			? []
			: [
					[
						`${counted(movedTotal, "output")} moved, furthest `,
						{ code: cleanName(first.output) },
						" of case ",
						{ code: cleanName(first.case, 60) },
						`: ${movedText(first)}.`,
					],
				]),
		...(tighter === 0 ? [] : [[`${counted(tighter, "limit")} became tighter or came new.`]]),
		...notes.slice(0, 4).map((text): Phrase => [cleanMessage(text, 300)]),
		...(change.reason === undefined ? [] : [[whyText(change)]]),
	];
}

function changeHighlight(change: GoldenChange, gates: GateIndex): Highlight {
	const weaker = change.weakened.length > 0;
	return {
		severity: gates.status("golden-change", { model: change.model }) === "fail" ? "fail" : "warn",
		topic: weaker ? ["weakened golden", "weakened goldens"] : ["changed golden", "changed goldens"],
		title: `${cleanName(change.model)}: the golden changed and needs review${weaker ? ": it is WEAKER" : ""} (${revisionText(change)})`,
		sentences: sentencesOf(change),
		fix: "Look at what moved and why; approve the change only if the old golden was wrong or the new one is meant.",
	};
}

/** One story for each golden that changed, and the keys of the gates that it tells. */
export function goldenChangeHighlights(result: Result, gates: GateIndex): { highlights: Highlight[]; keys: string[] } {
	const changes = (result.goldenChanges ?? []).filter(({ model }) => gates.status("golden-change", { model }) !== undefined);
	return {
		highlights: changes.map((change) => changeHighlight(change, gates)),
		keys: changes.map(({ model }) => `golden-change${subjectKey({ model })}`),
	};
}
