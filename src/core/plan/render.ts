// Renders the plan for `trtgate run --dry-run`, with the source of each setting.
import { maxSizes } from "../compare/sweep.ts";
import type { Config, EngineConfig, PrepareConfig, Threshold } from "../config/config.ts";
import { absoluteGates, formatGate, gateEntries } from "../config/gate-records.ts";
import { formatSource } from "../config/source.ts";
import { cleanName, cleanText, escapeMarkdown, shorten } from "../text/escape.ts";
import { counted, listNames, present } from "../text/labels.ts";
import { formatDuration, formatLimit } from "../text/units.ts";
import type { MatrixJob } from "./matrix.ts";
import type { Plan, Step } from "./plan.ts";

export function renderPlan(plan: Plan, config: Config, backend: Config["backend"]): string {
	const steps = stepLines(plan, { ...config, backend });
	const lines = [headline(plan, config), "", ...steps, "", ...settingLines(config)];
	return `${lines.join("\n")}\n`;
}

function headline(plan: Plan, config: Config) {
	const counts = [
		counted(plan.engines.length, "engine"),
		counted(plan.workloads.length, "workload"),
		counted(plan.cases.length, "golden case"),
	];
	return `Plan of ${cleanText(config.path)}: ${counts.join(", ")}; ${plan.arms.length > 1 ? "base against head" : "head only"}`;
}

function stepLines(plan: Plan, config: Config) {
	return columns(
		plan.steps.map((step, index) => [`${index + 1}`, step.kind, ...describeStep(step, plan, config)]),
	);
}

function describeStep(step: Step, plan: Plan, config: Config) {
	switch (step.kind) {
		case "prepare":
			return [step.arm, `${cleanName(step.model)}: ${describeCommand(step)}`];
		case "preflight":
			return [step.arm, cleanName(step.engineId)];
		case "build":
			return [step.arm, describeBuild(step, plan)];
		case "verify":
			return [step.arm, `${cleanName(step.engineId)}: ${describeCases(step.cases)}`];
		case "probe":
			return [step.arm, `${cleanName(step.engineId)}: ${step.only.join(", ") || "all probes that apply"}`];
		case "measure":
			return [plan.arms.length > 1 ? "both" : "head", describeMeasure(step, plan, config)];
	}
}

function describeBuild(
	{ engineId, arm }: Extract<Step, { kind: "build" }>,
	{ engines, baseEngines = engines }: Plan,
) {
	const spec = (arm === "base" ? baseEngines : engines).find(({ id }) => id === engineId);
	if (spec === undefined) return cleanName(engineId);
	const { precision, onnx, build, profiles } = spec.engine;
	const source =
		build === undefined ? cleanText(onnx) : describeCommand({ command: build.plan, env: [], ...build });
	const dims =
		profiles.length > 1
			? profiles.map((profile) => `[${describeDims(profile).join(", ")}]`)
			: describeDims(spec.engine.dims);
	return [cleanName(spec.was ?? engineId), precision, source, ...dims].join(" · ");
}

function describeCommand({ command, env }: PrepareConfig) {
	const given = env.length === 0 ? "" : `, given ${env.join(", ")}`;
	return `${shorten(cleanText(command), 60)}${given}`;
}

function describeDims(dims: EngineConfig["dims"]) {
	return Object.entries(dims).map(
		([name, { min, opt, max }]) => `${cleanName(name)} ${min === max ? min : `${min}…${opt}…${max}`}`,
	);
}

function describeCases(cases: readonly string[]) {
	const shown = cases.map((id) => cleanName(id));
	return `${counted(cases.length, "golden case")} (${listNames(shown, 4)})`;
}

function describeMeasure(step: Extract<Step, { kind: "measure" }>, plan: Plan, config: Config) {
	const sweep = plan.workloads.find(({ id }) => id === step.workloadId)?.config.sweep;
	const sizes = sweep === undefined ? "" : ` (up to ${maxSizes} sizes)`;
	const name = `${cleanName(step.workloadId)}${sizes}`;
	if (config.backend === "onnxruntime") return `${name}: its instructions are counted`;
	if (plan.arms.length < 2) return `${name}: ${counted(step.pairs, "run")} of the head`;
	const first = config.measure.looks[0] ?? step.pairs;
	const order = step.firstArms.slice(0, first).map((arm) => (arm === "base" ? "B" : "H"));
	return `${name}: ${first === step.pairs ? first : `${first} to ${step.pairs}`} pairs, first ${order.join("")}${first < step.pairs ? "…" : ""}`;
}

const maxColumn = 100;

function columns(rows: readonly (readonly string[])[]) {
	const widths: number[] = [];
	for (const row of rows) {
		for (const [index, cell] of row.entries())
			widths[index] = Math.min(maxColumn, Math.max(widths[index] ?? 0, cell.length));
	}
	return rows.map(
		(row) =>
			`  ${row
				.map((cell, index) => (index === 0 ? cell.padStart(widths[0] ?? 0) : cell.padEnd(widths[index] ?? 0)))
				.join("  ")
				.trimEnd()}`,
	);
}

function lengthText(ms: number, { measure }: Config) {
	return measure.adaptsLength
		? `up to ${formatDuration(ms)}; as long as its noise requires`
		: formatDuration(ms);
}

function settingLines(config: Config) {
	const { measure, baseline } = config;
	const settings: Record<string, string> = {
		"/backend": config.backend,
		...(config.device !== undefined && { "/device": cleanText(config.device) }),
		"/measure/pairs": measure.looks.join(", "),
		"/measure/warm-up": lengthText(measure.warmUpMs, config),
		"/measure/duration": lengthText(measure.durationMs, config),
		"/measure/rebuilds": String(measure.rebuilds),
		"/measure/start-up": measure.startUp,
		"/measure/memory-growth": measure.memoryGrowth,
		"/measure/load": measure.load.when,
		"/baseline/from": present([baseline.from, baseline.ref && cleanText(baseline.ref)]).join(" "),
	};
	const rows = [...Object.entries(settings), ...gateSettings(config)].map(([pointer, value]) => [
		pointer.slice(1).replaceAll("/", "."),
		value,
		formatSource(config, pointer),
	]);
	return [
		"Settings, and where they come from:",
		...columns(rows.map(([name = "", ...rest]) => ["", name, ...rest])).map((line) => line.slice(2)),
	];
}

function gateSettings(config: Config): [string, string][] {
	const gates = config.gates;
	const rows = gateEntries.flatMap(([key, { name, kind }]): [string, string][] =>
		kind === "shares" ? [[`/gates/${name}`, describeLimits(gates[key] as Threshold)]] : [],
	);
	const absolute = absoluteGates.flatMap(({ key, name, kind }): [string, string][] =>
		gates[key] === undefined ? [] : [[`/gates/${name}`, formatGate[kind](gates[key])]],
	);
	return [...rows, ...absolute, ["/gates/inconclusive", gates.inconclusive]];
}

function describeLimits({ warn, fail }: Threshold) {
	const limits = present([
		warn !== undefined && `warn ${formatLimit(warn)}`,
		fail !== undefined && `fail ${formatLimit(fail)}`,
	]);
	return limits.join(", ") || "off";
}

export function renderMatrix(jobs: readonly MatrixJob[]): string {
	const rows = jobs.map(({ name, runner, only, device }) => {
		const cells = [name, only === "" ? "all" : only, runner, device === "" ? "–" : device];
		return `| ${cells.map((cell) => escapeMarkdown(cleanName(cell, 200))).join(" | ")} |`;
	});
	return [
		`## Plan: ${counted(jobs.length, "job")}`,
		"",
		"| job | engines | runner | device |",
		"|---|---|---|---|",
		...rows,
		"",
	].join("\n");
}
