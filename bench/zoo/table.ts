// The zoo's results as a Markdown table.
import { groupBy } from "../../src/core/group.ts";
import type { ZooModel } from "./fetch.ts";
import type { Step, ZooResult } from "./trial.ts";

function seconds(step: Step | undefined): string {
	if (step === undefined) return "–";
	const time = step.seconds < 1 ? step.seconds.toFixed(2) : step.seconds.toFixed(0);
	return step.exit === 0 ? time : `**exit ${step.exit}**, ${time}`;
}

/** A head that fails is what the table wants to see. */
function caught(step: Step | undefined): string {
	if (step === undefined) return "–";
	return step.exit === 1 ? "fails" : `**exit ${step.exit}**`;
}

/** A recording that is refused for a stated reason has an answer; any other failure has none. */
function recorded(step: Step | undefined): string {
	const refused = /\[golden-[\w-]+\]/.test(step?.said ?? "");
	return refused && step !== undefined ? `refused, ${step.seconds.toFixed(0)}` : seconds(step);
}

function share(count: { counting: number; noticed: number } | undefined): string {
	if (count === undefined) return "–";
	const text = `${count.noticed} of ${count.counting}`;
	return count.noticed < count.counting ? `**${text}**` : text;
}

function row(model: ZooModel, result: ZooResult | undefined): string {
	if (result === undefined) return `| ${model.name} | ${model.task} | not run | | | | | | | | |`;
	const { steps, falseAlarms } = result;
	const alarms =
		falseAlarms === undefined ? "–" : falseAlarms.length === 0 ? "0" : `**${falseAlarms.join(", ")}**`;
	const cells = [
		model.name,
		model.task,
		seconds(steps["preflight"]),
		seconds(steps["init"]),
		recorded(steps["record"]),
		alarms,
		share(result.defects?.fp32),
		share(result.defects?.fp16),
		`${share(result.own?.fp16)}${result.saysLittleAt?.includes("fp16") ? ", says little" : ""}`,
		seconds(steps["run, same"]),
		caught(steps["run, defective"]),
	];
	return `| ${cells.join(" | ")} |`;
}

export function zooTable(models: readonly ZooModel[], results: ReadonlyMap<string, ZooResult>): string {
	const head = [
		"model",
		"task",
		"preflight s",
		"init s",
		"record s",
		"false alarms",
		"defects at fp32",
		"at fp16",
		"own trial at fp16",
		"run, same: s",
		"run, defective",
	];
	return [
		`| ${head.join(" | ")} |`,
		`|${"---|".repeat(head.length)}`,
		...models.map((model) => row(model, results.get(model.name))),
	].join("\n");
}

/** Which versions the rows come from, and which machines. */
export function takenWith(results: readonly ZooResult[]): string {
	const builds = new Set(results.map(({ product }) => product)).size;
	const machines = [...groupBy(results, ({ machine }) => machine ?? "an unrecorded machine")];
	const where = machines
		.map(([name, rows]) => (machines.length === 1 ? name : `${name} (${rows.length} rows)`))
		.join("; ");
	const from =
		builds === 1
			? "All rows come from one version of trtgate"
			: `The rows come from ${builds} versions of trtgate`;
	return `${from} (\`product\` in \`bench/zoo/results.json\`). Measured on: ${where}.`;
}

/** What to look into: everything that did not go as it should. */
export function faults({ model, steps, falseAlarms = [], defects }: ZooResult): string[] {
	const failed = Object.entries(steps).filter(
		([name, step]) => step.exit !== (name === "run, defective" ? 1 : 0),
	);
	const missed = Object.entries(defects ?? {}).filter(([, count]) => count.missed.length > 0);
	return [
		...failed.map(
			([name, step]) =>
				`${model}: ${name}: exit ${step.exit}\n    ${step.said?.replaceAll("\n", "\n    ") ?? ""}`,
		),
		...falseAlarms.map((name) => `${model}: false alarm: ${name}`),
		...missed.map(([precision, count]) => `${model}: ${precision}: not noticed: ${count.missed.join("; ")}`),
	];
}
