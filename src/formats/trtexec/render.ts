// Renders a diagnosis as text and as JSON.
import type { Diagnosis } from "../../core/diagnosis.ts";

const red = "\u001b[31m";
const green = "\u001b[32m";
const bold = "\u001b[1m";
const dim = "\u001b[2m";
const reset = "\u001b[0m";

function paint(text: string, style: string, color: boolean): string {
	return color ? `${style}${text}${reset}` : text;
}

/** Text for a terminal or a log, without a line break at its end. */
export function renderDiagnosis(diagnosis: Diagnosis, options: { color?: boolean } = {}): string {
	const color = options.color ?? false;
	const { code, title, fix, excerpt, also, kind } = diagnosis;
	const style = kind === "none" ? green : red;
	const lines = [`${paint(code, style + bold, color)}  ${title}`];
	if (kind === "runner") lines.push(paint("Caused by the machine, not the model: a retry may help.", dim, color));
	if (fix) lines.push(`${paint("Fix:", bold, color)} ${fix}`);
	if (also.length > 0) lines.push(`${paint("Also:", bold, color)} ${also.join(", ")}`);
	const width = String(excerpt.at(-1)?.line ?? 0).length;
	lines.push(...excerpt.map(({ line, text }) => paint(`  ${String(line).padStart(width)} │ ${text}`, dim, color)));
	return lines.join("\n");
}

export interface DiagnosisJson {
	code: string;
	kind: Diagnosis["kind"];
	title: string;
	fix: string;
	excerpt: { line: number; text: string }[];
	also: string[];
}

/** The form that golden-schema/diagnose.schema.json defines. */
export function diagnosisJson({ code, kind, title, fix, excerpt, also }: Diagnosis): DiagnosisJson {
	return { code, kind, title, fix, excerpt: excerpt.map(({ line, text }) => ({ line, text })), also: [...also] };
}
