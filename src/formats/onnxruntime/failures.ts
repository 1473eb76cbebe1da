// Says what ONNX Runtime's refusal of a model means, and what to do about it.
import type { Failure } from "../../core/schema/result.ts";
import { type OrtFailureCode, rules } from "./rules.ts";

/** Names may be as long as the model's author liked. */
const longestTitle = 300;
const longestExcerptLine = 500;

/** What a message of ONNX Runtime about a model that it did not load means. */
export function diagnoseOrt(message: string): Failure & { code: OrtFailureCode } {
	const text = stripFraming(message);
	const excerpt = text.split("\n", 20).map((line) => line.slice(0, longestExcerptLine));
	for (const rule of rules) {
		const match = rule.pattern.exec(text);
		if (match === null) continue;
		const title = rule.title(match.groups ?? {}).slice(0, longestTitle);
		return { code: rule.code, title, fix: rule.fix, excerpt, ...(rule.kind === undefined ? {} : { kind: rule.kind }) };
	}
	return {
		code: "ort-load-failed",
		title: "ONNX Runtime does not load this model.",
		fix: "Read the message of ONNX Runtime in the excerpt.",
		excerpt,
	};
}

/** What a message about a run that failed means, in one sentence where it is known, else in ONNX Runtime's words. */
export function explainRun(message: string): string {
	const { code, title, excerpt } = diagnoseOrt(message);
	return code === "ort-load-failed" ? (excerpt[0] ?? title) : title;
}

/** Takes off what says nothing of the model: which function failed, and where ONNX Runtime's source lay. */
function stripFraming(message: string): string {
	return message
		.slice(0, 10_000)
		.replace(/^(?:Can't create a session|failed to call \w+\(\))\. ERROR_CODE: \d+, ERROR_MESSAGE: /, "")
		.replace(/\S*\/onnxruntime\/core\/\S+:\d+ \S.*?\) (?=[A-Z])/, "")
		.trim();
}
