// Finds the values that an input may hold from how the model uses them.
import type { OnnxDim, OnnxModel, OnnxNode } from "./model.ts";
import { factsOf } from "./static-shapes/infer.ts";
import { attributeOf, elementsOf, forEach, integerAttribute } from "./static-shapes/operator.ts";
import { type Constants, foundIn, nodesInRunOrder, type Scope } from "./walk.ts";

export type InputValues =
	| { kind: "range"; low: number; high: number; why: string }
	| { kind: "choice"; values: readonly number[]; only: boolean; why: string }
	/** Size: of what the model makes, or how often it runs. */
	| { kind: "unused" | "state" | "length" | "size" | "unknown" }
	| { kind: "rows"; axis: string; shift: number };

type Range = Omit<Extract<InputValues, { kind: "range" }>, "kind">;

interface Walk {
	/** Tensors that hold the values plus a number, or answers about them. */
	carriers: Map<string, number | "answer">;
	tables: Range[];
	bounds: Range[];
	compared: number[];
	seen: Set<"unknown" | "state" | "length" | "size">;
	rowsOf: { axis: string; shift: number } | null;
	constants: Constants;
	shapeOf(scope: Scope, name: string): readonly OnnxDim[] | null;
}

export function valuesOfInputs(model: OnnxModel, inputs: readonly string[]): Map<string, InputValues> {
	const { scopes, constants, static: known } = factsOf(model);
	const shapeOf: Walk["shapeOf"] = (scope, name) =>
		foundIn(constants, scope, name)?.dims ?? known.shapes.get(name) ?? null;
	const walks = new Map(
		inputs.map((input): [string, Walk] => {
			const carriers = new Map([[input, 0]]);
			const found = { tables: [], bounds: [], compared: [], seen: new Set<never>(), rowsOf: null };
			return [input, { ...found, carriers, constants, shapeOf }];
		}),
	);
	const carried = new Map([...walks].map(([input, walk]) => [input, new Set([walk])]));
	for (const scope of scopes) {
		if (scope.kind === "function") continue;
		for (const node of nodesInRunOrder(scope)) follow(node, scope, carried);
		for (const name of scope.outputs)
			for (const { carriers, seen } of carried.get(name) ?? [])
				if (typeof carriers.get(name) === "number") seen.add("unknown");
	}
	return new Map([...walks].map(([input, walk]) => [input, conclude(walk)]));
}

function follow(node: OnnxNode, scope: Scope, carried: Map<string, Set<Walk>>) {
	for (const walk of new Set(node.inputs.flatMap((name) => [...(carried.get(name) ?? [])]))) {
		if (node.op !== "Shape" && node.op !== "Size") readNode(node, scope, walk);
		for (const output of node.outputs)
			if (walk.carriers.has(output)) carried.set(output, (carried.get(output) ?? new Set()).add(walk));
	}
}

function readNode(node: OnnxNode, scope: Scope, walk: Walk) {
	for (const [place, name] of node.inputs.entries()) {
		const shift = walk.carriers.get(name);
		if (shift === "answer" && answering.has(node.op)) handOn(node, "answer", walk);
		if (typeof shift === "number" && !isUnderstood({ node, scope, walk, place, shift }))
			walk.seen.add("unknown");
	}
}

function conclude({ tables, bounds, compared, seen, rowsOf }: Walk): InputValues {
	const found = narrowest(tables) ?? narrowest(bounds);
	if (found !== null) return { kind: "range", ...found };
	for (const kind of ["state", "length", "size"] as const) if (seen.has(kind)) return { kind };
	if (rowsOf !== null) return { kind: "rows", ...rowsOf };
	const values = [...new Set(compared)];
	if (values.length === 0) return { kind: seen.has("unknown") ? "unknown" : "unused" };
	const why = `the model compares it with ${values.slice(0, 4).join(" and ")}`;
	return { kind: "choice", values, only: !seen.has("unknown"), why };
}

function narrowest(ranges: readonly Range[]) {
	const [first] = ranges;
	if (first === undefined) return null;
	const low = Math.max(...ranges.map((range) => range.low));
	const high = Math.min(...ranges.map((range) => range.high));
	const why = ranges.find((range) => range.high === high)?.why ?? first.why;
	const found = low <= high ? { low, high, why } : first;
	return Number.isFinite(found.low) && Number.isFinite(found.high) ? found : null;
}

// Finds what a node that reads the values says about them, and where it passes them on.

const answering = new Set(["Not", "And", "Or", "Cast", "Identity"]);
const joining = new Set(["Concat", "Min", "Max", "Add", "Sub", "Mul"]);
const passing = new Set([
	...joining,
	...(
		"Cast Identity Reshape Unsqueeze Squeeze Flatten Transpose Expand Tile Slice Split Gather GatherElements GatherND Pad " +
		"Dropout ReduceMax ReduceMin ScatterElements ScatterND Clip Mod Where"
	).split(" "),
]);
const comparisons = new Set(["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]);

/** By operator: inputs that are indices, and those that they look up. */
const tablesOf: Readonly<Record<string, Readonly<Record<number, number>>>> = {
	Gather: { 1: 0 },
	GatherElements: { 1: 0 },
	GatherBlockQuantized: { 1: 0 },
	EmbedLayerNormalization: { 0: 2, 1: 4 },
};

/** By operator: inputs that are sizes, lengths of sequences, or first states. */
const kindsOf: Readonly<Record<string, Readonly<Record<number, "size" | "length" | "state">>>> = {
	Resize: { 2: "size", 3: "size" },
	Range: { 0: "size", 1: "size", 2: "size" },
	...forEach("Reshape Expand Tile Upsample TopK Pad", { 1: "size" }),
	...forEach("ConstantOfShape Loop", { 0: "size" }),
	...forEach("LSTM GRU RNN", { 4: "length", 5: "state", 6: "state" }),
};

interface Use {
	node: OnnxNode;
	scope: Scope;
	walk: Walk;
	place: number;
	shift: number;
}

function isUnderstood(use: Use) {
	const { node, place, walk, shift } = use;
	const { op } = node;
	const table = Object.hasOwn(tablesOf, op) ? tablesOf[op]?.[place] : undefined;
	if (table !== undefined) return noteTable(use, table);
	if (op === "OneHot" && place === 0) return noteDepth(use);
	if (comparisons.has(op)) return noteComparison(use);
	const kind = Object.hasOwn(kindsOf, op) ? kindsOf[op]?.[place] : undefined;
	if (kind !== undefined) {
		walk.seen.add(kind);
		return true;
	}
	const isHandedOn = op === "Where" ? place > 0 : place === 0 || joining.has(op);
	if (!passing.has(op) || !isHandedOn) return false;
	const others = numbersAt(use, 1 - place);
	const moved = arithmetic[op]?.(use, others?.length === 1 ? others[0] : undefined) ?? shift;
	if (typeof moved === "number") handOn(node, moved, walk);
	return moved !== "unknown";
}

function handOn({ outputs }: OnnxNode, shift: number | "answer", { carriers }: Walk) {
	for (const output of outputs) {
		const other = carriers.get(output);
		if (typeof shift !== "number" || typeof other !== "number" || Math.abs(shift) < Math.abs(other))
			carriers.set(output, shift);
	}
}

function noteTable({ node, scope, walk, shift }: Use, place: number) {
	const dims = walk.shapeOf(scope, node.inputs[place] ?? "");
	const axis = integerAttribute(node, node.op === "GatherBlockQuantized" ? "gather_axis" : "axis", 0);
	const rows = dims?.at(axis);
	if (typeof rows === "string") walk.rowsOf = { axis: rows, shift };
	if (typeof rows !== "number" || rows < 1) return typeof rows === "string";
	const why = `the model looks it up in a table of ${rows}`;
	walk.tables.push({ low: 0 - shift, high: rows - 1 - shift, why });
	return true;
}

function noteDepth(use: Use) {
	const depth = numbersAt(use, 1)?.[0] ?? 0;
	const why = `the model makes a one-hot of ${depth} of it`;
	if (depth >= 1) use.walk.tables.push({ low: 0 - use.shift, high: depth - 1 - use.shift, why });
	return depth >= 1;
}

/** With many numbers, as a one-hot is written without OneHot; or with one. */
function noteComparison({ node, scope, walk, place, shift }: Use) {
	const constant = foundIn(walk.constants, scope, node.inputs[1 - place]);
	const elements = elementsOf(constant?.dims ?? [0]) ?? 0;
	handOn(node, "answer", walk);
	if (elements === 0) return false;
	const values = constant?.values;
	if (elements > 2 && node.op === "Equal") {
		const [low, high] = values === undefined ? [0, elements - 1] : [Math.min(...values), Math.max(...values)];
		const why = `the model compares it with ${elements} numbers`;
		walk.bounds.push({ low: low - shift, high: high - shift, why });
		return true;
	}
	const numbers = (values ?? []).filter(Number.isFinite).map((value) => value - shift);
	// A limit that all of many numbers pass.
	const pass = (place === 1) === node.op.startsWith("Greater") ? Math.min : Math.max;
	walk.compared.push(...(node.op === "Equal" || numbers.length < 2 ? numbers : [pass(...numbers)]));
	return true;
}

const arithmetic: Readonly<
	Record<string, (use: Use, other: number | undefined) => number | "nothing" | "unknown">
> = {
	// A product with zero drops the values; one with an answer keeps them or drops them, as Where would.
	Mul: ({ node, walk, shift }, other) => {
		if (node.inputs.some((name) => walk.carriers.get(name) === "answer")) return shift;
		return other === 0 ? "nothing" : "unknown";
	},
	Add: ({ node, walk, shift }, other) => {
		const chosen = node.inputs.every((name) => typeof walk.carriers.get(name) === "number");
		return other !== undefined ? shift + other : chosen ? shift : "unknown";
	},
	Sub: ({ shift, place }, other) => (other === undefined || place === 1 ? "unknown" : shift - other),
	Min: (use, other) => bounded(use, -Infinity, other ?? Infinity),
	Max: (use, other) => bounded(use, other ?? -Infinity, Infinity),
	Mod: (use, other) => (other === undefined || other < 1 ? use.shift : bounded(use, 0, other - 1)),
	// The limits are inputs, or attributes before opset 11.
	Clip: (use) => {
		const end = (place: number, name: string, open: number) => {
			const attribute = attributeOf(use.node, name);
			return numbersAt(use, place)?.[0] ?? (typeof attribute === "number" ? attribute : open);
		};
		return bounded(use, end(1, "min", -Infinity), end(2, "max", Infinity));
	},
};

function bounded({ walk, shift }: Use, low: number, high: number) {
	if (low <= high)
		walk.bounds.push({ low: low - shift, high: high - shift, why: "the model limits it to this" });
	return shift;
}

function numbersAt({ node, scope, walk }: Use, place: number) {
	return foundIn(walk.constants, scope, node.inputs[place])?.values;
}
