// Finds the axes of a model's inputs whose sizes the file leaves open, and which of them one size binds.
import { isName } from "../../config/values.ts";
import type { OnnxDim, OnnxValue } from "../model.ts";

export interface OpenAxis {
	name: string;
	isNamed: boolean;
	uses: readonly AxisUse[];
}

export interface AxisUse {
	input: string;
	axis: number;
}

export type AxisLabel = number | Pick<OpenAxis, "name" | "isNamed">;

export type GivenShapes = Readonly<
	Record<string, { shape?: readonly (number | string)[]; pinned?: readonly number[] }>
>;

export function shapeGivenFor(input: string, given: GivenShapes): readonly (number | string)[] | undefined {
	return Object.hasOwn(given, input) ? given[input]?.shape : undefined;
}

const mostNameChars = 200;

export function labelAxes(
	inputs: readonly OnnxValue[],
	given: GivenShapes = {},
): (readonly AxisLabel[] | null)[] {
	const shared = sharedNames(inputs);
	const taken = new Set([...shared, ...Object.values(given).flatMap(({ shape }) => shape ?? [])]);
	return inputs.map((input) => {
		const own = shapeGivenFor(input.name, given);
		if (own !== undefined)
			return own.map((size) => (typeof size === "number" ? size : { name: size, isNamed: true }));
		return (
			input.dims?.map((dim, axis) =>
				labelOf(dim, { fallback: inventName(input.name, axis, taken), shared }),
			) ?? null
		);
	});
}

function labelOf(
	dim: OnnxDim,
	{ fallback, shared }: { fallback: string; shared: ReadonlySet<string> },
): AxisLabel {
	if (typeof dim === "number" && isSize(dim)) return dim;
	return typeof dim === "string" && shared.has(dim)
		? { name: dim, isNamed: true }
		: { name: fallback, isNamed: false };
}

export function isSize(size: number): boolean {
	return Number.isInteger(size) && size >= 0 && size < 2 ** 31;
}

function sharedNames(inputs: readonly OnnxValue[]): Set<string> {
	const names = inputs.flatMap(({ dims }) => (dims ?? []).filter((dim) => typeof dim === "string"));
	const counts = new Map<string, number>();
	for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
	return new Set(names.filter((name) => isName(name) && !(isPlaceholder(name) && counts.get(name) !== 1)));
}

/** What exporters write for an axis that they have no name for, such as `?` or `-1`: two such axes need not have one size. */
export function isPlaceholder(name: string): boolean {
	return !/\p{L}/u.test(name);
}

function inventName(input: string, axis: number, taken: ReadonlySet<string | number>): string {
	const name = `${input}_${axis}`.slice(-mostNameChars);
	return taken.has(name) ? `${name}_axis` : name;
}

export function openAxes(
	inputs: readonly OnnxValue[],
	labels: readonly (readonly AxisLabel[] | null)[],
): OpenAxis[] {
	const found = new Map<string, OpenAxis & { uses: AxisUse[] }>();
	for (const [index, axes] of labels.entries()) {
		const input = inputs[index]?.name ?? "";
		for (const [axis, label] of (axes ?? []).entries()) {
			if (typeof label === "number") continue;
			const known = found.get(label.name);
			if (known === undefined) found.set(label.name, { ...label, uses: [{ input, axis }] });
			else known.uses.push({ input, axis });
		}
	}
	return [...found.values()];
}
