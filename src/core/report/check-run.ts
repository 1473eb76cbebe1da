import type { Outcome, Result } from "../../../generated/result.ts";
import { shorten } from "../text/escape.ts";
import { outcomeLabels, unverifiedText } from "../text/labels.ts";
import { annotations } from "./annotations.ts";
import { headline } from "./highlights.ts";
import { renderMarkdown, type Shown } from "./markdown.ts";

type Conclusion = "success" | "failure" | "neutral";

/** An inconclusive outcome is neither: if the config wants it to fail, its gates have failed. */
const conclusions: Readonly<Record<Outcome, Conclusion>> = {
	pass: "success",
	warn: "success",
	inconclusive: "neutral",
	fail: "failure",
	error: "failure",
};

const levels = { error: "failure", warning: "warning", notice: "notice" } as const;

/** Each 50 take a request. */
const maxAnnotations = 200;
const titleChars = 250;
/** GitHub's limit is 65,535. */
const summaryLimit = 65_000;

const blame: Readonly<Record<NonNullable<Result["failureKind"]>, string>> = {
	runner: "the runner is at fault, not the change; run it again",
	configuration: "the configuration is at fault",
	internal: "trtgate itself is at fault",
};

function title(result: Result): string {
	const label = outcomeLabels[result.outcome];
	const why = result.failureKind === undefined ? "" : ` (${blame[result.failureKind]})`;
	const from = result.unverified === true ? `${unverifiedText}: ` : "";
	const state = from === "" ? label.charAt(0).toUpperCase() + label.slice(1) : label;
	return shorten(`${from}${state}${why}: ${headline(result)}`, titleChars);
}

export interface CheckRunText {
	conclusion: Conclusion;
	title: string;
	summary: string;
	annotations: {
		path: string;
		line: number;
		level: "failure" | "warning" | "notice";
		title: string;
		message: string;
	}[];
}

/** An annotation without a location goes on the first line of the config. */
export function describeCheckRun(result: Result, shown: Shown): CheckRunText {
	const conclusion = conclusions[result.outcome];
	return {
		conclusion: result.unverified === true && conclusion === "success" ? "neutral" : conclusion,
		title: title(result),
		summary: renderMarkdown(result, { limit: summaryLimit, ...shown }),
		annotations: annotations(result, maxAnnotations).map(
			({ path, line = 1, level, title: heading, message }) => ({
				path: path ?? result.config.path,
				line: path === undefined ? 1 : Math.max(1, line),
				level: levels[level],
				title: shorten(heading, titleChars),
				message,
			}),
		),
	};
}
