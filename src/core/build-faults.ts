// Separates builds that the machine failed from those that the model or config failed.
import type { BuildRecord, ErrorRecord } from "../../generated/result.ts";

const limits: ReadonlySet<string> = new Set(["ort-out-of-memory"]);

export function settleBuilds(builds: readonly BuildRecord[]): BuildRecord[] {
	return builds.map((build) => {
		const other = builds.find(
			({ model, engine, arm }) => model === build.model && engine === build.engine && arm !== build.arm,
		);
		return build.failure !== undefined && hitSameLimit(build, other)
			? { ...build, failure: { ...build.failure, kind: "runner" } }
			: build;
	});
}

export function hitSameLimit(build: BuildRecord, other: BuildRecord | undefined): boolean {
	if (build.state !== other?.state) return false;
	return (
		build.state === "timed-out" ||
		(limits.has(build.failure?.code ?? "") && build.failure?.code === other.failure?.code)
	);
}

export function buildFaults(builds: readonly BuildRecord[]): ErrorRecord[] {
	const faults = new Map<string, ErrorRecord>();
	for (const { failure, model, engine, arm, log } of builds) {
		if (failure?.kind !== "runner") continue;
		const { code, title, fix, excerpt } = failure;
		const key = JSON.stringify([model, engine, code, title]);
		faults.set(key, { kind: "runner", code, message: title, fix, excerpt, model, engine, arm, log });
	}
	return [...faults.values()];
}

const isOtherStart = (base: BuildRecord, head: BuildRecord) =>
	base.recipe?.["tensorrt"] !== head.recipe?.["tensorrt"] && base.hadKernelTimings !== head.hadKernelTimings;

export function buildTimesApart({
	base,
	head,
}: {
	base?: BuildRecord | null;
	head?: BuildRecord | null;
}): string | null {
	if (base?.state === "built" && head?.state === "built" && isOtherStart(base, head))
		return "Build times are not comparable: no version reads another's timing cache, and only one side had kernel timings of earlier builds.";
	const cached = [base, head].flatMap((build) =>
		build?.state === "built" && build.fromCache === true ? [build.arm] : [],
	);
	if (
		head?.sharedWithBase === true ||
		cached.length === 0 ||
		base?.state !== "built" ||
		head?.state !== "built"
	)
		return null;
	const whose = cached.length === 2 ? "both engines come" : `the ${cached[0]}'s engine comes`;
	return `Build times are not comparable: ${whose} from the engine cache, and the time is that of an earlier run.`;
}
