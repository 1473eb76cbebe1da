// Renders a model's summary and its findings for a terminal.
import type { Finding } from "../../../generated/result.ts";
import { counted, listNames } from "../text/labels.ts";
import { formatBytes } from "../text/units.ts";
import type { ModelSummary } from "./describe.ts";
import { formatDims, quoteName } from "./quote.ts";

const severities: Readonly<Record<Finding["severity"], { colour: string; mark: string }>> = {
	error: { colour: "31", mark: "✗ error" },
	warning: { colour: "33", mark: "! warning" },
	note: { colour: "36", mark: "· note" },
};
const dim = "2";
const maxOperators = 12;

export function renderPreflight(
	summary: ModelSummary,
	findings: readonly Finding[],
	options: { color?: boolean } = {},
): string {
	const paint = (text: string, colour: string): string =>
		options.color ? `\u001b[${colour}m${text}\u001b[0m` : text;
	const lines = summaryRows(summary).map(([label, text]) => `${label.padEnd(10)} ${text}`);
	lines.push("");
	for (const { severity, code, message, fix } of findings) {
		const { mark, colour } = severities[severity];
		lines.push(`${paint(mark, colour)} ${paint(code, dim)}`, `  ${message}`);
		if (fix !== undefined) lines.push(paint(`  → ${fix}`, dim));
	}
	const counts = Object.keys(severities).map((severity) =>
		counted(findings.filter((finding) => finding.severity === severity).length, severity),
	);
	lines.push(findings.length === 0 ? "Nothing found." : `${counts.join(", ")}.`);
	return `${lines.join("\n")}\n`;
}

function summaryRows(summary: ModelSummary): (readonly [label: string, text: string])[] {
	const { opsets, operators, weights, quantisation, nodes, subgraphs, functions } = summary;
	const { quantizeLinear, dequantizeLinear } = quantisation;
	const values = opsets.map(({ domain, version }) => `${plain(domain)} ${version}`);
	const named = operators.map(
		({ domain, operator, count }) =>
			`${plain(domain === "ai.onnx" ? operator : `${domain}.${operator}`)} ${count}`,
	);
	const stored = weights.map(({ dtype, tensors, bytes }) => `${tensors} × ${dtype} (${formatBytes(bytes)})`);
	const inner = [
		...(subgraphs > 0 ? [`${subgraphs} subgraphs`] : []),
		...(functions > 0 ? [`${functions} functions`] : []),
	];
	return [
		["model", `${plain(summary.path)} (${formatBytes(summary.bytes)})`],
		["made by", plain(`${summary.producer} ${summary.producerVersion}`.trim()) || "unknown"],
		["opset", [...values, `IR ${summary.irVersion}`].join(", ")],
		...summary.inputs.map((value) => ["input", valueText(value)] as const),
		...summary.outputs.map((value) => ["output", valueText(value)] as const),
		["nodes", [nodes, ...inner].join(", ")],
		["operators", listNames(named, maxOperators) || "none"],
		["weights", stored.join(", ") || "none"],
		...(quantizeLinear + dequantizeLinear === 0
			? []
			: [["quantised", `${quantizeLinear} QuantizeLinear, ${dequantizeLinear} DequantizeLinear`] as const]),
		["checked", inferredText(summary)],
		...summary.external.map(({ location, neededBytes, problem }) => {
			const size = `${plain(location)} (${formatBytes(neededBytes)})`;
			return ["data", problem === null ? size : `${size}: ${problem}`] as const;
		}),
	];
}

function valueText({ name, kind, dtype, dims }: ModelSummary["inputs"][number]): string {
	const type = kind === "tensor" ? dtype : `${kind} of ${dtype}`;
	return `${plain(name)}: ${type} ${dims === null ? "of unknown shape" : formatDims(dims)}`;
}

/** Names what was not looked at, so that silence does not read as approval. */
function inferredText({ inferred: { tensors, shapes, types, stoppedAt } }: ModelSummary): string {
	const text = `shapes of ${shapes} and types of ${types} of ${tensors} tensors inside`;
	if (shapes === tensors) return text;
	const named = stoppedAt.map(({ operator, count }) => `${plain(operator)} ${count}`);
	return `${text}; shapes not checked behind ${listNames(named) || "inputs without a shape"}`;
}

function plain(text: string): string {
	return quoteName(text, "");
}
