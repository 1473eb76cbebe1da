// What one run is given, what is known before anything is built, and what the stages have found so far.

import type {
	BackendFacts,
	Bisection,
	BuildRecord,
	ErrorRecord,
	Finding,
	GoldenChange,
	GoldenVerdict,
	GraphCost,
	InterfaceChange,
	ProbeResult,
	RecipeChange,
	Result,
	WorkflowJob,
	WorkloadResult,
} from "../../generated/result.ts";
import type { Config } from "../core/config/config.ts";
import type { Counterparts } from "../core/config/rules.ts";
import { type ConfigError, ToolError } from "../core/errors.ts";
import type { RecordedFacts } from "../core/history/from-result.ts";
import type { Plan } from "../core/plan/plan.ts";
import type { Ports } from "../ports/ports.ts";
import type { GoldenSet } from "../stages/load-goldens.ts";
import type { ArmFolder, Interfaces, PreparedModel } from "../stages/prepared.ts";
import type { WorkloadShapes } from "../stages/workloads.ts";

export interface Prepared {
	models: readonly PreparedModel[];
	goldens: ReadonlyMap<string, GoldenSet>;
	/** Of the head's engines whose golden cannot be used, by id. */
	goldenFaults: ReadonlyMap<string, ConfigError>;
	interfaces: Interfaces;
	recipes: readonly RecipeChange[];
	/** By the id of each engine of the head that the base has: its id there. */
	counterparts: Counterparts;
	/** The head's recipes under the base's rules, engines that were renamed included. */
	config: Config;
	plan: Plan;
}

export interface RunContext {
	prepared: Prepared;
	input: GateInput;
	/** What was found so far. */
	seen(): Facts;
	ports: Ports;
}

export interface PreparedRun {
	config: Config;
	fingerprint: Readonly<Record<string, string>>;
	models: readonly PreparedModel[];
}

export interface GateInput {
	config: Config;
	/** Of the config file's bytes. */
	configSha256: string;
	/** Base first where there is one; head always. */
	arms: readonly ArmFolder[];
	/** Why there is no base, where there is none. */
	noBase?: string;
	notes?: readonly string[];
	/** The head's own config, as written; `config` is the same under the base's rules. */
	headConfig: Config;
	/** Ids of all engines in the head's config, those that this run does not check too. */
	headIds: ReadonlySet<string>;
	/** The base's own config: what its engines are built from and how. Absent where it has none, or none that can be read. */
	baseConfig?: Config;
	/** The config whose rules hold: the base's, or of another base than the target branch's newest commit that branch's. Absent: the head's own. */
	rules?: Config;
	/** Patterns of the engines that this run checks; empty: all. */
	only: readonly string[];
	baseConfigFault?: string;
	outFolder: string;
	isScheduled?: boolean;
	isSoakDue?: boolean;
	/** Ids of the workloads that stand out in the history, which need fresh pairs. */
	suspects?(recorded: RecordedFacts): Promise<readonly string[]>;
	seed: string;
	version: string;
	job?: WorkflowJob;
	/** Awaited before the machine is taken for this run alone. */
	beforeBuild?(known: PreparedRun): Promise<void>;
}

/** Two TensorRTs make two engines of one model. A nightly run builds each side for itself, which shows how much one build differs from the next. */
export function unchangedMode({
	config,
	isScheduled,
}: GateInput): NonNullable<Config["measure"]["unchangedModels"]> {
	if (config.base !== undefined) return "rebuild";
	return config.measure.unchangedModels ?? (isScheduled ? "rebuild" : "skip");
}

/** What the stages have found so far. */
export interface Facts {
	startedAt: string;
	/** The current stage; null after the last. */
	stage: string | null;
	/** The head's recipes under the rules that hold. */
	config: Config;
	counterparts: Counterparts;
	backend: BackendFacts;
	/** Where the base runs on another TensorRT. */
	baseBackend?: BackendFacts;
	environment: Readonly<Record<string, string>>;
	findings: readonly Finding[];
	shapes: ReadonlyMap<string, WorkloadShapes>;
	builds: readonly BuildRecord[];
	golden: readonly GoldenVerdict[];
	interfaceChanges: readonly InterfaceChange[];
	recipeChanges: readonly RecipeChange[];
	/** Cases that the head's goldens lack, by the base's id of the engine. */
	droppedCases: ReadonlyMap<string, readonly string[]>;
	graphCosts: readonly GraphCost[];
	goldenChanges: readonly GoldenChange[];
	/** Goldens whose sensitivity was not tested to the end. */
	untested: readonly { model: string; message: string }[];
	probes: readonly ProbeResult[];
	bisections: readonly Bisection[];
	rows: readonly WorkloadResult[];
	errors: readonly ErrorRecord[];
	/** Sentences about what is degraded or unknown. */
	notes: readonly string[];
	files: Result["files"];
}

export const noFacts = {
	stage: "start",
	counterparts: new Map(),
	environment: {},
	findings: [],
	shapes: new Map(),
	builds: [],
	golden: [],
	interfaceChanges: [],
	recipeChanges: [],
	droppedCases: new Map(),
	graphCosts: [],
	goldenChanges: [],
	untested: [],
	probes: [],
	bisections: [],
	rows: [],
	errors: [],
	notes: [],
	files: [],
};

/** What a stage adds. Lists are appended; a row that is known already takes the place of its former self. */
export type Found = Partial<Facts>;

export function withFound(facts: Facts, { rows = [], ...found }: Found): Facts {
	const added = Object.entries(found).map(([key, value]) => {
		const known = facts[key as keyof Facts];
		return [key, Array.isArray(known) ? [...known, ...((value as unknown[] | undefined) ?? [])] : value];
	});
	const all = new Map([...facts.rows, ...rows].map((row) => [row.id, row]));
	return { ...facts, ...Object.fromEntries(added), rows: [...all.values()] };
}

/** @throws ToolError interrupted. */
export function stopIfInterrupted({ interrupt }: Ports): void {
	const reason = interrupt.reason();
	if (reason === null) return;
	throw new ToolError({
		code: "interrupted",
		message: `The run was ${reason}.`,
		fix: "Run it again; what was measured so far is kept.",
	});
}
