// Generates the inputs of the cases to record, by the types and shapes of the model.

import type { DType, InputPreprocess } from "../../../generated/golden.ts";
import { type ConfigError, usageError } from "../../core/errors.ts";
import {
	type DefaultGenerator,
	defaultGenerators,
	positionsBeside,
} from "../../core/golden/record/generators/defaults.ts";
import { canEncode } from "../../core/golden/record/generators/encode.ts";
import { type GeneratedInput, generateInput } from "../../core/golden/record/generators/generate.ts";
import {
	formatGenerator,
	type GeneratorSpec,
	isDrawn,
	parseGenerator,
} from "../../core/golden/record/generators/spec.ts";
import { elementCount, formatShape, isFloating, type Tensor } from "../../core/golden/tensor/tensor.ts";
import { toDType } from "../../core/onnx/element-type.ts";
import { type InputValues, valuesOfInputs } from "../../core/onnx/input-values.ts";
import { feeds, type OnnxDim, type OnnxModel } from "../../core/onnx/model.ts";
import { isTensor, notTensorFix, notTensorText } from "../../core/onnx/not-tensor.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import type { CaseToRecord } from "../../stages/record-reference.ts";

export interface InputPort {
	name: string;
	dtype: DType;
	/** As the model declares them. */
	axes: readonly OnnxDim[] | null;
	/** Of each axis, null where it is open; null: not even their number is known. */
	sizes: readonly (number | null)[] | null;
	/** null where a size is not known. */
	shape: readonly number[] | null;
}

export interface FoundInputs {
	cases: CaseToRecord[];
	/** How each input was made, for the manifest. */
	how: Record<string, string>;
	/** How files became tensors, by input; for the manifest. */
	preprocess?: Readonly<Record<string, InputPreprocess>>;
}

/** @param known sizes by input and axis. @throws ConfigError usage where a tensor file cannot hold an input's type. */
export function inputPorts(
	model: OnnxModel,
	known: Readonly<Record<string, readonly (number | null)[]>>,
): InputPort[] {
	const stray = [...feeds(model.graph), ...model.graph.outputs].find((value) => !isTensor(value));
	if (stray !== undefined)
		throw usageError(`${quoteName(stray.name)} is ${notTensorText(stray)}.`, notTensorFix(model.graph));
	return feeds(model.graph).map((feed) => {
		const dtype = toDType(feed.dtype);
		if (dtype === null) {
			throw usageError(
				`Input ${quoteName(feed.name)} is ${feed.dtype}, which goldens do not support.`,
				"Export the model with tensors of plain numbers.",
			);
		}
		const sizes =
			known[feed.name] ?? feed.dims?.map((axis) => (typeof axis === "number" ? axis : null)) ?? null;
		return {
			name: feed.name,
			dtype,
			axes: feed.dims,
			sizes,
			shape: sizes?.every((size) => size !== null) ? sizes : null,
		};
	});
}

export interface Generating {
	model: OnnxModel;
	seed: number;
	generators: readonly string[];
}

/** How an input is made where no file gives it. */
export interface InputRecipe {
	specs: readonly GeneratorSpec[];
	/** setting: a switch, a length, a mask or a state beside the data. */
	role: DefaultGenerator["role"] | "given";
	why?: string;
}

/** By input; null where nothing says which values suit it. @throws ConfigError usage where --generator is wrong. */
export function recipesOf(
	ports: readonly InputPort[],
	{ model, generators }: Generating,
): Map<string, InputRecipe | null> {
	const given = parseGenerators(generators, ports);
	const names = ports.map(({ name }) => name);
	const values = valuesOfInputs(model, names);
	const defaults = defaultGenerators(
		ports.map((port) => ({
			...port,
			shape: port.shape ?? (port.axes ?? []).map((axis) => (typeof axis === "number" ? axis : 1)),
		})),
		values,
	);
	return new Map(
		ports.map((port): [string, InputRecipe | null] => {
			const specs = given.get(port.name);
			if (specs === undefined) return [port.name, defaults.get(port.name) ?? null];
			return [
				port.name,
				{ role: "given", specs: specs.map((spec) => withRange(spec, port, values.get(port.name))) },
			];
		}),
	);
}

/** @throws ConfigError usage where nothing says which values an input takes. */
export function generateCases(
	ports: readonly InputPort[],
	cases: number,
	generating: Generating,
): FoundInputs {
	const recipes = recipesOf(ports, generating);
	const inputs = inputsToGenerate(ports, recipes);
	const made = Array.from({ length: cases }, (_, caseIndex): CaseToRecord => {
		const drawn = inputs.map((input, inputIndex) => ({
			input,
			...generateInput(input, { seed: generating.seed, caseIndex, inputIndex }),
		}));
		const kinds = [...new Set(drawn.map(({ kind }) => kind))];
		const named = kinds.filter((kind) => kind !== "const" && kind !== "length");
		const tensors: Record<string, Tensor> = Object.create(null);
		for (const { input, tensor } of drawn) tensors[input.name] = tensor;
		const mayFail = inputs.some(({ specs }) => specs[caseIndex % specs.length]?.kind === "boundary");
		return {
			id: `${caseIndex + 1}-${(named.length === 0 ? kinds : named).join("-")}`,
			tags: ["generated"],
			inputs: tensors,
			mayFail,
		};
	});
	return {
		cases: made,
		how: Object.fromEntries(ports.map(({ name }) => [name, describeRecipe(recipes.get(name))])),
	};
}

/** @throws ConfigError usage, naming every input that no generator suits. */
export function inputsToGenerate(
	ports: readonly InputPort[],
	recipes: ReadonlyMap<string, InputRecipe | null>,
): GeneratedInput[] {
	const sized = ports.map((port) => ({ ...port, shape: port.shape ?? [] }));
	const unknown = sized.filter(({ name }) => !recipes.get(name));
	if (unknown.length > 0) throw valuesUnknown(unknown);
	return sized.map((port) => {
		const { name, dtype, shape } = port;
		if (!canEncode(dtype)) {
			throw usageError(
				`No values can be generated for input ${quoteName(name)}, which is ${dtype}.`,
				"Give real ones with --inputs.",
			);
		}
		return {
			name,
			dtype,
			shape,
			specs: recipes.get(name)?.specs ?? [],
			positions: positionsBeside(name, sized),
		};
	});
}

function valuesUnknown(
	inputs: readonly { name: string; dtype: DType; shape: readonly number[] }[],
): ConfigError {
	const named = inputs.map(
		({ name, dtype, shape }) =>
			`${quoteName(name)} (${shape.length === 0 ? `one ${dtype}` : `${dtype} ${formatShape(shape)}`})`,
	);
	const examples = inputs.map(
		({ name, shape, dtype }) =>
			`--generator ${quoteName(name, "")}=${elementCount(shape) === 1 || isFloating(dtype) ? "const:1" : "tokens:0..99"}`,
	);
	return usageError(
		`Nothing in the model says which values ${inputs.length === 1 ? "input" : "the inputs"} ${named.join(", ")} ${inputs.length === 1 ? "takes" : "take"}.`,
		`Give real ones with --inputs, or the values that you serve, as in ${examples.join(" ")}.`,
	);
}

/** For the manifest. */
export function describeRecipe(recipe: InputRecipe | null | undefined): string {
	if (!recipe) return "given";
	const { specs, why } = recipe;
	return `${formatGenerator(specs)}${isDrawn(specs) ? ", SplitMix64" : ""}${why === undefined ? "" : ` (${why})`}`;
}

/** Whole numbers without a range are those that the model takes. */
function withRange(spec: GeneratorSpec, port: InputPort, values: InputValues | undefined): GeneratorSpec {
	const wants = (spec.kind === "tokens" || spec.kind === "boundary") && spec.range === undefined;
	if (!wants) return spec;
	if (values?.kind === "range") return { ...spec, range: [Math.ceil(values.low), Math.floor(values.high)] };
	if (spec.kind === "boundary") return spec;
	throw usageError(
		`The number of tokens for input ${quoteName(port.name)} is unknown.`,
		`Give the range: --generator ${quoteName(port.name, "")}=tokens:0..30521`,
	);
}

function parseGenerators(
	texts: readonly string[],
	ports: readonly InputPort[],
): Map<string, readonly GeneratorSpec[]> {
	const specs = new Map<string, readonly GeneratorSpec[]>();
	for (const text of texts) {
		const parsed = parseGenerator(text);
		if (parsed.state === "wrong") throw usageError(`--generator: ${parsed.problem}.`, parsed.fix);
		if (!ports.some(({ name }) => name === parsed.input)) {
			throw usageError(
				`--generator: the model has no input ${quoteName(parsed.input)}.`,
				`Its inputs are ${ports.map(({ name }) => quoteName(name)).join(", ")}.`,
			);
		}
		specs.set(parsed.input, parsed.specs);
	}
	return specs;
}
