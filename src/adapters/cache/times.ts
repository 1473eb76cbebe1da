// What the steps of earlier runs took on this machine.
import { createHash } from "node:crypto";
import type { FileCache, KeptTimes } from "../../ports/world.ts";

/** Of the newest; an entry is read whole. */
const maxTimes = 5000;

export function timesStore(store: FileCache): KeptTimes {
	const recall = async (key: string): Promise<Record<string, number>> => readTimes(await store.fetch(nameOf(key), {}));
	return {
		recall,
		async keep(key, times) {
			const earlier = Object.entries(await recall(key)).filter(([step]) => !Object.hasOwn(times, step));
			await store.keep(nameOf(key), { files: {}, facts: Object.fromEntries([...earlier, ...Object.entries(times)].slice(-maxTimes)) });
		},
	};
}

function nameOf(key: string): string {
	return `times-${createHash("sha256").update(key).digest("hex").slice(0, 32)}`;
}

function readTimes(facts: unknown): Record<string, number> {
	if (typeof facts !== "object" || facts === null) return {};
	return Object.fromEntries(Object.entries(facts).filter((entry): entry is [string, number] => Number.isFinite(entry[1]) && entry[1] >= 0));
}
