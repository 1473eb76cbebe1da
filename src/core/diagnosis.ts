// What a run of a tool turned out to be: the value that `diagnose` gives and that reports show.

/** refusal: the model's, the config's or the command's fault, a verdict. runner: the machine's fault, a retry may help. none: nothing is wrong. */
export type DiagnosisKind = "none" | "refusal" | "runner";

export interface ExcerptLine {
	line: number;
	text: string;
}

export interface Diagnosis {
	code: string;
	kind: DiagnosisKind;
	title: string;
	fix: string;
	excerpt: readonly ExcerptLine[];
	also: readonly string[];
}
