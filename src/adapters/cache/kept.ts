// What earlier runs on this machine left: golden verdicts, and the time of each step.
import { createHash } from "node:crypto";
import type { GoldenVerdict } from "../../../generated/result.ts";
import { fieldsOf } from "../../core/found.ts";
import type { FileCache, KeptTimes, KeptVerdicts } from "../../ports/world.ts";

function hashOf(key: string): string {
	return createHash("sha256").update(key).digest("hex");
}

export function verdictStore(store: FileCache): KeptVerdicts {
	return {
		async recall(key) {
			const facts = await store.fetch(hashOf(key), {});
			const { key: own, verdicts, at } = fieldsOf(facts);
			// The key holds our own version, so an entry under it has the form that this version writes.
			const isKept = own === key && Array.isArray(verdicts) && typeof at === "string";
			return isKept ? { verdicts: verdicts as GoldenVerdict[], at } : null;
		},
		async keep(key, verdicts, at) {
			await store.keep(hashOf(key), { files: {}, facts: { key, verdicts, at } });
		},
	};
}

/** Only the newest are kept, since an entry is read whole. */
const maxTimes = 5000;

export function timesStore(store: FileCache): KeptTimes {
	const nameOf = (key: string): string => `times-${hashOf(key).slice(0, 32)}`;
	const recall = async (key: string): Promise<Record<string, number>> => {
		const facts = Object.entries(fieldsOf(await store.fetch(nameOf(key), {})));
		return Object.fromEntries(
			facts.flatMap(([step, ms]) => (Number.isFinite(ms) && Number(ms) >= 0 ? [[step, Number(ms)]] : [])),
		);
	};
	return {
		recall,
		async keep(key, times) {
			const earlier = Object.entries(await recall(key)).filter(([step]) => !Object.hasOwn(times, step));
			const all = [...earlier, ...Object.entries(times)].slice(-maxTimes);
			await store.keep(nameOf(key), { files: {}, facts: Object.fromEntries(all) });
		},
	};
}
