// Plans which defects to try: round after round over all weight tensors, so that a cut anywhere leaves a fair sample.
import { splitMix64 } from "../generators/split-mix.ts";
import { type WeightDefect, type WeightLocation, weightDefectKinds } from "./weights.ts";

export function planDefects(places: readonly WeightLocation[], seed: number): WeightDefect[] {
	const order = shuffledOrder(places.length, seed);
	return weightDefectKinds.flatMap((_, round) =>
		order.flatMap((index, turn): WeightDefect[] => {
			const dims = places[index]?.dims ?? [];
			const kind = weightDefectKinds[(round + turn) % weightDefectKinds.length];
			const axis = dims.findIndex((size) => size > 1);
			if (kind === undefined || (kind.startsWith("row") && axis < 0)) return [];
			const row = splitMix64(seed, [index, 1]).below(dims[axis] ?? 1);
			return [{ index, kind, axis: Math.max(0, axis), row, seed }];
		}),
	);
}

function shuffledOrder(count: number, seed: number): number[] {
	const random = splitMix64(seed, [count]);
	const order = Array.from({ length: count }, (_, index) => index);
	for (let last = count - 1; last > 0; last -= 1) {
		const other = random.below(last + 1);
		[order[last], order[other]] = [order[other] as number, order[last] as number];
	}
	return order;
}
