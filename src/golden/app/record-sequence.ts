// Records a decoder as sequences: the model as its cases show it, and the sizes of whole sequences.
import type { GoldenManifest, Sequence } from "../../../generated/golden.ts";
import { type Decoder, findDecoder } from "../../core/onnx/decoder.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { overSteps, sequenceOf } from "../core/sequence/sequence.ts";
import { inputAxes, type NamedSizes } from "../core/timed/compose.ts";
import type { RecordOptions } from "./record-options.ts";

const beginTokens = 16;

/** @throws ConfigError config-dims if `decoder` names what the model does not have. */
export function asSequences(
	file: ModelOnDisk,
	options: RecordOptions,
	reused: GoldenManifest | null,
): { model: ModelOnDisk; options: RecordOptions } {
	if (reused !== null) return { model: inSteps(file, reused.sequence), options };
	const { configured, given, steps } = options;
	const { inputs } = configured;
	const decoder = steps === 0 ? null : findDecoder(file.onnx, { inputs, ...options.decoder });
	if (decoder === null || Object.keys(decoder.each).length === 0) return { model: file, options };
	const sizeOf = (dim: string) => given.dims[dim] ?? configured.dims[dim] ?? 1;
	const model = inSteps(file, sequenceOf(decoder, steps, sizeOf));
	const known = new Set(inputAxes(model.onnx, inputs).flatMap(({ axes }) => axes));
	return { model, options: overPositions(options, decoder, known) };
}

function inSteps(file: ModelOnDisk, sequence: Sequence | undefined) {
	return sequence === undefined ? file : { ...file, sequence, onnx: overSteps(file.onnx, sequence) };
}

function overPositions(
	options: RecordOptions,
	{ dims: { seq = "", past = "" } }: Decoder,
	known: ReadonlySet<unknown>,
) {
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
