// Renders the plan for `trtgate run --dry-run`, with the source of each setting.
import type { Arm } from "../../../generated/result.ts";
import type { Config, EngineConfig, Threshold } from "../config/config.ts";
import { absoluteGates, formatGate, gateEntries } from "../config/gate-records.ts";
import { formatSource } from "../config/source.ts";
import { cleanName, cleanText, escapeMarkdown, shorten } from "../text/escape.ts";
import { counted, listNames } from "../text/labels.ts";
import { formatDuration, formatLimit } from "../text/units.ts";
import type { MatrixJob } from "./matrix.ts";
import type { EngineSpec, Plan, Workload } from "./plan.ts";

export function renderPlan(plan: Plan, config: Config): string {
	const lines = [headline(plan, config), "", ...stepLines(plan, config), "", ...settingLines(config)];
	return `${lines.join("\n")}\n`;
}

function headline({ arms, engines, workloads, cases }: Plan, config: Config): string {
	const counts = [
		counted(engines.length, "engine"),
		counted(workloads.length, "workload"),
		counted(Object.values(cases).flat().length, "golden case"),
	];
	return `Plan of ${cleanText(config.path)}: ${counts.join(", ")}; ${arms.length > 1 ? "base against head" : "head only"}`;
}

/** In the order of the stages: cheap steps that often fail come first. */
function stepLines(plan: Plan, config: Config): string[] {
	const { arms, engines, baseEngines = engines, cases, probed, workloads } = plan;
	const each = <Item>(kind: string, items: readonly Item[], does: (item: Item, arm: Arm) => string) =>
		arms.flatMap((arm) => items.map((item) => [kind, arm, does(item, arm)]));
	const prepared = config.models.flatMap(({ name, prepare }) => (prepare ? [{ name, ...prepare }] : []));
	const checked = engines.filter(({ id }) => (cases[id] ?? []).length > 0);
	const steps = [
		...each("prepare", prepared, ({ name, command, env }) => {
			const given = env.length === 0 ? "" : `, given ${env.join(", ")}`;
			return `${cleanName(name)}: ${shorten(cleanText(command), 60)}${given}`;
		}),
		...each("preflight", engines, ({ id }) => cleanName(id)),
		...each("build", engines, (spec, arm) =>
			describeBuild((arm === "base" && baseEngines.find(({ id }) => id === spec.id)) || spec),
		),
		...checked.flatMap((spec) => each("verify", [spec], ({ id }) => describeCases(id, cases[id] ?? []))),
		// The base is probed only if the head disagrees with itself.
		...engines
			.filter(({ id }) => probed.includes(id))
			.map(({ id, model: { probes } }) => {
				return ["probe", "head", `${cleanName(id)}: ${probes.only.join(", ") || "all probes that apply"}`];
			}),
		...workloads.map((workload) => [
			"measure",
			arms.length > 1 ? "both" : "head",
			describeMeasure(workload, plan, config),
		]),
	];
	return columns(steps.map((step, index) => [`${index + 1}`, ...step]));
}

function describeBuild({ id, was = id, engine: { precision, onnx, profiles, dims } }: EngineSpec): string {
	const sizes =
		profiles.length > 1
			? profiles.map((profile) => `[${describeDims(profile).join(", ")}]`)
			: describeDims(dims);
	return [cleanName(was), precision, cleanText(onnx), ...sizes].join(" · ");
}

function describeDims(dims: EngineConfig["dims"]): string[] {
	return Object.entries(dims).map(
		([name, { min, opt, max }]) => `${cleanName(name)} ${min === max ? min : `${min}…${opt}…${max}`}`,
	);
}

function describeCases(engineId: string, cases: readonly string[]): string {
	const shown = cases.map((id) => cleanName(id));
	return `${cleanName(engineId)}: ${counted(cases.length, "golden case")} (${listNames(shown, 4)})`;
}

function describeMeasure({ id, firstArms }: Workload, { arms }: Plan, config: Config): string {
	const name = cleanName(id);
	const pairs = firstArms.length;
	if (config.backend === "onnxruntime") return `${name}: its instructions are counted`;
	if (arms.length < 2) return `${name}: ${counted(pairs, "run")} of the head`;
	const first = config.measure.looks[0] ?? pairs;
	const order = firstArms.slice(0, first).map((arm) => (arm === "base" ? "B" : "H"));
	return `${name}: ${first === pairs ? first : `${first} to ${pairs}`} pairs, first ${order.join("")}${first < pairs ? "…" : ""}`;
}

const maxColumn = 100;

function columns(rows: readonly (readonly string[])[]): string[] {
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

function lengthText(ms: number, { measure }: Config): string {
	return measure.adaptsLength
		? `up to ${formatDuration(ms)}; as long as its noise requires`
		: formatDuration(ms);
}

function settingLines(config: Config): string[] {
	const { measure, baseline } = config;
	const settings: [string, string][] = [
		["/backend", config.backend],
		...(config.device === undefined
			? []
			: [["/device", cleanText(config.device)] satisfies [string, string]]),
		["/measure/pairs", measure.looks.join(", ")],
		["/measure/warm-up", lengthText(measure.warmUpMs, config)],
		["/measure/duration", lengthText(measure.durationMs, config)],
		[
			"/baseline/from",
			baseline.ref === undefined ? baseline.from : `${baseline.from} ${cleanText(baseline.ref)}`,
		],
	];
	const rows = [...settings, ...gateSettings(config)].map(([pointer, value]) => [
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

function describeLimits({ warn, fail }: Threshold): string {
	const parts = [
		warn === undefined ? [] : [`warn ${formatLimit(warn)}`],
		fail === undefined ? [] : [`fail ${formatLimit(fail)}`],
	].flat();
	return parts.length === 0 ? "off" : parts.join(", ");
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
