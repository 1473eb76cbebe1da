// A diagnosis as text.
import type { Diagnosis } from "../../core/errors.ts";
import { paint } from "../../core/report/terminal.ts";

export function renderDiagnosis(diagnosis: Diagnosis, options: { color?: boolean } = {}): string {
	const color = options.color ?? false;
	const { code, title, fix, excerpt, also, kind } = diagnosis;
	const lines = [`${paint(paint(code, kind === "none" ? "green" : "red", color), "bold", color)}  ${title}`];
	if (kind === "runner")
		lines.push(paint("Caused by the machine, not the model: a retry may help.", "dim", color));
	if (fix) lines.push(`${paint("Fix:", "bold", color)} ${fix}`);
	if (also.length > 0) lines.push(`${paint("Also:", "bold", color)} ${also.join(", ")}`);
	const width = String(excerpt.at(-1)?.line ?? 0).length;
	lines.push(
		...excerpt.map(({ line, text }) => paint(`  ${String(line).padStart(width)} │ ${text}`, "dim", color)),
	);
	return lines.join("\n");
}
