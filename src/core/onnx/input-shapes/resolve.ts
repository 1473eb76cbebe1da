// Gives every input of a model its concrete shape, or says at once all that is missing.
import type { ConfigError } from "../../errors.ts";
import type { OnnxModel } from "../model.ts";
import { isTensor, notTensorFix, notTensorText } from "../not-tensor.ts";
import { formatDims, quoteName } from "../quote.ts";
import {
	type BoundShapes,
	bindShapes,
	fault,
	fillShapes,
	type ShapeCheck,
	type ShapeSource,
} from "./bind.ts";
import { proposeSizes } from "./propose.ts";
import { describeShapes, describeUses, lineToCopy } from "./render.ts";
import { searchSizes } from "./search.ts";

/**
 * The shapes of all inputs that a caller must feed, by name (the record has no prototype).
 * @throws ConfigError config-dims where a size is missing, binds nothing, or contradicts the model.
 */
export function resolveShapes(model: OnnxModel, source: ShapeSource): Record<string, number[]> {
	const bound = bindShapes(model, source);
	const shapes = fillShapes(bound, new Map());
	if (shapes === null) throw missingSizes(model, bound, source);
	return shapes;
}

export function missingSizes(
	model: OnnxModel,
	bound: BoundShapes,
	source: ShapeSource & { tried?: string },
): ConfigError {
	const stray = bound.inputs.find((input) => !isTensor(input));
	if (stray !== undefined)
		return fault(source, {
			message: `Input ${quoteName(stray.name)} is ${notTensorText(stray)}.`,
			fix: notTensorFix(model.graph),
		});
	const unshaped = bound.inputs.filter((_, index) => bound.labels[index] === null);
	const style = source.pointer === undefined ? "options" : "config";
	const open = bound.open.flatMap(({ uses }) => uses.map(({ input }) => input));
	const shapes = bound.inputs
		.filter(({ name }) => open.includes(name))
		.map(({ name, dims }) => `${quoteName(name)} ${formatDims(dims ?? [])}`);
	const parts = [
		...(bound.open.length === 0
			? []
			: [`Sizes are missing: ${describeUses(bound.open)}. The model's inputs: ${shapes.join(", ")}.`]),
		...unshaped.map(
			({ name, kind }) => `The model gives no shape for its input ${quoteName(name)} (${kind}).`,
		),
	];
	const tried = source.tried === undefined ? "" : ` ${source.tried}`;
	return fault(source, {
		message: `${parts.join(" ")}${tried}`,
		fix: fixFor(model, { bound, unshaped: unshaped.map(({ name }) => name), style }),
		at: bound.open.length === 0 ? "/inputs" : "/dims",
	});
}

function fixFor(
	model: OnnxModel,
	what: { bound: BoundShapes; unshaped: readonly string[]; style: "options" | "config" },
): string {
	const { bound, unshaped, style } = what;
	const sizes = searchSizes(model, bound).next(1)[0] ?? proposeSizes(model, bound.open);
	const line = bound.open.length === 0 ? [] : [lineToCopy(bound, sizes, style)];
	const where =
		style === "config"
			? "Give the sizes that you serve, under the model in trtgate.yml"
			: "Give the sizes that you serve";
	const shapes = unshaped.map((name) =>
		style === "config"
			? `inputs: { ${quoteName(name, "")}: { shape: […] } }`
			: `--shape ${quoteName(name, "")}=…`,
	);
	return `${where}: ${[...line, ...shapes].join(style === "config" ? ", " : " ")}`;
}

/** @throws ConfigError config-dims where the model's own nodes contradict these shapes, so that nothing can run them. */
export function refuseImpossible(
	model: OnnxModel,
	{ check, shapes }: { check: ShapeCheck; shapes: Readonly<Record<string, readonly number[]>> },
	source: ShapeSource,
): void {
	const why = check(shapes);
	if (why === null) return;
	const given = source.shownBy === undefined ? "these sizes" : `the sizes of ${source.shownBy}`;
	const open = bindShapes(model, { dims: {}, inputs: {} });
	const sizes = open.open.length === 0 ? undefined : searchSizes(model, open).next(1)[0];
	const line =
		sizes === undefined
			? ""
			: ` For example: ${lineToCopy(open, sizes, source.pointer === undefined ? "options" : "config")}`;
	const message = `The model cannot run with ${given}, ${describeShapes(shapes)}: ${why}.`;
	throw fault(source, { message, fix: `Give sizes that fit each other and the model.${line}`, at: "/dims" });
}
