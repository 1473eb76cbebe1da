// The rules that a change is judged by: they are the base's, so that a change cannot choose its own limits.
import { formatDuration, formatLimit, formatMs, formatTimes } from "../text/units.ts";
import type { Config, EngineConfig, Gates, ModelConfig, WorkloadConfig } from "./config.ts";
import { childPointer } from "./pointer.ts";

/** By the id of each engine of the head: the id of the engine of the base that it is compared with. */
export type Counterparts = ReadonlyMap<string, string>;

/** What the whole file decides about how engines are compared; everything else belongs to a side's recipe or to the machine. */
const fileRules = [
	"backend",
	"onnxruntime",
	"device",
	"base",
	"gates",
	"measure",
	"runners",
	"preflight",
	"baseline",
	"history",
	"commands",
] as const satisfies readonly (keyof Config)[];

type FileRules = Pick<Config, (typeof fileRules)[number]>;

/** The head's recipes under the base's rules. What only the head has keeps its own: it has nothing to be compared with. */
export function underRulesOf(rules: Config, head: Config, counterparts: Counterparts): Config {
	const engines = enginesById(rules);
	const models = head.models.map((model) => {
		const own = model.engines.map((engine) => engines.get(counterparts.get(`${model.name}/${engine.name}`) ?? ""));
		const ofBase = own.find((found) => found !== undefined)?.model;
		const ruled = ofBase === undefined ? model : { ...model, ...modelRules(ofBase, model) };
		return { ...ruled, engines: model.engines.map((engine, index) => ruleEngine(engine, own[index]?.engine)) };
	});
	const kept = Object.entries(head).filter(([key]) => !(fileRules as readonly string[]).includes(key));
	return { ...(Object.fromEntries(kept) as Omit<Config, keyof FileRules>), ...rulesOfFile(rules), models };
}

function rulesOfFile(config: Config): FileRules {
	return Object.fromEntries(fileRules.flatMap((key) => (config[key] === undefined ? [] : [[key, config[key]]]))) as unknown as FileRules;
}

function modelRules({ notice, probes }: ModelConfig, head: ModelConfig): Pick<ModelConfig, "notice" | "probes"> {
	return { notice, probes: { ...head.probes, when: probes.when, only: probes.only } };
}

function ruleEngine(head: EngineConfig, base: EngineConfig | undefined): EngineConfig {
	if (base === undefined) return head;
	const added = head.workloads.filter((own) => !base.workloads.some((other) => other.name === own.name || isSameLoad(other, own)));
	return { ...head, gates: base.gates, workloads: [...base.workloads.map((one): WorkloadConfig => ({ ...one, ofBase: true })), ...added] };
}

function isSameLoad(left: WorkloadConfig, right: WorkloadConfig): boolean {
	const key = ({ dims, streams }: WorkloadConfig): string => JSON.stringify([streams, Object.entries(dims).sort()]);
	return key(left) === key(right);
}

function enginesById({ models }: Pick<Config, "models">): Map<string, { model: ModelConfig; engine: EngineConfig }> {
	return new Map(models.flatMap((model) => model.engines.map((engine) => [`${model.name}/${engine.name}`, { model, engine }] as const)));
}

// What a change alters in the rules: it holds once the change is merged.

export interface RuleChange {
	model?: string;
	engine?: string;
	workload?: string;
	/** As trtgate.yml has it: `gates.latency.fail`. */
	key: string;
	base: string;
	head: string;
	/** The head's value allows more, or neither is stricter. */
	isLooser: boolean;
	/** Of the value in the head's config, or of the nearest mapping around it. */
	pointer: string;
	/** What the base makes of looser rules. */
	limitChange: Gates["limitChange"];
}

interface Rule {
	key: string;
	/** The larger, the looser; absent: not ordered. */
	laxness?: number;
	shown: string;
	pointer: string;
}

export function ruleChanges(base: Config, head: Config, counterparts: Counterparts): RuleChange[] {
	const { limitChange } = base.gates;
	const changes = differences(rulesShown(base), rulesShown(head)).map((change) => ({ ...change, limitChange }));
	const engines = enginesById(base);
	const seen = new Set<string>();
	for (const [id, own] of enginesById(head)) {
		const other = engines.get(counterparts.get(id) ?? "");
		if (other === undefined) continue;
		const subject = { model: own.model.name, engine: own.engine.name };
		const add = (found: Difference[], of: object, gates: Gates) =>
			changes.push(...found.map((change) => ({ ...change, ...of, limitChange: gates.limitChange })));
		if (!seen.has(subject.model)) add(differences(modelShown(other.model), modelShown(own.model)), { model: subject.model }, base.gates);
		seen.add(subject.model);
		const [was, is] = [other, own].map(({ engine }) => gatesShown(engine, engineGates, own.engine.precision));
		add(differences(was ?? [], is ?? []), subject, other.engine.gates);
		for (const workload of other.engine.workloads) {
			const is = own.engine.workloads.find(({ name }) => name === workload.name);
			if (is === undefined) continue;
			add(differences(workloadShown(workload), workloadShown(is)), { ...subject, workload: is.name }, workload.gates);
		}
	}
	return changes;
}

type Difference = Omit<RuleChange, "limitChange" | "model" | "engine" | "workload">;

function differences(before: readonly Rule[], after: readonly Rule[]): Difference[] {
	const was = new Map(before.map((rule) => [rule.key, rule]));
	const is = new Map(after.map((rule) => [rule.key, rule]));
	return [...new Set([...was.keys(), ...is.keys()])].flatMap((key) => {
		const [old, now] = [was.get(key), is.get(key)];
		if (old?.shown === now?.shown) return [];
		const isOrdered = old?.laxness !== undefined && now?.laxness !== undefined;
		const isLooser = old !== undefined && (!isOrdered || (now?.laxness ?? 0) > (old.laxness ?? 0));
		return [{ key, base: old?.shown ?? "not set", head: now?.shown ?? "not set", isLooser, pointer: now?.pointer ?? old?.pointer ?? "" }];
	});
}

/** All settings of a gate, of any kind, from the strictest to the loosest. */
const strictestFirst: readonly string[] = ["fail", "warn", "neutral", "off"];

type Level = { gates: Gates; pointer: string };

const workloadGates: readonly (keyof Gates)[] = [
	"latency",
	"work",
	"p99",
	"memory",
	"soakDrift",
	"maxLatencyMs",
	"inconclusive",
	"notComparable",
];
const engineGates: readonly (keyof Gates)[] = [
	"engineSize",
	"buildTime",
	"relativeL2",
	"existing",
	"errorGrowth",
	"probes",
	"interface",
	"goldenChange",
	"limitChange",
	"coverage",
	"vanished",
];

/** Names in the file, where they are not the name in kebab-case. */
const fileNames: Partial<Record<keyof Gates, string>> = {
	relativeL2: "golden.relative-l2",
	existing: "golden.existing",
	errorGrowth: "golden.error-growth",
	maxLatencyMs: "max-latency",
};

/** @param precision of the head's engine, whose golden limit counts. */
function gatesShown({ gates, pointer }: Level, keys: readonly (keyof Gates)[], precision?: EngineConfig["precision"]): Rule[] {
	return keys.flatMap((key) => {
		const name = fileNames[key] ?? key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
		const value = gates[key];
		const rule = (at: string, is: number | string | undefined, format: (limit: number) => string): Rule => ({
			key: `gates.${at}`,
			laxness: typeof is === "string" ? strictestFirst.indexOf(is) : (is ?? Number.POSITIVE_INFINITY),
			shown: typeof is === "number" ? format(is) : (is ?? "off"),
			pointer: gates.pointers[at] ?? gates.pointers[name] ?? gates.pointers[name.split(".")[0] ?? ""] ?? pointer,
		});
		if (typeof value !== "object") return [rule(name, value, formatMs)];
		const format = key === "errorGrowth" ? formatTimes : key === "relativeL2" ? String : formatLimit;
		const limits = key === "relativeL2" ? [precision ?? ""] : ["warn", "fail"];
		return limits.map((limit) => rule(`${name}.${limit}`, (value as Record<string, number | undefined>)[limit], format));
	});
}

/** How much of the engine it covers: a workload may keep its name and cover less. */
function workloadShown(workload: WorkloadConfig): Rule[] {
	const size = (name: string, value: number): Rule => ({
		key: `workloads.${name}`,
		laxness: -value,
		shown: String(value),
		pointer: workload.pointer,
	});
	const sizes = Object.entries(workload.dims).map(([name, value]) => size(`dims.${name}`, value));
	return [...gatesShown(workload, workloadGates), size("streams", workload.streams), ...sizes];
}

function modelShown({ probes, notice, pointer }: ModelConfig): Rule[] {
	const shares = Object.entries(notice).map(
		([precision, share]): Rule => ({
			key: `golden-notice.${precision}`,
			laxness: -(share ?? 0),
			shown: formatLimit(share ?? 0),
			pointer: childPointer(pointer, "golden-notice"),
		}),
	);
	const when = { key: "probes", laxness: ["on", "nightly", "off"].indexOf(probes.when), shown: probes.when, pointer: probes.pointer };
	return [when, { key: "probes.only", shown: probes.only.join(", ") || "all", pointer: probes.pointer }, ...shares];
}

/** Everything that holds for the whole file, value by value. Of numbers the larger is the stricter, such as more pairs and longer runs; a switch is stricter when it is on. */
function rulesShown(config: Config): Rule[] {
	const { gates: _, measure, commands, runners, ...rules } = rulesOfFile(config);
	const { looks, adaptsLength, ...settings } = measure;
	const shown = Object.entries({
		...rules,
		measure: { pairs: looks, ...settings },
		...(runners.length === 0 ? {} : { runners }),
		comparators: commands,
	});
	return shown
		.flatMap(([key, value]) => [...leaves(key, value)])
		.map((rule) => (adaptsLength && rule.key === "measure.duration" ? { ...rule, shown: `at most ${rule.shown}` } : rule));
}

function* leaves(key: string, value: unknown): Generator<Rule> {
	if (value === undefined) return;
	if (Array.isArray(value) && value.some((part) => typeof part === "object")) {
		for (const { name, ...part } of value as readonly { name: string }[]) yield* leaves(`${key}.${name}`, part);
	} else if (typeof value === "object" && value !== null && !Array.isArray(value)) {
		for (const [name, part] of Object.entries(value)) if (name !== "pointer") yield* leaves(`${key}.${kebab(name)}`, part);
	} else yield leafOf(key, value);
}

function leafOf(key: string, value: unknown): Rule {
	const isTime = key.endsWith("-ms") && typeof value === "number";
	const name = isTime ? key.slice(0, -"-ms".length) : key;
	const most: unknown = Array.isArray(value) ? value.at(-1) : value;
	const shown = Array.isArray(value) ? value.join(", ") || "all" : isTime ? formatDuration(value) : String(value);
	return {
		key: name,
		...(typeof most === "number" || typeof most === "boolean" ? { laxness: -Number(most) } : {}),
		shown,
		pointer: `/${name.replaceAll(".", "/")}`,
	};
}

function kebab(name: string): string {
	return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
