// Golden verdicts of earlier runs on this machine.
import { createHash } from "node:crypto";
import type { GoldenVerdict } from "../../core/schema/result.ts";
import type { FileCache, KeptVerdicts } from "../../ports/world.ts";

export function verdictStore(store: FileCache): KeptVerdicts {
	return {
		async recall(key) {
			const facts = await store.fetch(nameOf(key), {});
			return isKept(facts) && facts.key === key ? { verdicts: facts.verdicts, at: facts.at } : null;
		},
		async keep(key, verdicts, at) {
			await store.keep(nameOf(key), { files: {}, facts: { key, verdicts, at } });
		},
	};
}

function nameOf(key: string): string {
	return createHash("sha256").update(key).digest("hex");
}

/** The key holds our own version, so an entry under it has the form that this version writes. */
function isKept(facts: unknown): facts is { key: string; verdicts: GoldenVerdict[]; at: string } {
	return (
		typeof facts === "object" &&
		facts !== null &&
		"verdicts" in facts &&
		Array.isArray(facts.verdicts) &&
		"at" in facts &&
		typeof facts.at === "string"
	);
}
