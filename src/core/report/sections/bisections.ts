// Where outputs that do not match their golden first deviate from ONNX Runtime.
import type { Bisection } from "../../../../generated/result.ts";
import { counted, subjectName } from "../../text/labels.ts";
import { cleanMessage } from "../comparison-format.ts";
import type { ReportSection } from "../section.ts";

const caveat =
	"Each engine was built again with tensors between its nodes as outputs. That breaks fusions, so these engines are not quite the ones that were judged.";

function itemOf(one: Bisection): string {
	const { message, rounds, compared } = one;
	const effort =
		rounds === 0 ? "" : ` (${counted(compared, "tensor")} compared in ${counted(rounds, "round")})`;
	return `${subjectName(one)}, case ${subjectName({ case: one.case })}: ${cleanMessage(message, 700)}${effort}`;
}

export const bisectionSection: ReportSection = {
	id: "bisections",
	show({ result: { bisections = [] } }, { detail }) {
		if (bisections.length === 0) return null;
		const named = bisections.filter(({ state }) => state === "found").length;
		return {
			title: `Where outputs diverge: ${counted(named, "node")} found for ${counted(bisections.length, "engine")}`,
			isOpen: true,
			blocks: [
				{ kind: "list", items: bisections.slice(0, detail.foldedRows).map(itemOf) },
				{ kind: "sentence", style: "quiet", text: caveat },
			],
		};
	},
};
