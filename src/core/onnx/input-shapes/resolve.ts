// Gives every input of a model its concrete shape, or names everything that is missing at once.
import type { ConfigError } from "../../errors.ts";
import type { OnnxModel } from "../model.ts";
import { isTensor, notTensorFix, notTensorText } from "../not-tensor.ts";
import { formatDims, quoteName } from "../quote.ts";
import { bindShapes, fault, fillShapes, refuseImpossible, type ShapeSource, shapeCheck } from "./bind.ts";
import { describeUses, lineToCopy, type OpenInputs } from "./open-axes.ts";
import { proposeSizes } from "./propose.ts";
import { searchSizes } from "./search.ts";

/**
 * The shapes of all inputs that a caller must feed, by name (the record has no prototype).
 * @throws ConfigError config-dims if a size is missing, binds nothing, or contradicts the model.
 */
export function resolveShapes(model: OnnxModel, source: ShapeSource): Record<string, number[]> {
	const bound = bindShapes(model, source);
	const shapes = fillShapes(bound, new Map());
	if (shapes === null) throw missingSizes(model, bound, source);
	return shapes;
}

/** @throws ConfigError config-dims also if the model cannot run with these sizes. */
export function runnableShapes(model: OnnxModel, source: ShapeSource): Record<string, number[]> {
	const shapes = resolveShapes(model, source);
	refuseImpossible(shapeCheck(model), shapes, source);
	return shapes;
}

export function missingSizes(
	model: OnnxModel,
	bound: OpenInputs,
	source: ShapeSource & { tried?: string },
): ConfigError {
	const { inputs, labels, open } = bound;
	const at = open.length === 0 ? "/inputs" : "/dims";
	const stray = inputs.find((input) => !isTensor(input));
	if (stray !== undefined) {
		const message = `Input ${quoteName(stray.name)} is ${notTensorText(stray)}.`;
		return fault(source, { message, fix: notTensorFix(model.graph), at });
	}
	const isOption = source.pointer === undefined;
	const sizes = searchSizes(model, bound).next(1)[0] ?? proposeSizes(model, open);
	const messages: string[] = [];
	const lines: string[] = [];
	if (open.length > 0) {
		const isOpen = new Set(open.flatMap(({ uses }) => uses.map(({ input }) => input)));
		const shapes = inputs.filter(({ name }) => isOpen.has(name));
		const shown = shapes.map(({ name, dims }) => `${quoteName(name)} ${formatDims(dims ?? [])}`).join(", ");
		messages.push(`Sizes are missing: ${describeUses(open)}. The model's inputs: ${shown}.`);
		lines.push(lineToCopy(bound, sizes, isOption ? "options" : "config"));
	}
	for (const [index, { name, kind }] of inputs.entries()) {
		if (labels[index] !== null) continue;
		messages.push(`The model gives no shape for its input ${quoteName(name)} (${kind}).`);
		const shown = quoteName(name, "");
		lines.push(isOption ? `--shape ${shown}=…` : `inputs: { ${shown}: { shape: […] } }`);
	}
	if (source.tried !== undefined) messages.push(source.tried);
	const where = isOption ? "" : ", under the model in trtgate.yml";
	const fix = `Give the sizes that you serve${where}: ${lines.join(isOption ? " " : ", ")}`;
	return fault(source, { message: messages.join(" "), fix, at });
}
