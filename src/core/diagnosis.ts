// The outcome of a tool's run.

/** refusal: the model's, config's or command's fault. runner: the machine's; a retry may help. none: nothing is wrong. */
type DiagnosisKind = "none" | "refusal" | "runner";

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
