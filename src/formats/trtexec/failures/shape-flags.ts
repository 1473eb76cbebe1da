// The input shapes on a trtexec command line, and conflicts in their number of dimensions.
import type { Facts } from "./rule.ts";

const shapeFlags = ["--minShapes", "--optShapes", "--maxShapes", "--shapes"];

interface GivenShape {
	flag: string;
	input: string;
	/** As the command line has it: `1x3x32x32`. */
	shape: string;
	rank: number;
}

/** `name:1x3,other:4`, quoted or not; a name may contain colons. */
export function givenShapes(flags: ReadonlyMap<string, string>): GivenShape[] {
	return shapeFlags.flatMap((flag) =>
		(flags.get(flag) ?? "").split(",").flatMap((entry) => {
			const [, input, shape] = /^\s*(.+):(\d+(?:x\d+)*)\s*$/.exec(entry.replace(/["']/g, "")) ?? [];
			return input === undefined || shape === undefined ? [] : [{ flag, input, shape, rank: shape.split("x").length }];
		}),
	);
}

export interface RankConflict {
	flag: string;
	input: string;
	shape: string;
	got: number;
	/** The expected rank. */
	rank: number;
	/** The flag that the expected rank comes from; empty: the model. */
	by: string;
}

/** The first shape whose rank differs from the model's or, where the model is unknown, from that of most other flags. */
export function rankConflict({ flags, inputRanks }: Pick<Facts, "flags" | "inputRanks">): RankConflict | null {
	const given = givenShapes(flags);
	for (const { flag, input, shape, rank } of given) {
		const same = given.filter((each) => each.input === input);
		const wanted = inputRanks?.get(input) ?? commonRank(same);
		if (rank === wanted) continue;
		const by = inputRanks?.has(input) ? "" : (same.find((each) => each.rank === wanted)?.flag ?? "");
		return { flag, input, shape, got: rank, rank: wanted, by };
	}
	return null;
}

/** On a tie the later flag wins: min is usually the one written by hand. */
function commonRank(shapes: readonly GivenShape[]): number {
	const count = (rank: number): number => shapes.filter((shape) => shape.rank === rank).length;
	return shapes.reduce((best, { rank }) => (count(rank) >= count(best) ? rank : best), shapes[0]?.rank ?? 0);
}
