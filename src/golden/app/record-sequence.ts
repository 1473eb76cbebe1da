// Records a decoder as sequences: the model as its cases show it, and the sizes of its state.
import type { GoldenManifest, Sequence } from "../../../generated/golden.ts";
import { type Decoder, findDecoder } from "../../core/onnx/decoder.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { overSteps, sequenceOf } from "../core/sequence/sequence.ts";
import { inputAxes, type NamedSizes, sizesOf } from "../core/timed/sizes.ts";
import type { CaseToRecord } from "../stages/record-runs.ts";
import type { RecordOptions } from "./record-options.ts";

interface Sequenced {
	model: ModelOnDisk;
	options: RecordOptions;
	/** With the sizes that the cases have. */
	fitTo(cases: readonly CaseToRecord[]): ModelOnDisk;
}

/** Tokens before those that run one by one. */
const beginTokens = 16;

/** @throws ConfigError config-dims if `decoder` names what the model does not have. */
export function asSequences(
	file: ModelOnDisk,
	options: RecordOptions,
	reused: GoldenManifest | null,
): Sequenced {
	const over = (sequence: Sequence | undefined): ModelOnDisk =>
		sequence === undefined ? file : { ...file, sequence, onnx: overSteps(file.onnx, sequence) };
	if (reused !== null) {
		const model = over(reused.sequence);
		return { model, options, fitTo: () => model };
	}
	const { configured, given, steps } = options;
	const { inputs } = configured;
	const decoder = steps === 0 ? null : findDecoder(file.onnx, { inputs, ...options.decoder });
	if (decoder === null || Object.keys(decoder.each).length === 0)
		return { model: file, options, fitTo: () => file };
	const sized = (sizes: NamedSizes) => over(sequenceOf(decoder, steps, (dim) => sizes[dim] ?? 1));
	const model = sized(given.dims);
	const axes = inputAxes(model.onnx, inputs);
	return {
		model,
		options: overPositions(options, decoder, new Set(axes.flatMap((input) => input.axes))),
		fitTo: ([first]) => sized(sizesOf(axes, first?.inputs ?? {})),
	};
}

/** The config's sizes are those of one step. */
function overPositions(
	options: RecordOptions,
	{ dims: { seq = "", past = "" } }: Decoder,
	known: ReadonlySet<unknown>,
): RecordOptions {
	const { configured, inputs, steps, timed } = options;
	const beside = (sizes: NamedSizes) =>
		Object.fromEntries(Object.entries(sizes).filter(([name]) => known.has(name) && name !== seq));
	const length = inputs.length > 0 ? {} : { [seq]: beginTokens + steps };
	return {
		...options,
		configured: { ...configured, dims: { ...beside(configured.dims), ...length } },
		timed: timed.map((sizes) => ({ ...beside(sizes), [seq]: (sizes[past] || sizes[seq] || 1) + steps })),
	};
}
