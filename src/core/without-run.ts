// The result of a run that could not start: its errors, and nothing else.
import { mergeBackends } from "./merge/join.ts";
import { failureKindOf, foldOutcome } from "./outcome.ts";
import type { ArmSource, ErrorRecord, Result } from "./schema/result.ts";

export interface KnownBefore {
	version: string;
	/** ISO 8601, UTC. */
	startedAt: string;
	configPath: string;
	head: ArmSource;
}

/** @param errors at least one. */
export function resultWithoutRun(errors: readonly ErrorRecord[], { version, startedAt, configPath, head }: KnownBefore): Result {
	const outcome = foldOutcome([], errors);
	const failureKind = failureKindOf(outcome, errors);
	return {
		schemaVersion: 2,
		tool: { name: "trtgate", version },
		outcome,
		...(failureKind === undefined ? {} : { failureKind }),
		...{ startedAt, durationMs: 0, childMs: 0 },
		backend: mergeBackends([]),
		environment: {},
		arms: { base: null, head },
		config: { path: configPath },
		...{ findings: [], builds: [], golden: [], workloads: [], gates: [] },
		errors: [...errors],
		...{ notes: [], files: [] },
	};
}
