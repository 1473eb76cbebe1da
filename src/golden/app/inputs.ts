// Generates whole cases by the model's types and shapes, or the inputs that a case's files leave out.
import type { DType, InputPreprocess } from "../../../generated/golden.ts";
import { usageError } from "../../core/errors.ts";
import { type InputValues, valuesOfInputs } from "../../core/onnx/input-values.ts";
import {
	feeds,
	isTensor,
	notTensorFix,
	notTensorText,
	type OnnxDim,
	type OnnxModel,
	toDType,
} from "../../core/onnx/model.ts";
import { quoteName } from "../../core/text/escape.ts";
import {
	type DefaultGenerator,
	defaultGenerators,
	drawnText,
	formatGenerator,
	isDrawn,
	parseGenerator,
	positionsBeside,
} from "../core/record/generators/defaults.ts";
import { canEncode } from "../core/record/generators/encode.ts";
import { type GeneratorSpec, generateInput } from "../core/record/generators/generate.ts";
import {
	elementCount,
	formatShape,
	isFloating,
	type Tensor,
	type Tensors,
	tooLarge,
} from "../core/tensor/tensor.ts";
import type { CaseToRecord } from "../stages/record-runs.ts";

export interface InputPort {
	name: string;
	dtype: DType;
	axes: readonly OnnxDim[] | null;
	sizes: readonly (number | null)[] | null;
	shape: readonly number[] | null;
}

export interface FoundInputs {
	cases: CaseToRecord[];
	how: Record<string, string>;
	preprocess?: Readonly<Record<string, InputPreprocess>>;
}

/** @param known sizes by input and axis. @throws ConfigError usage if a tensor file cannot hold an input's type. */
export function inputPorts(
	model: OnnxModel,
	known: Readonly<Record<string, readonly (number | null)[]>>,
): InputPort[] {
	const stray = [...feeds(model.graph), ...model.graph.outputs].find((value) => !isTensor(value));
	if (stray !== undefined)
		throw usageError(`${quoteName(stray.name)} is ${notTensorText(stray)}.`, notTensorFix(model.graph));
	return feeds(model.graph).map(({ name, dtype: declared, dims: axes }) => {
		const dtype = toDType(declared);
		if (dtype === null)
			throw usageError(
				`Input ${quoteName(name)} is ${declared}, which goldens do not support.`,
				"Export the model with tensors of plain numbers.",
			);
		const sizes = known[name] ?? axes?.map((axis) => (typeof axis === "number" ? axis : null)) ?? null;
		const shape = sizes?.every((size) => size !== null) ? sizes : null;
		return { name, dtype, axes, sizes, shape };
	});
}

export interface Recipes {
	inputs: readonly InputPort[];
	seed: number;
	byInput: ReadonlyMap<string, DefaultGenerator | null>;
}

interface Generating {
	model: OnnxModel;
	seed: number;
	generators: readonly string[];
	from?: number;
}

export function recipesOf(inputs: readonly InputPort[], { model, seed, generators }: Generating): Recipes {
	const names = inputs.map(({ name }) => name);
	const values = valuesOfInputs(model, names);
	const sized = inputs.map((port) => ({
		...port,
		shape: port.shape ?? (port.axes ?? []).map((axis) => (typeof axis === "number" ? axis : 1)),
	}));
	const byInput = defaultGenerators(sized, values);
	for (const text of generators) {
		const parsed = parseGenerator(text);
		if (parsed.state === "wrong") throw usageError(`--generator: ${parsed.problem}.`, parsed.fix);
		const { input } = parsed;
		if (!names.includes(input))
			throw usageError(
				`--generator: the model has no input ${quoteName(input)}.`,
				`Its inputs are ${names.map((name) => quoteName(name)).join(", ")}.`,
			);
		const specs = parsed.specs.map((spec) => withRange(spec, input, values.get(input)));
		byInput.set(input, { role: "setting", specs });
	}
	return { inputs, seed, byInput };
}

function withRange(spec: GeneratorSpec, input: string, values: InputValues | undefined): GeneratorSpec {
	if (spec.kind !== "tokens" || spec.range !== undefined) return spec;
	if (values?.kind === "range") return { ...spec, range: [Math.ceil(values.low), Math.floor(values.high)] };
	throw usageError(
		`The number of tokens for input ${quoteName(input)} is unknown.`,
		`Give the range: --generator ${quoteName(input, "")}=tokens:0..30521`,
	);
}

export function generateCases(
	ports: readonly InputPort[],
	cases: number,
	generating: Generating,
): FoundInputs {
	const recipes = recipesOf(ports, generating);
	const unknown = ports.filter(({ name }) => !recipes.byInput.get(name));
	if (unknown.length > 0) throw valuesUnknown(unknown);
	const odd = ports.find(({ dtype }) => !canEncode(dtype));
	if (odd !== undefined)
		throw usageError(
			`No values can be generated for input ${quoteName(odd.name)}, which is ${odd.dtype}.`,
			"Give real ones with --inputs.",
		);
	const made = Array.from({ length: cases }, (_, index) => {
		const caseIndex = index + (generating.from ?? 0);
		const { tensors, kinds } = drawInputs({}, recipes, caseIndex);
		const telling = kinds.filter((kind) => kind !== "const" && kind !== "length" && kind !== "positions");
		const id = `${caseIndex + 1}-${(telling.length === 0 ? kinds : telling).join("-")}`;
		return { id, tags: ["generated"], inputs: tensors };
	});
	return { cases: made, how: describeInputs(recipes) };
}

export function dataInputs({ inputs, byInput }: Recipes): InputPort[] {
	return inputs.filter(({ name }) => (byInput.get(name)?.role ?? "data") === "data");
}

/** @param from path of the case's files, for messages. @throws ConfigError usage if an input can only come from a file. */
export function fillInputs(
	given: Tensors,
	recipes: Recipes,
	{ caseIndex, from }: { caseIndex: number; from: string },
): Record<string, Tensor> {
	const missing = dataInputs(recipes).find(({ name }) => given[name] === undefined);
	if (missing === undefined) return drawInputs(given, recipes, caseIndex).tensors;
	throw usageError(
		`--inputs: ${from} gives no values for input ${quoteName(missing.name)}.`,
		`Give a folder for each case with a file for each input, or values with --generator ${quoteName(missing.name, "")}=const:1.`,
	);
}

/** An axis that nothing binds gets the size 1, like a batch of one. */
function drawInputs(given: Tensors, recipes: Recipes, caseIndex: number) {
	const { inputs, seed, byInput } = recipes;
	const tensors: Record<string, Tensor> = Object.assign(Object.create(null), given);
	const bound = new Map<OnnxDim, number>();
	for (const { name, axes } of inputs)
		for (const [at, axis] of (axes ?? []).entries()) {
			const size = tensors[name]?.shape[at];
			if (typeof axis === "string" && size !== undefined) bound.set(axis, size);
		}
	const sized = inputs.map(({ name, dtype, axes, sizes, shape }) => {
		const filled = (axes ?? shape ?? []).map((axis, at) => bound.get(axis) ?? sizes?.[at] ?? 1);
		return { name, dtype, axes, shape: [...(tensors[name]?.shape ?? filled)] };
	});
	const kinds = new Set<string>();
	for (const [inputIndex, { name, dtype, shape }] of sized.entries()) {
		if (tensors[name] !== undefined) continue;
		const specs = byInput.get(name)?.specs ?? [];
		const fault = tooLarge({ name, dtype, shape }, maxDrawnBytes);
		if (fault !== null) throw usageError(fault, smallerFix);
		const input = { name, dtype, shape, specs, positions: positionsBeside(name, sized) };
		const { tensor, kind } = generateInput(input, { seed, caseIndex, inputIndex });
		tensors[name] = tensor;
		kinds.add(kind);
	}
	return { tensors, kinds: [...kinds] };
}

/** More fits neither a golden nor the memory of ONNX Runtime. */
const maxDrawnBytes = 2 ** 30;
const smallerFix =
	"Give smaller sizes with --dims or --shape; a fixed size has to be corrected in the ONNX file.";

export function describeInputs(
	{ inputs, byInput }: Recipes,
	given: ReadonlyMap<string, string> = new Map(),
): Record<string, string> {
	const describe = (name: string) => {
		const recipe = byInput.get(name);
		if (!recipe) return "given";
		const { specs, why } = recipe;
		return `${formatGenerator(specs)}${isDrawn(specs) ? drawnText : ""}${why === undefined ? "" : ` (${why})`}`;
	};
	return Object.fromEntries(inputs.map(({ name }) => [name, given.get(name) ?? describe(name)]));
}

function valuesUnknown(inputs: readonly InputPort[]) {
	const named = inputs.map(({ name, dtype, shape }) => {
		const layout = shape === null || shape.length === 0 ? `one ${dtype}` : `${dtype} ${formatShape(shape)}`;
		return `${quoteName(name)} (${layout})`;
	});
	const examples = inputs.map(({ name, shape, dtype }) => {
		const isOne = elementCount(shape ?? []) === 1 || isFloating(dtype);
		return `--generator ${quoteName(name, "")}=${isOne ? "const:1" : "tokens:0..99"}`;
	});
	return usageError(
		`The model does not show which values ${inputs.length === 1 ? "this input takes" : "these inputs take"}: ${named.join(", ")}.`,
		`Give real ones with --inputs, or the values that you serve, as in ${examples.join(" ")}.`,
	);
}
