// Keys of shared caches, and which runs may write them.
import type { RunEvent } from "./event.ts";
import { slug } from "./names.ts";

const version = "v1";
const maxPrefixChars = 400;

export type CacheKind = "timing" | "engines";

/** `trtgate-timing-v1-Linux-NVIDIA-H200-580.159.03-10.15.1-`; null if something is unknown. */
export function cachePrefix(kind: CacheKind, fingerprint: Readonly<Record<string, string>>): string | null {
	const part = (name: string): string =>
		Object.hasOwn(fingerprint, name) ? slug(fingerprint[name] ?? "") : "";
	const [os, gpu, tensorrt] = [part("os"), part("gpu"), part("tensorrt")];
	const driver = part("driver") || part("driverBranch");
	if ([os, gpu, tensorrt, driver].includes("")) return null;
	const mig = part("mig");
	const parts = [
		"trtgate",
		kind,
		version,
		os,
		part("arch"),
		gpu,
		mig === "" || /^(disabled|n-?a)$/i.test(mig) ? "" : mig,
		driver,
		tensorrt,
	];
	return `${parts
		.filter((one) => one !== "")
		.join("-")
		.slice(0, maxPrefixChars)}-`;
}

/** Outsiders can trigger these, and they run in the default branch's context. */
const untrustedEvents: ReadonlySet<string> = new Set([
	"pull_request_target",
	"workflow_run",
	"issue_comment",
	"issues",
	"discussion",
	"discussion_comment",
	"fork",
	"watch",
]);

/** null if it may. */
export function cacheWriteRefusal(
	event: RunEvent,
	{ eventName, cacheMode }: { eventName: string; cacheMode?: string | undefined },
): string | null {
	if (event.kind === "pull-request" && event.isFork) return "the change comes from a fork";
	if (isUntrustedRun(event, eventName)) return `a run for ${eventName} may be caused by anyone`;
	if (event.kind === "other") return "the event of this run is not known";
	return cacheMode === "read" || cacheMode === "none"
		? "the token of this run may not write to the cache"
		: null;
}

/** Its files must be kept apart from those that others trust. */
export function isUntrustedRun(event: RunEvent, eventName: string): boolean {
	const isForeign = event.kind === "workflow-run" || (event.kind === "pull-request" && event.isFork);
	return isForeign || untrustedEvents.has(eventName);
}
