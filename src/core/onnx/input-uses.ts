// What one node that reads an input says of its values, and where it hands them on.
import type { OnnxDim, OnnxNode } from "./model.ts";
import { integerAttribute } from "./static-shapes/operator.ts";
import { type Constants, constantNamed, type Scope } from "./walk.ts";

const passing = new Set(
	(
		"Cast Identity Reshape Unsqueeze Squeeze Flatten Transpose Expand Tile Slice Split Gather GatherElements GatherND Pad Dropout " +
		"ReduceMax ReduceMin ScatterElements ScatterND Clip Min Max Mod Add Sub Mul Concat Where"
	).split(" "),
);
const lookups: ReadonlyMap<string, readonly { indices: number; table: number }[]> = new Map([
	["Gather", [{ indices: 1, table: 0 }]],
	["GatherElements", [{ indices: 1, table: 0 }]],
	["GatherBlockQuantized", [{ indices: 1, table: 0 }]],
	[
		"EmbedLayerNormalization",
		[
			{ indices: 0, table: 2 },
			{ indices: 1, table: 4 },
		],
	],
]);
const comparisons = new Set(["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]);
const recurrent = new Set(["LSTM", "GRU", "RNN"]);

const sizePlaces: ReadonlyMap<string, readonly number[]> = new Map([
	["Resize", [2, 3]],
	["Range", [0, 1, 2]],
	...["Reshape", "Expand", "Tile", "Upsample", "TopK", "Pad"].map((op): [string, number[]] => [op, [1]]),
	...["ConstantOfShape", "Loop"].map((op): [string, number[]] => [op, [0]]),
]);

export interface Evidence {
	tables: { low: number; high: number; why: string }[];
	bounds: { low: number; high: number; why: string }[];
	compared: number[];
	isReadOtherwise: boolean;
	isState: boolean;
	isLength: boolean;
	isSize: boolean;
	rowsOf: { axis: string; shift: number } | null;
}

export interface Walk {
	/** Tensors that hold the input's values, plus a constant; or what comparing them gave, as answers or as 0 and 1. */
	carriers: Map<string, number | "answer">;
	evidence: Evidence;
	constants: Constants;
	shapeOf(scope: Scope, name: string): readonly OnnxDim[] | null;
}

/** One place at which a node reads the values, moved by `shift`. */
interface Use {
	node: OnnxNode;
	scope: Scope;
	walk: Walk;
	place: number;
	shift: number;
}

export function readNode(node: OnnxNode, scope: Scope, walk: Walk): void {
	for (const [place, name] of node.inputs.entries()) {
		const shift = walk.carriers.get(name);
		if (shift === undefined || node.op === "Shape" || node.op === "Size") continue;
		if (shift === "answer") {
			if (answering.has(node.op)) handOn(node, "answer", walk);
		} else if (!isUnderstood({ node, scope, walk, place, shift })) walk.evidence.isReadOtherwise = true;
	}
}

const answering = new Set(["Not", "And", "Or", "Cast", "Identity"]);

function isUnderstood(use: Use): boolean {
	const { node, place, walk } = use;
	const lookup = lookups.get(node.op)?.find(({ indices }) => indices === place);
	if (lookup !== undefined) return noteTable(use, lookup.table);
	if (node.op === "OneHot" && place === 0) return noteDepth(use);
	if (comparisons.has(node.op)) return noteComparison(use);
	if (sizePlaces.get(node.op)?.includes(place) === true) {
		walk.evidence.isSize = true;
		return true;
	}
	if (recurrent.has(node.op) && place >= 4 && place <= 6) {
		walk.evidence[place === 4 ? "isLength" : "isState"] = true;
		return true;
	}
	if (!passing.has(node.op) || !isHandedOn(node.op, place)) return false;
	const moved = arithmetic[node.op]?.(use, only(numbersAt(use, 1 - place))) ?? use.shift;
	if (moved === "nothing") return true;
	if (moved === "unknown") return false;
	handOn(node, moved, walk);
	return true;
}

function handOn({ outputs }: OnnxNode, shift: number | "answer", { carriers }: Walk): void {
	for (const output of outputs) {
		const other = carriers.get(output);
		if (typeof shift !== "number" || typeof other !== "number" || Math.abs(shift) < Math.abs(other))
			carriers.set(output, shift);
	}
}

function isHandedOn(op: string, place: number): boolean {
	if (op === "Where") return place > 0;
	return place === 0 || ["Concat", "Min", "Max", "Add", "Sub", "Mul"].includes(op);
}

function noteTable({ node, scope, walk, shift }: Use, place: number): boolean {
	const dims = walk.shapeOf(scope, node.inputs[place] ?? "");
	const axis = integerAttribute(node, node.op === "GatherBlockQuantized" ? "gather_axis" : "axis", 0);
	const rows = dims?.[axis < 0 ? axis + dims.length : axis];
	if (typeof rows === "string") walk.evidence.rowsOf = { axis: rows, shift };
	if (typeof rows !== "number" || rows < 1) return typeof rows === "string";
	walk.evidence.tables.push({
		low: 0 - shift,
		high: rows - 1 - shift,
		why: `the model looks it up in a table of ${rows}`,
	});
	return true;
}

function noteDepth(use: Use): boolean {
	const depth = numbersAt(use, 1)?.[0];
	if (depth === undefined || depth < 1) return false;
	use.walk.evidence.tables.push({
		low: 0 - use.shift,
		high: depth - 1 - use.shift,
		why: `the model makes a one-hot of ${depth} of it`,
	});
	return true;
}

/** Compared with many numbers at once, as a one-hot is written without OneHot; or with a single one. */
function noteComparison({ node, scope, walk, place, shift }: Use): boolean {
	const constant = constantNamed(walk.constants, scope, node.inputs[1 - place]);
	const elements = constant?.dims.reduce((product, size) => product * size, 1) ?? 0;
	handOn(node, "answer", walk);
	if (constant === null || elements === 0) return false;
	const { values } = constant;
	if (elements > 2 && node.op === "Equal") {
		const [low, high] = values === undefined ? [0, elements - 1] : [Math.min(...values), Math.max(...values)];
		walk.evidence.bounds.push({
			low: low - shift,
			high: high - shift,
			why: `the model compares it with ${elements} numbers`,
		});
	} else {
		const numbers = (values ?? []).filter(Number.isFinite).map((value) => value - shift);
		// A limit on many numbers: one that lets all of them pass.
		const pass = (place === 1) === node.op.startsWith("Greater") ? Math.min : Math.max;
		walk.evidence.compared.push(
			...(node.op === "Equal" || numbers.length < 2 ? numbers : [pass(...numbers)]),
		);
	}
	return true;
}

type Arithmetic = (use: Use, other: number | undefined) => number | "nothing" | "unknown";

/** By how much the values are moved on from the input's, where the other operand is this number. */
const arithmetic: Readonly<Record<string, Arithmetic>> = {
	// A product with zero is how exporters keep an input that nothing reads; one with an answer keeps the values or drops them, as Where would.
	Mul: ({ node, walk, shift }, other) => {
		if (node.inputs.some((name) => walk.carriers.get(name) === "answer")) return shift;
		return other === 0 ? "nothing" : "unknown";
	},
	Add: ({ node, walk, shift }, other) => {
		const chosen = node.inputs.every((name) => typeof walk.carriers.get(name) === "number");
		return other !== undefined ? shift + other : chosen ? shift : "unknown";
	},
	Sub: ({ shift, place }, other) => (other === undefined || place === 1 ? "unknown" : shift - other),
	Min: (use, other) => bounded(use, Number.NEGATIVE_INFINITY, other ?? Number.POSITIVE_INFINITY),
	Max: (use, other) => bounded(use, other ?? Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY),
	Mod: (use, other) => (other === undefined || other < 1 ? use.shift : bounded(use, 0, other - 1)),
	// Its ends are inputs, or attributes before opset 11.
	Clip: (use) => {
		const attribute = (name: string): number | null => {
			const value = use.node.attributes.find((one) => one.name === name)?.value;
			return typeof value === "number" ? value : null;
		};
		const low = numbersAt(use, 1)?.[0] ?? attribute("min") ?? Number.NEGATIVE_INFINITY;
		return bounded(use, low, numbersAt(use, 2)?.[0] ?? attribute("max") ?? Number.POSITIVE_INFINITY);
	},
};

function bounded({ walk, shift }: Use, low: number, high: number): number {
	if (low <= high)
		walk.evidence.bounds.push({ low: low - shift, high: high - shift, why: "the model limits it to this" });
	return shift;
}

function only(numbers: readonly number[] | undefined): number | undefined {
	return numbers?.length === 1 ? numbers[0] : undefined;
}

function numbersAt({ node, scope, walk }: Use, place: number): readonly number[] | undefined {
	return constantNamed(walk.constants, scope, node.inputs[place])?.values;
}
