// Describes axes without a size, and writes the one line that gives them all.
import { shellWord } from "../../text/escape.ts";
import type { OnnxValue } from "../model.ts";
import { quoteName } from "../quote.ts";
import type { AxisLabel, OpenAxis } from "./open-axes.ts";

export type LineStyle = "options" | "config";

interface Sized {
	inputs: readonly OnnxValue[];
	labels: readonly (readonly AxisLabel[] | null)[];
	open: readonly OpenAxis[];
}

const mostAxes = 10;

export function describeUses(axes: readonly OpenAxis[]): string {
	const named = axes
		.filter(({ isNamed }) => isNamed)
		.map(({ name, uses }) => `${quoteName(name)} (${usesText(uses)})`);
	const nameless = axes.filter(({ isNamed }) => !isNamed).flatMap(({ uses }) => uses);
	const parts = [...named.slice(0, mostAxes), ...(nameless.length === 0 ? [] : [usesText(nameless)])];
	return named.length > mostAxes
		? `${parts.join(", ")} and ${named.length - mostAxes} more`
		: parts.join(", ");
}

function usesText(uses: OpenAxis["uses"]): string {
	const byInput = new Map<string, number[]>();
	for (const { input, axis } of uses) byInput.set(input, [...(byInput.get(input) ?? []), axis]);
	const texts = [...byInput].map(
		([input, axes]) => `${axes.length === 1 ? "axis" : "axes"} ${axes.join(" and ")} of ${quoteName(input)}`,
	);
	return texts.length > mostAxes ? `${texts.slice(0, mostAxes).join(", ")}, …` : texts.join(", ");
}

/** By name where every open axis has one, else as whole shapes of the inputs that have open axes. */
export function lineToCopy(
	{ inputs, labels, open }: Sized,
	sizes: ReadonlyMap<string, number>,
	style: LineStyle,
): string {
	const sizeOf = (label: AxisLabel): number =>
		typeof label === "number" ? label : (sizes.get(label.name) ?? 1);
	if (open.every(({ isNamed }) => isNamed)) {
		const named = open.map(({ name }) => [name, sizes.get(name) ?? 1] as const);
		if (style === "options")
			return `--dims ${shellWord(named.map(([name, size]) => `${name}=${size}`).join(","))}`;
		return `dims: { ${named.map(([name, size]) => `${yamlText(name)}: ${size}`).join(", ")} }`;
	}
	const shapes = inputs.flatMap(({ name }, index): [string, number[]][] => {
		const axes = labels[index];
		return axes?.some((label) => typeof label !== "number") ? [[name, axes.map(sizeOf)]] : [];
	});
	if (style === "options")
		return shapes.map(([name, shape]) => `--shape ${shellWord(`${name}=${shape.join(",")}`)}`).join(" ");
	return `inputs: { ${shapes.map(([name, shape]) => `${yamlText(name)}: { shape: [${shape.join(", ")}] }`).join(", ")} }`;
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
