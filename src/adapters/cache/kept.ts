// Golden verdicts of earlier runs on this machine.
import { createHash } from "node:crypto";
import type { GoldenVerdict } from "../../../generated/result.ts";
import { fieldsOf } from "../../core/found.ts";
import type { FileCache, KeptVerdicts } from "../../ports/world.ts";

function hashOf(key: string): string {
	return createHash("sha256").update(key).digest("hex");
}

export function verdictStore(store: FileCache): KeptVerdicts {
	return {
		async recall(key) {
			const facts = await store.fetch(hashOf(key), {});
			const { key: own, verdicts, at } = fieldsOf(facts);
			// The key includes our version, so an entry has the form that this version writes.
			const isKept = own === key && Array.isArray(verdicts) && typeof at === "string";
			return isKept ? { verdicts: verdicts as GoldenVerdict[], at } : null;
		},
		async keep(key, verdicts, at) {
			await store.keep(hashOf(key), { files: {}, facts: { key, verdicts, at } });
		},
	};
}
