// Renders a model's summary and its findings for a terminal.
import type { Finding } from "../../../generated/result.ts";
import { listNames } from "../text/labels.ts";
import { formatBytes } from "../text/units.ts";
import type { ModelSummary, ValueSummary } from "./describe.ts";
import { formatDims, quoteName } from "./quote.ts";

const csi = "\u001b[";
const colours: Readonly<Record<Finding["severity"] | "dim", string>> = {
	error: "31",
	warning: "33",
	note: "36",
	dim: "2",
};
const marks: Readonly<Record<Finding["severity"], string>> = {
	error: "✗ error",
	warning: "! warning",
	note: "· note",
};
const maxOperators = 12;

export function renderPreflight(
	summary: ModelSummary,
	findings: readonly Finding[],
	options: { color?: boolean } = {},
): string {
	const paint = (text: string, colour: keyof typeof colours): string =>
		options.color ? `${csi}${colours[colour]}m${text}${csi}0m` : text;
	const lines = [...summaryLines(summary), ""];
	for (const finding of findings) {
		lines.push(
			`${paint(marks[finding.severity], finding.severity)} ${paint(finding.code, "dim")}`,
			`  ${finding.message}`,
		);
		if (finding.fix !== undefined) lines.push(paint(`  → ${finding.fix}`, "dim"));
	}
	lines.push(verdictLine(findings));
	return `${lines.join("\n")}\n`;
}

function summaryLines(summary: ModelSummary): string[] {
	const { quantisation, weights, external } = summary;
	const rows: [string, string][] = [
		["model", `${plain(summary.path)} (${formatBytes(summary.bytes)})`],
		["made by", plain([summary.producer, summary.producerVersion].join(" ").trim()) || "unknown"],
		[
			"opset",
			[
				...summary.opsets.map(({ domain, version }) => `${plain(domain)} ${version}`),
				`IR ${summary.irVersion}`,
			].join(", "),
		],
		...summary.inputs.map((value): [string, string] => ["input", valueText(value)]),
		...summary.outputs.map((value): [string, string] => ["output", valueText(value)]),
		["nodes", nodesText(summary)],
		["operators", operatorsText(summary)],
		[
			"weights",
			weights
				.map(({ dtype, tensors, bytes }) => `${tensors} × ${dtype} (${formatBytes(bytes)})`)
				.join(", ") || "none",
		],
	];
	if (quantisation.quantizeLinear + quantisation.dequantizeLinear > 0) {
		rows.push([
			"quantised",
			`${quantisation.quantizeLinear} QuantizeLinear, ${quantisation.dequantizeLinear} DequantizeLinear`,
		]);
	}
	rows.push(["checked", inferredText(summary)]);
	for (const { location, neededBytes, problem } of external)
		rows.push([
			"data",
			`${plain(location)} (${formatBytes(neededBytes)})${problem === null ? "" : `: ${problem}`}`,
		]);
	return rows.map(([label, text]) => `${label.padEnd(10)} ${text}`);
}

function valueText({ name, kind, dtype, dims }: ValueSummary): string {
	const type = kind === "tensor" ? dtype : `${kind} of ${dtype}`;
	return `${plain(name)}: ${type} ${dims === null ? "of unknown shape" : formatDims(dims)}`;
}

function nodesText({ nodes, subgraphs, functions }: ModelSummary): string {
	const parts = [String(nodes)];
	if (subgraphs > 0) parts.push(`${subgraphs} subgraphs`);
	if (functions > 0) parts.push(`${functions} functions`);
	return parts.join(", ");
}

function operatorsText({ operators }: ModelSummary): string {
	const shown = operators.map(
		({ domain, operator, count }) =>
			`${plain(domain === "ai.onnx" ? operator : `${domain}.${operator}`)} ${count}`,
	);
	return listNames(shown, maxOperators) || "none";
}

/** What was not looked at, so that silence is not taken for a clean bill. */
function inferredText({ inferred: { tensors, shapes, types, stoppedAt } }: ModelSummary): string {
	const text = `shapes of ${shapes} and types of ${types} of ${tensors} tensors inside`;
	if (shapes === tensors) return text;
	const named = stoppedAt.map(({ operator, count }) => `${plain(operator)} ${count}`);
	return `${text}; shapes not checked behind ${listNames(named) || "inputs without a shape"}`;
}

function plain(text: string): string {
	return quoteName(text, "");
}

function verdictLine(findings: readonly Finding[]): string {
	const count = (severity: Finding["severity"]): number =>
		findings.filter((finding) => finding.severity === severity).length;
	if (findings.length === 0) return "Nothing found.";
	const parts = (["error", "warning", "note"] as const).map(
		(severity) => `${count(severity)} ${severity}${count(severity) === 1 ? "" : "s"}`,
	);
	return `${parts.join(", ")}.`;
}
