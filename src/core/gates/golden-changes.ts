// The gate of goldens that are not the same in base and head: not wrong, but for somebody to look at.
import type { Config, Gates } from "../config/config.ts";
import { locate } from "../config/source.ts";
import type { GateResult, GoldenChange } from "../schema/result.ts";

export function judgeGoldenChange(change: GoldenChange, config: Config, gates: Gates): GateResult[] {
	if (gates.goldenChange === "off") return [];
	const location = locate(
		config,
		gates.pointers["golden-change"] ?? config.models.find(({ name }) => name === change.model)?.pointer ?? "",
	);
	return [
		{
			gate: "golden-change",
			model: change.model,
			status: gates.goldenChange,
			message: messageOf(change),
			...(location ? { location } : {}),
		},
	];
}

function messageOf({ base, head, weakened, movedTotal, reason, author, notes }: GoldenChange): string {
	if (base === null) return `${notes.join(" ")} It needs a review.`;
	const what = head === null ? `Golden ${base} is gone` : `Golden ${base} became ${head === base ? "another of the same id" : head}`;
	const weaker = weakened.length === 0 ? "" : ` and is weaker: ${weakened.join(" ")}`;
	const moved = movedTotal === 0 ? "" : ` ${movedTotal} ${movedTotal === 1 ? "output" : "outputs"} moved.`;
	const why = reason === undefined ? " Nobody says why." : ` ${author ?? "Nobody named"} says: ${reason}`;
	return `${what}${weaker === "" ? "." : weaker}${moved} It needs a review.${head === null ? "" : why}`;
}
