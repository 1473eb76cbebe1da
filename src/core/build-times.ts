// Tells build times that were measured in this run from those of engines out of the cache.
import type { BuildRecord } from "./schema/result.ts";

/** Why the build times of two arms are not comparable; null where both were built in this run. */
export function buildTimesApart({ base, head }: { base?: BuildRecord | null; head?: BuildRecord | null }): string | null {
	const cached = [base, head].flatMap((build) => (build?.state === "built" && build.fromCache === true ? [build.arm] : []));
	if (cached.length === 0 || base?.state !== "built" || head?.state !== "built") return null;
	const whose = cached.length === 2 ? "both engines come" : `the ${cached[0]}'s engine comes`;
	return `Build times are not comparable: ${whose} from the engine cache, and the time is that of an earlier run.`;
}
