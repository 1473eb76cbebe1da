// The input of a run, and the facts that its stages find.
import type { RecipeChange, Result, WorkflowJob, WorkloadResult } from "../../generated/result.ts";
import type { Config } from "../core/config/config.ts";
import type { Counterparts } from "../core/config/rules.ts";
import { type ConfigError, ToolError } from "../core/errors.ts";
import type { Arrivals } from "../core/load/queues.ts";
import { optionalLists } from "../core/outcome.ts";
import type { Plan } from "../core/plan/plan.ts";
import type { GoldenSet } from "../golden/stages/load-goldens.ts";
import type { RecordedFacts } from "../history/core/from-result.ts";
import type { Ports } from "../ports/ports.ts";
import type { ArmFolder, Interfaces, PreparedModel } from "../stages/prepared.ts";
import type { WorkloadShapes } from "../stages/workloads.ts";

export interface Prepared {
	models: readonly PreparedModel[];
	goldens: ReadonlyMap<string, GoldenSet>;
	goldenFaults: ReadonlyMap<string, ConfigError>;
	interfaces: Interfaces;
	recipes: readonly RecipeChange[];
	counterparts: Counterparts;
	/** The head's recipes under the base's rules. */
	config: Config;
	arrivals: Arrivals;
	plan: Plan;
}

export interface RunContext {
	prepared: Prepared;
	input: GateInput;
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
	configSha256: string;
	/** Base first; head always. */
	arms: readonly ArmFolder[];
	noBase?: string;
	notes?: readonly string[];
	/** As written; in `config`, the base's rules apply. */
	headConfig: Config;
	headIds: ReadonlySet<string>;
	baseConfig?: Config;
	/** Absent if they are the head's own. */
	rules?: Config;
	/** Patterns; empty for all. */
	only: readonly string[];
	baseConfigFault?: string;
	outFolder: string;
	isScheduled?: boolean;
	isRelease?: boolean;
	/** Ids of workloads that need fresh pairs. */
	suspects?(recorded: RecordedFacts): Promise<readonly string[]>;
	seed: string;
	version: string;
	job?: WorkflowJob;
	/** Awaited before the machine is locked. */
	beforeBuild?(known: PreparedRun): Promise<void>;
}

/** Versions of TensorRT build different engines; nightly runs show how much builds differ. */
export function unchangedMode({
	config,
	isScheduled,
}: GateInput): NonNullable<Config["measure"]["unchangedModels"]> {
	if (config.base !== undefined) return "rebuild";
	return config.measure.unchangedModels ?? (isScheduled ? "rebuild" : "skip");
}

const listKeys = ["findings", "builds", "golden", "errors", "notes", "files", ...optionalLists] as const;

type Lists = Required<Pick<Result, (typeof listKeys)[number]>>;

export interface Facts extends Lists, Pick<Result, "startedAt" | "backend" | "baseBackend"> {
	/** null after the last stage. */
	stage: string | null;
	config: Config;
	counterparts: Counterparts;
	environment: Result["environment"];
	shapes: ReadonlyMap<string, WorkloadShapes>;
	droppedCases: ReadonlyMap<string, readonly string[]>;
	/** Goldens whose sensitivity is not fully tested. */
	untested: readonly { model: string; message: string }[];
	rows: WorkloadResult[];
}

export const noFacts = {
	...(Object.fromEntries(listKeys.map((key) => [key, []])) as unknown as Lists),
	stage: "start",
	environment: {},
	shapes: new Map(),
	droppedCases: new Map(),
	untested: [],
	rows: [],
};

/** Lists are appended; rows replace those of the same id. */
export type Found = { [Key in keyof Facts]?: Readonly<Facts[Key]> };

export function withFound(facts: Facts, { rows = [], ...found }: Found): Facts {
	const added = Object.entries(found).map(([key, value]) => {
		const known = facts[key as keyof Facts];
		return [key, Array.isArray(known) ? [...known, ...((value as unknown[] | undefined) ?? [])] : value];
	});
	const all = new Map([...facts.rows, ...rows].map((row) => [row.id, row]));
	return { ...facts, ...Object.fromEntries(added), rows: [...all.values()] };
}

export function stopIfInterrupted({ interrupt }: Ports): void {
	const reason = interrupt.reason();
	if (reason === null) return;
	throw new ToolError({
		code: "interrupted",
		message: `The run was ${reason}.`,
		fix: "Run it again; what was measured so far is kept.",
	});
}
