// Folds gates into the outcome of a run; the lists of a result, and the result of a run that could not start.
import type {
	ArmSource,
	BackendFacts,
	ErrorRecord,
	GateResult,
	Outcome,
	Result,
	WorkflowJob,
} from "../../generated/result.ts";
import { worstOutcome } from "./text/labels.ts";

/** Nothing compared is an error, never a pass. */
export function foldOutcome(gates: readonly GateResult[], errors: readonly ErrorRecord[]): Outcome {
	const isFaulty = errors.some((error) => error.kind !== "github");
	return worstOutcome([...gates.map(({ status }) => status), ...(isFaulty ? (["error"] as const) : [])]);
}

/** A configuration fault comes first, since a retry cannot fix it. */
export function failureKindOf(
	outcome: Outcome,
	errors: readonly ErrorRecord[],
): "runner" | "configuration" | "internal" | undefined {
	if (outcome !== "error") return undefined;
	for (const kind of ["internal", "configuration", "runner"] as const)
		if (errors.some((error) => error.kind === kind)) return kind;
	return "configuration";
}

export function outcomeOf({
	gates,
	errors,
}: Pick<Result, "gates" | "errors">): Pick<Result, "outcome" | "failureKind"> {
	const outcome = foldOutcome(gates, errors);
	return { outcome, failureKind: failureKindOf(outcome, errors) };
}

export const unknownBackend = {
	...{ kind: "tensorrt", name: "TensorRT", version: "unknown", device: "unknown" },
} as const satisfies BackendFacts;

interface KnownBefore {
	version: string;
	startedAt: string;
	configPath: string;
	head: ArmSource;
	run?: WorkflowJob;
	files: Result["files"];
}

export function resultWithoutRun(
	errors: readonly ErrorRecord[],
	{ version, startedAt, configPath, head, run, files }: KnownBefore,
): Result {
	const none = { findings: [], builds: [], golden: [], workloads: [], gates: [], notes: [] };
	return {
		schemaVersion: 1,
		tool: { name: "trtgate", version },
		...outcomeOf({ gates: [], errors: [...errors] }),
		run,
		startedAt,
		durationMs: 0,
		childMs: 0,
		backend: unknownBackend,
		environment: {},
		arms: { base: null, head },
		config: { path: configPath },
		...none,
		errors: [...errors],
		files,
	};
}

/** Left out of the result while they are empty. */
export const optionalLists = [
	"interfaceChanges",
	"recipeChanges",
	"graphCosts",
	"goldenChanges",
	"probes",
	"bisections",
	"sweeps",
	"siblings",
	"startUps",
	"memoryGrowths",
	"loads",
	"measuredLoads",
	"together",
] as const satisfies readonly (keyof Result)[];

export const recordLists = [
	"findings",
	"builds",
	"golden",
	"workloads",
	"gates",
	"errors",
	...optionalLists,
] as const satisfies readonly (keyof Result)[];

type OptionalLists = Pick<Result, (typeof optionalLists)[number]>;

export function filledLists(lists: Required<OptionalLists>): OptionalLists {
	return Object.fromEntries(
		optionalLists.map((key) => [key, lists[key].length === 0 ? undefined : lists[key]]),
	);
}
