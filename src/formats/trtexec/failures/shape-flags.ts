// The shapes that a command line gives the inputs, and where their number of dimensions cannot be right.
import type { Facts } from "./rule.ts";

const shapeFlags = ["--minShapes", "--optShapes", "--maxShapes", "--shapes"];

interface GivenShape {
	flag: string;
	input: string;
	/** As the command line has it: `1x3x32x32`. */
	shape: string;
	rank: number;
}

/** `name:1x3,other:4`, names and all in quotes or not; a name may hold colons. */
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
	/** What it has to be. */
	rank: number;
	/** The flag that says so; empty: the model. */
	by: string;
}

/** The first shape whose rank is not the model's; where the model is not known, not that of most other flags. */
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

/** Of two that disagree, the later: min is mostly the one that was written by hand. */
function commonRank(shapes: readonly GivenShape[]): number {
	const count = (rank: number): number => shapes.filter((shape) => shape.rank === rank).length;
	return shapes.reduce((best, { rank }) => (count(rank) >= count(best) ? rank : best), shapes[0]?.rank ?? 0);
}
