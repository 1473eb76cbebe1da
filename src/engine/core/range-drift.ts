// Compares the ranges that two calibrations gave the same tensors.
import type { RangeChange } from "../../../generated/result.ts";

type Ranges = ReadonlyMap<string, number>;

const mostShown = 10;
const factorOf = ({ base, head }: RangeChange) => Math.max(base, head) / Math.min(base, head);

export function rangeDrift(base: Ranges, head: Ranges): { changed: number; drift: RangeChange[] } {
	const changes = [...head].flatMap(([tensor, is]) => {
		const was = base.get(tensor);
		return was === undefined || was === is ? [] : [{ tensor, base: was, head: is }];
	});
	const both = [...head.keys()].filter((tensor) => base.has(tensor)).length;
	const drift = changes.sort((one, other) => (factorOf(one) < factorOf(other) ? 1 : -1)).slice(0, mostShown);
	return { changed: changes.length + base.size + head.size - 2 * both, drift };
}
