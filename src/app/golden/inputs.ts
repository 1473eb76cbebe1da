// Generates the inputs of the cases to record, by the types and shapes of the model.
import { ConfigError } from "../../core/errors.ts";
import { canEncode } from "../../core/golden/record/generators/encode.ts";
import {
	defaultGenerator,
	formatGenerator,
	type GeneratedInput,
	type GeneratorSpec,
	generateInput,
	parseGenerator,
	vocabularyOf,
} from "../../core/golden/record/generators/generate.ts";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import { toDType } from "../../core/onnx/element-type.ts";
import { feeds, type OnnxModel } from "../../core/onnx/model.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import type { DType } from "../../core/schema/golden.ts";
import type { CaseToRecord } from "../../stages/record-reference.ts";

export interface InputPort {
	name: string;
	dtype: DType;
	/** null where a size is not known. */
	shape: readonly number[] | null;
}

export interface FoundInputs {
	cases: CaseToRecord[];
	/** How each input was made, for the manifest. */
	how: Record<string, string>;
}

/** @throws ConfigError usage where a tensor file cannot hold an input's type. */
export function inputPorts(model: OnnxModel, shapes: Readonly<Record<string, readonly number[]>> | null): InputPort[] {
	return feeds(model.graph).map((feed) => {
		const dtype = feed.kind === "tensor" ? toDType(feed.dtype) : null;
		if (dtype === null) {
			throw usage(
				`Input ${quoteName(feed.name)} is ${feed.kind === "tensor" ? feed.dtype : `a ${feed.kind}`}, which goldens do not support.`,
				"Export the model with tensors of plain numbers.",
			);
		}
		return { name: feed.name, dtype, shape: shapes?.[feed.name] ?? null };
	});
}

export interface Generating {
	model: OnnxModel;
	cases: number;
	seed: number;
	generators: readonly string[];
}

export function generateCases(ports: readonly InputPort[], { model, cases, seed, generators }: Generating): FoundInputs {
	const specs = parseGenerators(generators, ports);
	const inputs: GeneratedInput[] = ports.map((port) => {
		const shape = port.shape ?? [];
		if (!canEncode(port.dtype))
			throw usage(`No values can be generated for input ${quoteName(port.name)}, which is ${port.dtype}.`, "Give real ones with --inputs.");
		const vocabulary = vocabularyOf(model, port.name);
		const own = specs.get(port.name) ?? defaultGenerator({ ...port, shape }, vocabulary);
		return { name: port.name, dtype: port.dtype, shape, specs: own.map((spec) => withVocabulary(spec, port, vocabulary)) };
	});
	const made = Array.from({ length: cases }, (_, caseIndex): CaseToRecord => {
		const drawn = inputs.map((input, inputIndex) => ({ input, ...generateInput(input, { seed, caseIndex, inputIndex }) }));
		const kinds = [...new Set(drawn.map(({ kind }) => kind))];
		const tensors: Record<string, Tensor> = Object.create(null);
		for (const { input, tensor } of drawn) tensors[input.name] = tensor;
		const mayFail = inputs.some(({ specs: own }) => own[caseIndex % own.length]?.kind === "boundary");
		return { id: `${caseIndex + 1}-${kinds.join("-")}`, tags: ["generated"], inputs: tensors, mayFail };
	});
	return { cases: made, how: Object.fromEntries(inputs.map(({ name, specs: own }) => [name, `${formatGenerator(own)}, SplitMix64`])) };
}

/** Tokens without a range lie in the table that the model looks them up in. */
function withVocabulary(spec: GeneratorSpec, port: InputPort, vocabulary: number | undefined): GeneratorSpec {
	const wants = (spec.kind === "tokens" || spec.kind === "boundary") && spec.range === undefined;
	if (!wants) return spec;
	if (vocabulary !== undefined) return { ...spec, range: [0, vocabulary - 1] };
	if (spec.kind === "boundary") return spec;
	throw usage(
		`The number of tokens for input ${quoteName(port.name)} is unknown.`,
		`Give the range: --generator ${quoteName(port.name, "")}=tokens:0..30521`,
	);
}

function parseGenerators(texts: readonly string[], ports: readonly InputPort[]): Map<string, readonly GeneratorSpec[]> {
	const specs = new Map<string, readonly GeneratorSpec[]>();
	for (const text of texts) {
		const parsed = parseGenerator(text);
		if (parsed.state === "wrong") throw usage(`--generator: ${parsed.problem}.`, parsed.fix);
		if (!ports.some(({ name }) => name === parsed.input)) {
			throw usage(
				`--generator: the model has no input ${quoteName(parsed.input)}.`,
				`Its inputs are ${ports.map(({ name }) => quoteName(name)).join(", ")}.`,
			);
		}
		specs.set(parsed.input, parsed.specs);
	}
	return specs;
}

function usage(message: string, fix: string): ConfigError {
	return new ConfigError({ code: "usage", message, details: { fix } });
}
