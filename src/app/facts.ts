// What a run has found out so far: filled by the stages in order, so that a run that ends early still has a result.
import type {
	BackendFacts,
	BuildRecord,
	ErrorRecord,
	Finding,
	GoldenChange,
	GoldenVerdict,
	ProbeResult,
	Result,
	WorkloadResult,
} from "../core/schema/result.ts";
import type { WorkloadShapes } from "../stages/shape.ts";

export interface Facts {
	startedAt: string;
	startedMs: number;
	/** The stage at work; null after the last. */
	stage: string | null;
	backend: BackendFacts;
	environment: Readonly<Record<string, string>>;
	findings: Finding[];
	shapes: ReadonlyMap<string, WorkloadShapes>;
	builds: BuildRecord[];
	golden: GoldenVerdict[];
	goldenChanges: GoldenChange[];
	probes: ProbeResult[];
	rows: WorkloadResult[];
	errors: ErrorRecord[];
	/** Sentences about what was degraded or is unknown. */
	notes: string[];
	/** What profiles left behind. */
	files: Result["files"];
}

export function emptyFacts(start: { startedAt: string; startedMs: number; backend: BackendFacts }): Facts {
	return {
		...start,
		stage: "start",
		environment: {},
		findings: [],
		shapes: new Map(),
		builds: [],
		golden: [],
		goldenChanges: [],
		probes: [],
		rows: [],
		errors: [],
		notes: [],
		files: [],
	};
}
