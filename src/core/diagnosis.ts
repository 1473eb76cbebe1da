// What a run of a tool turned out to be: the value that `diagnose` gives and that reports show.

/** refusal: the model's, the config's or the command's fault, a verdict. runner: the machine's fault, a retry may help. none: nothing is wrong. */
export type DiagnosisKind = "none" | "refusal" | "runner";

export interface ExcerptLine {
	/** Line number in the log, from 1. */
	line: number;
	text: string;
}

export interface Diagnosis {
	/** `ok`, `unverified`, `unknown`, or a code that has a heading in docs/troubleshooting. */
	code: string;
	kind: DiagnosisKind;
	/** What happened, one sentence. */
	title: string;
	/** What to do next; empty for `ok`. */
	fix: string;
	/** The lines of the log that show it, in order. */
	excerpt: readonly ExcerptLine[];
	/** Codes of what else is wrong with this run, e.g. a second mistake behind the first. */
	also: readonly string[];
}
