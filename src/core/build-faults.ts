// Tells a build that the machine spoiled from one that the model or the config did not deserve.
import type { BuildRecord, ErrorRecord } from "./schema/result.ts";

/** Failures that mean either a model that asks for too much or a machine that has too little: the base tells which. */
const limits: ReadonlySet<string> = new Set(["ort-out-of-memory"]);

/** Where base and head run into the same limit, the change did not cause it: the machine is at fault in both. */
export function settleBuilds(builds: readonly BuildRecord[]): BuildRecord[] {
	return builds.map((build) => {
		const other = builds.find(({ model, engine, arm }) => model === build.model && engine === build.engine && arm !== build.arm);
		return build.failure !== undefined && hitSameLimit(build, other) ? { ...build, failure: { ...build.failure, kind: "runner" } } : build;
	});
}

export function hitSameLimit(build: BuildRecord, other: BuildRecord | undefined): boolean {
	if (build.state !== other?.state) return false;
	return build.state === "timed-out" || (limits.has(build.failure?.code ?? "") && build.failure?.code === other.failure?.code);
}

/** A build that the machine spoiled is no verdict on the model: it is worth a retry. Told once where both arms say the same. */
export function buildFaults(builds: readonly BuildRecord[]): ErrorRecord[] {
	const faults = new Map<string, ErrorRecord>();
	for (const { failure, model, engine, arm, log } of builds) {
		if (failure?.kind !== "runner") continue;
		const { code, title, fix, excerpt } = failure;
		const key = JSON.stringify([model, engine, code, title]);
		faults.set(key, { kind: "runner", code, message: title, fix, excerpt, model, engine, arm, ...(log === undefined ? {} : { log }) });
	}
	return [...faults.values()];
}
