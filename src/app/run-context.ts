// What one run is given, what is known before anything is built, and what the stages have found so far.
import type { Config } from "../core/config/config.ts";
import type { ConfigError } from "../core/errors.ts";
import type { Plan } from "../core/plan/plan.ts";
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
	Result,
	WorkloadResult,
} from "../core/schema/result.ts";
import type { Ports } from "../ports/ports.ts";
import type { GoldenSet } from "../stages/load-goldens.ts";
import type { ArmFolder, Interfaces, PreparedModel } from "../stages/prepared.ts";
import type { WorkloadShapes } from "../stages/workloads.ts";

/** What is known before any engine is built. */
export interface Prepared {
	models: readonly PreparedModel[];
	goldens: ReadonlyMap<string, GoldenSet>;
	/** Of the head's engines whose golden cannot be used, by id. */
	goldenFaults: ReadonlyMap<string, ConfigError>;
	interfaces: Interfaces;
	plan: Plan;
}

/** What all stages of a run share. */
export interface RunContext {
	prepared: Prepared;
	input: GateInput;
	facts: Facts;
	ports: Ports;
}

/** A run whose models are ready, before the first engine is built. */
export interface PreparedRun {
	config: Config;
	fingerprint: Readonly<Record<string, string>>;
	/** Of both sides. */
	models: readonly PreparedModel[];
}

/** What one run is given. */
export interface GateInput {
	config: Config;
	/** Of the config file's bytes. */
	configSha256: string;
	/** Base first where there is one; head always. */
	arms: readonly ArmFolder[];
	/** Why there is no base, where there is none. */
	noBase?: string | undefined;
	/** Sentences about how the sides were opened. */
	notes?: readonly string[];
	/** The base's own config, to notice lowered limits and lost coverage; absent where it has none. */
	baseConfig?: Config;
	/** Why the base's config cannot be read, where it has one. */
	baseConfigFault?: string;
	/** Absolute. */
	outFolder: string;
	/** A schedule started the run, so nightly work is due. */
	isScheduled?: boolean;
	/** Engines are kept under load for `measure.soak`. */
	isSoakDue?: boolean;
	/** Ids of the workloads that stand out in the history, which need fresh pairs. */
	suspects?(result: Result): Promise<readonly string[]>;
	/** Decides the order of the timed runs. */
	seed: string;
	version: string;
	/** Awaited before the machine is taken for this run alone. */
	beforeBuild?: ((known: PreparedRun) => Promise<void>) | undefined;
}

/** Two TensorRTs make two engines of one model. A nightly run builds each side for itself, which shows how much one build differs from the next. */
export function unchangedMode({ config, isScheduled }: GateInput): NonNullable<Config["measure"]["unchangedModels"]> {
	if (config.base !== undefined) return "rebuild";
	return config.measure.unchangedModels ?? (isScheduled ? "rebuild" : "skip");
}

/** What the stages have found so far. */
export interface Facts {
	startedAt: string;
	startedMs: number;
	/** The current stage; null after the last. */
	stage: string | null;
	backend: BackendFacts;
	/** Where the base runs on another TensorRT. */
	baseBackend?: BackendFacts;
	environment: Readonly<Record<string, string>>;
	findings: Finding[];
	shapes: ReadonlyMap<string, WorkloadShapes>;
	builds: BuildRecord[];
	golden: GoldenVerdict[];
	interfaceChanges: readonly InterfaceChange[];
	graphCosts: readonly GraphCost[];
	goldenChanges: GoldenChange[];
	/** Goldens whose sensitivity was not tested to the end. */
	untested: { model: string; message: string }[];
	probes: ProbeResult[];
	bisections: Bisection[];
	rows: WorkloadResult[];
	errors: ErrorRecord[];
	/** Sentences about what is degraded or unknown. */
	notes: string[];
	/** Written by profilers. */
	files: Result["files"];
}

export function emptyFacts(start: Pick<Facts, "startedAt" | "startedMs" | "backend" | "baseBackend">): Facts {
	return {
		...start,
		stage: "start",
		environment: {},
		findings: [],
		shapes: new Map(),
		builds: [],
		golden: [],
		interfaceChanges: [],
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
}
