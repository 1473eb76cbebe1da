// Failures of shapes and optimization profiles.
import type { Facts, Rules } from "./rule.ts";

const outOfOrder = /MIN\s*<=\s*OPT\s*<=\s*MAX/;
const invalidProfile = [
	/Required optimization profile is invalid/,
	/\bprofile \d+\b.*\bdim(?:ension)?s?\b/i,
	/\bdim(?:ension)?s?\b.*\bprofile \d+\b/i,
];

const wrongRank = {
	title:
		"{flag|A profile} gives {input: input} {got|the wrong number of} dimensions {shape}, but {by|the model's input has} {rank|another number}.",
	fix: "Give every dimension of the input, including the batch, in each of min, opt and max. `trtgate preflight MODEL` lists the inputs.",
};

export const profileRules: Rules = {
	"profile-order": {
		lines: outOfOrder,
		when: (facts) => rankConflict(facts) === null,
		title: "An optimization profile is out of order: every dimension needs min ≤ opt ≤ max.",
		fix: "Correct min, opt and max of the dimension in `dims`.",
	},
	"profile-axis-mismatch": {
		lines:
			/Dimension mismatch for tensor (?<input>.+) and profile \d+\. At dimension axis (?<axis>\d+), .*but tensor has (?<size>-?\d+)/,
		title: "The profile of {input: input} varies axis {axis}, which is fixed at {size} in the model.",
		fix: "Use the model's size for that axis, or export the model with a dynamic axis.",
	},
	"profile-rank-mismatch": [
		{
			lines: [outOfOrder, ...invalidProfile],
			when: (facts) => rankConflict(facts) !== null,
			names: (facts) => rankConflict(facts) ?? {},
			...wrongRank,
		},
		{
			lines: [
				/(?:^|[\s(])(?<input>[^\s(]+): number of dimensions is (?<rank>\d+) but profile \d+ has (?<got>\d+)/,
				/Error in set dimensions to profile (?:MIN|OPT|MAX)/,
				/(?:number of dimensions|rank|nbDims)\b.*\bprofile/i,
				/profile\b.*\b(?:number of dimensions|rank|nbDims)\b/i,
			],
			names: (facts) => rankConflict(facts) ?? onlyShape(facts),
			...wrongRank,
		},
	],
	"profile-missing": {
		lines: [
			/no optimization profile has been defined/,
			/dynamic input is missing dimensions in profile/,
			/Found invalid or missing shape spec at profile index \d+/,
		],
		title: "A dynamic input of the model has no shape in an optimization profile.",
		fix: "Give min, opt and max for each dynamic input in `dims`, and check the spelling of the input names.",
	},
	"profile-shape-values": {
		lines: /missing values for shape input/,
		title: "An input of the model is a shape tensor, and the profile gives no values for it.",
		fix: "Make the shape tensor a constant in the export, or give its values in min, opt and max.",
	},
	"profile-violates-constraints": {
		lines: /k?(?<which>MIN|OPT|MAX) values for profile \d+ violate shape constraints/,
		title: "The model cannot run at the profile's {which} shape: a reshape or concatenation inside it fails.",
		fix: "Run that shape in ONNX Runtime to find the node, then correct the profile or the model.",
	},
	"profile-index": {
		lines: /Selected profile index (?<index>\d+) exceeds/,
		title: "The run selects optimization profile {index}, which the engine does not have.",
		fix: "Build the engine with that profile, or select one that it has.",
	},
	"shape-name-unknown": {
		lines: /Cannot find input tensor with name "(?<input>[^"]*)" in the network inputs/,
		title: "A shape was given for {input: input}, but the model has no such input.",
		fix: "Use the input's name from the ONNX file; `trtgate preflight MODEL` lists the inputs.",
	},
	"shape-on-static-model": {
		lines: /Static model does not take explicit shapes/,
		title: "A shape was given for a model whose shapes are all fixed.",
		fix: "Remove the sizes from `dims`, or export the model with a dynamic dimension.",
	},
	"shape-outside-profile": {
		lines: [
			/Set dimension (?<shape>\[[^\]]*\]) for tensor (?<input>.+) does not satisfy any optimization profile/,
			/[Rr]untime dimension does not satisfy any optimization profile/,
			/Supplied binding dimension .* exceed min ~ max range/,
			/satisfyProfile/,
		],
		title: "The shape {shape} of {input: input} lies outside the engine's optimization profile.",
		fix: "Widen the profile (max of the dimension) and build again, or run a workload inside it.",
	},
	"shape-static-mismatch": {
		lines: [
			/Static dimension mismatch while setting input shape/,
			/engine was built with static shapes for input tensor (?<input>.+) but the provided shapes do not match/,
		],
		title: "The run gives {input: input} a shape that differs from the engine's in a fixed dimension.",
		fix: "Run with the shape used in the build, or build with a profile that covers both.",
	},
	"profile-invalid": {
		rank: "symptom",
		lines: invalidProfile,
		title: "TensorRT rejected an optimization profile.",
		fix: "Give min, opt and max of each dynamic input as many dimensions as the model, with min ≤ opt ≤ max.",
	},
	"network-setup-failed": {
		rank: "fallback",
		lines: /Network And Config setup failed/,
		title: "TensorRT rejected the build settings for an unknown reason.",
		fix: "Read the lines below. Check the shapes, formats and precision of the build.",
	},
};

interface GivenShape {
	flag: string;
	input: string;
	shape: string;
	rank: number;
}

/** `name:1x3,other:4`, quoted or not; a name may contain colons. */
export function givenShapes(flags: ReadonlyMap<string, string>): GivenShape[] {
	return ["--minShapes", "--optShapes", "--maxShapes", "--shapes"].flatMap((flag) =>
		(flags.get(flag) ?? "").split(",").flatMap((entry) => {
			const [, input, shape] = /^\s*(.+):(\d+(?:x\d+)*)\s*$/.exec(entry.replace(/["']/g, "")) ?? [];
			return input === undefined || shape === undefined
				? []
				: [{ flag, input, shape, rank: shape.split("x").length }];
		}),
	);
}

/** The only input that the command line gives a shape; the log may omit its name. */
function onlyShape({ flags }: Facts) {
	const given = givenShapes(flags);
	const [first] = given;
	if (first === undefined || given.some(({ input, rank }) => input !== first.input || rank !== first.rank))
		return {};
	const flag = [...new Set(given.map((each) => each.flag))].join(", ");
	return { input: first.input, flag, shape: `(${first.shape})` };
}

/** The first shape whose rank differs from the model's, or if that is unknown from that of most flags. */
function rankConflict({ flags, model }: Facts) {
	const given = givenShapes(flags);
	for (const { flag, input, shape, rank } of given) {
		const same = given.filter((each) => each.input === input);
		const wanted = model?.inputRanks.get(input) ?? commonRank(same);
		if (rank === wanted) continue;
		const other = model?.inputRanks.has(input) ? undefined : same.find((each) => each.rank === wanted);
		const by = other && `${other.flag} gives it`;
		return { flag, input, shape: `(${shape})`, got: String(rank), rank: String(wanted), by };
	}
	return null;
}

/** On a tie the later flag wins: min is usually the one written by hand. */
function commonRank(shapes: readonly GivenShape[]) {
	const count = (rank: number) => shapes.filter((shape) => shape.rank === rank).length;
	return shapes.reduce((best, { rank }) => (count(rank) >= count(best) ? rank : best), shapes[0]?.rank ?? 0);
}
