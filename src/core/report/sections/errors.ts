// Errors: what kept the run from deciding, and what GitHub refused.
import type { ErrorRecord } from "../../../../generated/result.ts";
import { subjectName } from "../../text/labels.ts";
import { cleanMessage, codeSentences } from "../comparison-format.ts";
import { excerptLines, type Highlight } from "../highlight.ts";
import { gateKey } from "../index-gates.ts";
import type { ReportSection } from "../section.ts";

const faultOf: Readonly<Record<ErrorRecord["kind"], string>> = {
	configuration: "the configuration",
	runner: "the runner; a retry may help",
	github: "GitHub's side; it does not change the outcome",
	internal: "trtgate itself",
};

function errorHighlight(error: ErrorRecord): Highlight {
	const { kind, code, message, fix, excerpt = [], log, model } = error;
	return {
		severity: kind === "github" ? "warn" : "error",
		topic: kind === "github" ? ["GitHub fault", "GitHub faults"] : ["error", "errors"],
		title: [subjectName(error), cleanMessage(message, 400)].filter((part) => part !== "").join(": "),
		sentences: [
			`Code \`${cleanMessage(code, 80).replaceAll("`", "'")}\`, a fault of ${faultOf[kind]}.`,
			...codeSentences("Full log", log),
		],
		fix: fix && cleanMessage(fix),
		excerpt: excerptLines(excerpt),
		explains: model === undefined ? undefined : gateKey("run", { ...error, model }),
	};
}

export const errorSection: ReportSection = {
	id: "errors",
	show: () => null,
	highlights: ({ errors }) => errors.map(errorHighlight),
};
