// The axes of a model's inputs whose sizes the file leaves open: their names, and the line that gives them sizes.
import { isName } from "../../config/values.ts";
import { groupBy } from "../../group.ts";
import { shellWord } from "../../text/escape.ts";
import { listNames } from "../../text/labels.ts";
import type { OnnxValue } from "../model.ts";
import { quoteName } from "../quote.ts";

export interface OpenAxis {
	name: string;
	/** Whether the file or the config names it; other names are made up. */
	isNamed: boolean;
	uses: readonly { input: string; axis: number }[];
}

export type AxisLabel = number | Pick<OpenAxis, "name" | "isNamed">;
/** Labels by input; null for an input without a shape. */
export type Labels = readonly (readonly AxisLabel[] | null)[];

export type GivenShapes = Readonly<
	Record<string, { shape?: readonly (number | string)[]; pinned?: readonly number[] }>
>;

export function shapeGivenFor(input: string, given: GivenShapes): readonly (number | string)[] | undefined {
	return Object.hasOwn(given, input) ? given[input]?.shape : undefined;
}

const mostNameChars = 200;

export function labelAxes(inputs: readonly OnnxValue[], given: GivenShapes = {}): Labels {
	const shared = sharedNames(inputs);
	const taken = new Set<unknown>([...shared, ...Object.values(given).flatMap(({ shape }) => shape ?? [])]);
	return inputs.map(({ name: input, dims }) => {
		const own = shapeGivenFor(input, given);
		if (own !== undefined)
			return own.map((size) => (typeof size === "number" ? size : { name: size, isNamed: true }));
		if (dims === null) return null;
		return dims.map((dim, axis) => {
			if (typeof dim === "number" && isSize(dim)) return dim;
			if (typeof dim === "string" && shared.has(dim)) return { name: dim, isNamed: true };
			const name = `${input}_${axis}`.slice(-mostNameChars);
			return { name: taken.has(name) ? `${name}_axis` : name, isNamed: false };
		});
	});
}

export function isSize(size: number): boolean {
	return Number.isInteger(size) && size >= 0 && size < 2 ** 31;
}

/** Two axes called `?` or `-1`, as exporters write if they have no name, need not have one size. */
function sharedNames(inputs: readonly OnnxValue[]): Set<string> {
	const names = inputs.flatMap(({ dims }) => (dims ?? []).filter((dim) => typeof dim === "string"));
	const uses = groupBy(names, (name) => name);
	return new Set(
		names.filter((name) => isName(name) && (/\p{L}/u.test(name) || uses.get(name)?.length === 1)),
	);
}

export function openAxes(inputs: readonly OnnxValue[], labels: Labels): OpenAxis[] {
	const places = inputs.flatMap(({ name: input }, index) =>
		(labels[index] ?? []).flatMap((label, axis) =>
			typeof label === "number" ? [] : [{ ...label, use: { input, axis } }],
		),
	);
	return [...groupBy(places, ({ name }) => name)].map(([name, own]) => ({
		name,
		isNamed: own[0]?.isNamed === true,
		uses: own.map(({ use }) => use),
	}));
}

const mostAxes = 10;

/** `"batch" (axis 0 of "x"), axes 2 and 3 of "y"`. */
export function describeUses(open: readonly OpenAxis[]): string {
	const named = open.filter(({ isNamed }) => isNamed);
	const nameless = open.filter(({ isNamed }) => !isNamed).flatMap(({ uses }) => uses);
	const texts = named.map(({ name, uses }) => `${quoteName(name)} (${usesText(uses)})`);
	return listNames([...texts, ...(nameless.length === 0 ? [] : [usesText(nameless)])], mostAxes);
}

function usesText(uses: OpenAxis["uses"]): string {
	const texts = [...groupBy(uses, ({ input }) => input)].map(([input, own]) => {
		const axes = own.map(({ axis }) => axis).join(" and ");
		return `${own.length === 1 ? "axis" : "axes"} ${axes} of ${quoteName(input)}`;
	});
	return listNames(texts, mostAxes);
}

export interface OpenInputs {
	inputs: readonly OnnxValue[];
	labels: Labels;
	open: readonly OpenAxis[];
}

/** Names sizes if every open axis has a name, else gives whole shapes of the inputs with open axes. */
export function lineToCopy(
	{ inputs, labels, open }: OpenInputs,
	sizes: ReadonlyMap<string, number>,
	style: "options" | "config",
): string {
	const sizeOf = (name: string): number => sizes.get(name) ?? 1;
	if (open.every(({ isNamed }) => isNamed)) {
		const names = open.map(({ name }) => name);
		return style === "options"
			? `--dims ${shellWord(names.map((name) => `${name}=${sizeOf(name)}`).join(","))}`
			: `dims: { ${names.map((name) => `${yamlText(name)}: ${sizeOf(name)}`).join(", ")} }`;
	}
	const shapes = inputs.flatMap(({ name }, index): [string, number[]][] => {
		const axes = labels[index] ?? [];
		const shape = axes.map((label) => (typeof label === "number" ? label : sizeOf(label.name)));
		return axes.every((label) => typeof label === "number") ? [] : [[name, shape]];
	});
	return style === "options"
		? shapes.map(([name, shape]) => `--shape ${shellWord(`${name}=${shape.join(",")}`)}`).join(" ")
		: `inputs: { ${shapes.map(([name, shape]) => `${yamlText(name)}: { shape: [${shape.join(", ")}] }`).join(", ")} }`;
}

const keyword = /^(true|false|null|yes|no|on|off|y|n)$/i;

export function yamlText(text: string): string {
	return /^[A-Za-z_][\w./-]*$/.test(text) && !keyword.test(text) ? text : JSON.stringify(text);
}

/** `x [1, 3, 48, 320], y [1]`. */
export function describeShapes(shapes: Readonly<Record<string, readonly number[]>>): string {
	return Object.entries(shapes)
		.map(([name, shape]) => `${quoteName(name, "")} [${shape.join(", ")}]`)
		.join(", ");
}
