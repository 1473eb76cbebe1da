// Tells engines that cannot differ, so that they need not be timed.
import type { Config } from "../core/config/config.ts";
import type { BuiltEngine } from "../ports/backend.ts";

/** Two engines of the same bytes are not timed, and do not share in the error. */
export function isIdentical({ head, base }: { head: BuiltEngine; base?: BuiltEngine }, settings: Config["measure"]): boolean {
	const hash = head.record.engineSha256;
	const isSamePlan = hash !== undefined && hash === base?.record.engineSha256;
	return settings.identicalEngines === "skip" && isSamePlan && pluginsOf(head) === pluginsOf(base);
}

/** A plan only names its plugins: what they do lies in their libraries. */
function pluginsOf(engine: BuiltEngine | undefined): string {
	return (engine?.assets?.plugins ?? []).map(({ sha256 }) => sha256).join();
}
