// The rules that judge a change: the base's, so that a change cannot choose its own limits.
import type { GateResult } from "../../../generated/result.ts";
import { formatDuration, formatLimit, formatMs } from "../text/units.ts";
import { againstUnder, loadOf } from "./against.ts";
import type { Config, EngineConfig, Gates, ModelConfig, WorkloadConfig } from "./config.ts";
import { formatGate, gateEntries } from "./gate-records.ts";

export type Counterparts = ReadonlyMap<string, string>;

/** Keys that decide how engines are compared; the rest belongs to a recipe or to the machine. */
const fileRules = [
	"backend",
	"onnxruntime",
	"device",
	"libraries",
	"base",
	"gates",
	"measure",
	"runners",
	"preflight",
	"baseline",
	"history",
	"commands",
] as const satisfies readonly (keyof Config)[];

export function underRulesOf(rules: Config, head: Config, counterparts: Counterparts): Config {
	const ofBase = enginesById(rules);
	const models = head.models.map((model) => {
		const pairs = model.engines.map((engine) => ({
			engine,
			base: ofBase.get(counterparts.get(`${model.name}/${engine.name}`) ?? ""),
		}));
		const ruling = pairs.find(({ base }) => base !== undefined)?.base?.model ?? model;
		const probes = { ...model.probes, when: ruling.probes.when, only: ruling.probes.only };
		return {
			...model,
			notice: ruling.notice,
			probes,
			engines: pairs.map(({ engine, base }) => {
				const against = againstUnder(base, model.name, counterparts) ?? engine.against;
				return { ...ruleEngine(engine, base?.engine), against };
			}),
		};
	});
	return { ...head, ...rulesOfFile(rules), models };
}

function rulesOfFile(config: Config) {
	return Object.fromEntries(fileRules.map((key) => [key, config[key]])) as unknown as Pick<
		Config,
		(typeof fileRules)[number]
	>;
}

function ruleEngine(head: EngineConfig, base: EngineConfig | undefined) {
	if (base === undefined) return head;
	const added = head.workloads.filter(
		(own) => !base.workloads.some((other) => other.name === own.name || loadOf(other) === loadOf(own)),
	);
	return {
		...head,
		gates: base.gates,
		workloads: [...base.workloads.map((workload) => ({ ...workload, ofBase: true })), ...added],
	};
}

function enginesById({ models }: Config): Map<string, { model: ModelConfig; engine: EngineConfig }> {
	return new Map(
		models.flatMap((model) =>
			model.engines.map((engine) => [`${model.name}/${engine.name}`, { model, engine }] as const),
		),
	);
}

type Subject = Partial<Pick<GateResult, "model" | "engine" | "workload">>;

export interface RuleChange extends Subject {
	key: string;
	base: string;
	head: string;
	isLooser: boolean;
	pointer: string;
	limitChange: Gates["limitChange"];
}

interface Rule {
	key: string;
	laxness?: number;
	shown: string;
	pointer: string;
}

export function ruleChanges(base: Config, head: Config, counterparts: Counterparts): RuleChange[] {
	const changes: RuleChange[] = [];
	const compare = (was: Rule[], is: Rule[], of: Subject & { gates: Gates }) => {
		const { gates, ...subject } = of;
		changes.push(
			...differences(was, is).map((change) => ({ ...change, ...subject, limitChange: gates.limitChange })),
		);
	};
	compare(rulesShown(base), rulesShown(head), { gates: base.gates });
	const engines = enginesById(base);
	const seen = new Set<string>();
	for (const [id, own] of enginesById(head)) {
		const other = engines.get(counterparts.get(id) ?? "");
		if (other === undefined) continue;
		const model = own.model.name;
		if (!seen.has(model))
			compare(modelShown(other.model), modelShown(own.model), { model, gates: base.gates });
		seen.add(model);
		const [was, is] = [other.engine, own.engine];
		const subject = { model, engine: is.name };
		compare(
			[...againstShown(was, againstUnder(other, model, counterparts)), ...gatesShown(was, is.precision)],
			[...againstShown(is, is.against), ...gatesShown(is, is.precision)],
			{ ...subject, gates: was.gates },
		);
		for (const workload of was.workloads) {
			const same = is.workloads.find(({ name }) => name === workload.name);
			if (same)
				compare(workloadShown(workload), workloadShown(same), {
					...subject,
					workload: same.name,
					gates: workload.gates,
				});
		}
	}
	return changes;
}

function differences(before: readonly Rule[], after: readonly Rule[]) {
	const was = new Map(before.map((rule) => [rule.key, rule]));
	const is = new Map(after.map((rule) => [rule.key, rule]));
	return [...new Set([...was.keys(), ...is.keys()])].flatMap((key) => {
		const [old, now] = [was.get(key), is.get(key)];
		if (old?.shown === now?.shown) return [];
		const isOrdered = old?.laxness !== undefined && now?.laxness !== undefined;
		const isLooser = old !== undefined && (!isOrdered || (now?.laxness ?? 0) > (old.laxness ?? 0));
		return [
			{
				key,
				base: old?.shown ?? "not set",
				head: now?.shown ?? "not set",
				isLooser,
				pointer: now?.pointer ?? old?.pointer ?? "",
			},
		];
	});
}

function againstShown({ pointer }: EngineConfig, against: string | undefined) {
	return against === undefined ? [] : [{ key: "against", shown: against, pointer: `${pointer}/against` }];
}

function laxnessOf(limit: number | undefined, isLeast = false) {
	return limit === undefined ? Infinity : isLeast ? -limit : limit;
}

function gatesShown(
	{ gates, pointer }: { gates: Gates; pointer: string },
	precision?: EngineConfig["precision"],
) {
	const level = precision === undefined ? "workload" : "engine";
	return gateEntries.flatMap(([key, { name, kind, options, bounds, isLeast, level: own }]) => {
		if (own !== level) return [];
		const value = gates[key];
		const rule = (
			at: string,
			is: number | string | undefined,
			{ format, atLeast } = { format: formatGate[kind], atLeast: isLeast ?? bounds?.isLeast },
		) => ({
			key: `gates.${at}`,
			laxness: typeof is === "string" ? (options ?? []).indexOf(is) : laxnessOf(is, atLeast),
			shown: typeof is === "number" ? format(is) : (is ?? "off"),
			pointer: gates.pointers[at] ?? gates.pointers[name] ?? pointer,
		});
		if (kind === "slo")
			return [
				rule("slo.p99", gates.slo?.p99Ms, { format: formatMs, atLeast: undefined }),
				rule("slo.rate", gates.slo?.ratePerSecond, { format: formatGate.rate, atLeast: true }),
			];
		if (typeof value !== "object") return [rule(name, value)];
		const limits = kind === "precisions" ? [precision ?? ""] : ["warn", "fail"];
		return limits.map((limit) =>
			rule(`${name}.${limit}`, (value as Record<string, number | undefined>)[limit]),
		);
	});
}

function workloadShown(workload: WorkloadConfig) {
	const sizes = [
		["streams", workload.streams] as const,
		...Object.entries(workload.dims).map(([name, size]) => [`dims.${name}`, size] as const),
	];
	const { pointer, everyMs, sweep } = workload;
	const rule = (name: string, size: number, laxness = -size) => ({
		key: `workloads.${name}`,
		laxness,
		shown: String(size),
		pointer,
	});
	const covered: Rule[] = sizes.map(([name, size]) => rule(name, size));
	if (everyMs !== undefined)
		covered.push({ key: "workloads.every", shown: formatDuration(everyMs), pointer });
	if (sweep !== undefined) covered.push(rule(`sweep.${sweep.dim}`, sweep.from, sweep.from));
	return [...gatesShown(workload), ...covered];
}

function modelShown({ probes, notice, pointer }: ModelConfig) {
	return [
		{
			key: "probes",
			laxness: ["on", "new", "nightly", "off"].indexOf(probes.when),
			shown: probes.when,
			pointer: probes.pointer,
		},
		{ key: "probes.only", shown: probes.only.join(", ") || "all", pointer: probes.pointer },
		...Object.entries(notice).map(([precision, share = 0]) => {
			const key = `golden-notice.${precision}`;
			return { key, laxness: -share, shown: formatLimit(share), pointer: `${pointer}/golden-notice` };
		}),
	];
}

/** Larger numbers, such as more pairs, are stricter, and so is a switch that is on. */
function rulesShown(config: Config) {
	const { gates: _, measure, commands, runners, ...rules } = rulesOfFile(config);
	const { looks, adaptsLength, ...settings } = measure;
	const shown = Object.entries({
		...rules,
		measure: { pairs: looks, ...settings },
		...(runners.length === 0 ? {} : { runners }),
		comparators: commands,
	});
	return shown
		.flatMap(([key, value]) => leaves(key, value))
		.map((rule) =>
			adaptsLength && rule.key === "measure.duration" ? { ...rule, shown: `at most ${rule.shown}` } : rule,
		);
}

function leaves(key: string, value: unknown): Rule[] {
	if (value === undefined) return [];
	const isPlain =
		typeof value !== "object" ||
		value === null ||
		(Array.isArray(value) && !value.some((part) => typeof part === "object"));
	if (isPlain) return [leafOf(key, value)];
	if (Array.isArray(value)) return value.flatMap(({ name, ...part }) => leaves(`${key}.${name}`, part));
	const { pointer: _, ...parts } = value as { pointer?: string };
	return Object.entries(parts).flatMap(([name, part]) =>
		leaves(`${key}.${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, part),
	);
}

function leafOf(key: string, value: unknown) {
	const isTime = key.endsWith("-ms") && typeof value === "number";
	const name = isTime ? key.slice(0, -"-ms".length) : key;
	const rule = {
		key: name,
		shown: isTime ? formatDuration(value) : String(value),
		pointer: `/${name.replaceAll(".", "/")}`,
	};
	if (Array.isArray(value)) rule.shown = value.join(", ") || "all";
	const rank = ["always", "nightly", "off"].indexOf(String(value));
	if (rank >= 0 && key.startsWith("measure.")) return { ...rule, laxness: rank };
	const most: unknown = Array.isArray(value) ? value.at(-1) : value;
	return typeof most === "number" || typeof most === "boolean" ? { ...rule, laxness: -Number(most) } : rule;
}
