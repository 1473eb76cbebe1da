// Makes the inputs that no file of a case gives: switches, lengths, masks and states, and those that --generator names.
import { usageError } from "../../core/errors.ts";
import { positionsBeside } from "../../core/golden/record/generators/defaults.ts";
import { generateInput } from "../../core/golden/record/generators/generate.ts";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { describeRecipe, type InputPort, type InputRecipe } from "./inputs.ts";

export type Recipes = ReadonlyMap<string, InputRecipe | null>;

/** Inputs that a file has to give. */
export function dataInputs(inputs: readonly InputPort[], recipes: Recipes): InputPort[] {
	return inputs.filter(({ name }) => (recipes.get(name)?.role ?? "data") === "data");
}

interface Filling {
	inputs: readonly InputPort[];
	recipes: Recipes;
	seed: number;
	caseIndex: number;
	/** For messages. */
	path: string;
}

/** The given tensors with the others. @throws ConfigError usage where an input can only come from a file. */
export function fillInputs(
	given: Readonly<Record<string, Tensor>>,
	{ inputs, recipes, seed, caseIndex, path }: Filling,
): Record<string, Tensor> {
	const tensors: Record<string, Tensor> = Object.assign(Object.create(null), given);
	const bound = sizesByName(inputs, tensors);
	const sized = inputs.map((input) => ({
		...input,
		shape: [...(tensors[input.name]?.shape ?? shapeOf(input, bound))],
	}));
	for (const [inputIndex, { name, dtype, shape }] of sized.entries()) {
		if (tensors[name] !== undefined) continue;
		const recipe = recipes.get(name);
		if (!recipe || recipe.role === "data") {
			throw usageError(
				`--inputs: ${path} gives no values for input ${quoteName(name)}.`,
				`Give a folder for each case with a file for each input, or values with --generator ${quoteName(name, "")}=const:1.`,
			);
		}
		const input = { name, dtype, shape, specs: recipe.specs, positions: positionsBeside(name, sized) };
		tensors[name] = generateInput(input, { seed, caseIndex, inputIndex }).tensor;
	}
	return tensors;
}

/** How each input came about, for the manifest. */
export function describeFilled(
	inputs: readonly InputPort[],
	recipes: Recipes,
	given: ReadonlyMap<string, string>,
): Record<string, string> {
	return Object.fromEntries(
		inputs.map(({ name }) => [name, given.get(name) ?? describeRecipe(recipes.get(name))]),
	);
}

/** The sizes of symbolic dimensions that the given tensors show. */
function sizesByName(
	inputs: readonly InputPort[],
	tensors: Readonly<Record<string, Tensor>>,
): Map<string, number> {
	const bound = new Map<string, number>();
	for (const { name, axes } of inputs) {
		for (const [at, axis] of (axes ?? []).entries()) {
			const size = tensors[name]?.shape[at];
			if (typeof axis === "string" && size !== undefined) bound.set(axis, size);
		}
	}
	return bound;
}

/** An axis that nothing binds is one long: a batch of one. */
function shapeOf({ axes, sizes }: InputPort, bound: ReadonlyMap<string, number>): number[] {
	return (axes ?? []).map(
		(axis, at) => (typeof axis === "string" ? bound.get(axis) : undefined) ?? sizes?.[at] ?? 1,
	);
}
