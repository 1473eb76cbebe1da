// How often a rule calls a head slower, and what that costs.
import { seededRandom } from "../run-model.ts";
import type { Rule } from "./rules.ts";
import type { World } from "./worlds.ts";

export interface Cell {
	slower: number;
	processes: number;
	gpuSeconds: number;
}

/** FNV-1a: each cell has a seed of its own, whatever else is run. */
function seedOf(text: string): number {
	let state = 0x811c9dc5;
	for (const char of text) state = Math.imul(state ^ (char.codePointAt(0) ?? 0), 0x01000193);
	return state >>> 0;
}

export function score(rule: Rule, at: { world: World; effect: number; replicates: number }): Cell {
	const random = seededRandom(seedOf(`${rule.name} ${at.world.name} ${at.effect}`));
	const sum = { slower: 0, processes: 0, gpuSeconds: 0 };
	for (let replicate = 0; replicate < at.replicates; replicate += 1) {
		const { slower, processes, gpuSeconds } = rule.decide(at.world, at.effect, random);
		sum.slower += Number(slower);
		sum.processes += processes;
		sum.gpuSeconds += gpuSeconds;
	}
	const { replicates } = at;
	return {
		slower: sum.slower / replicates,
		processes: sum.processes / replicates,
		gpuSeconds: sum.gpuSeconds / replicates,
	};
}
