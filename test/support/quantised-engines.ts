// Layer files as TensorRT 8 writes them of quantised networks: no metadata, nodes counted anew by each export, one profile of one inference.
import { parseProfile } from "../../src/formats/trtexec/layer-profile.ts";
import { parseLayerInfo } from "../../src/formats/trtexec/layers.ts";
import type { RecordedEngine } from "./recorded-engines.ts";

type Type = "Int8" | "Half" | "Float";
type Tensor = readonly [name: string, type: Type];

const tensor = ([Name, type]: Tensor, size: number) => ({
	Name,
	Dimensions: [8, 64, size, size],
	"Format/Datatype": `Row major ${type}`,
});

interface Layer {
	name: string;
	type?: string;
	reads: readonly Tensor[];
	writes: Tensor;
	size?: number;
	fields?: object;
	us: number;
}

function engine(layers: readonly Layer[]): RecordedEngine {
	const Layers = layers.map(({ name, type = "CaskConvolution", reads, writes, size = 28, fields = {} }) => ({
		Name: name,
		LayerType: type,
		Inputs: reads.map((one) => tensor(one, size)),
		Outputs: [tensor(writes, size)],
		...(type === "CaskConvolution"
			? { ParameterType: "Convolution", Kernel: [3, 3], Weights: { Type: "Int8", Count: 36864 } }
			: {}),
		...fields,
	}));
	const times = layers.map(
		({ name, us }) =>
			`{ "name" : "${name}", "timeMs" : ${us / 1000}, "averageMs" : ${us / 1000}, "medianMs" : ${us / 1000}, "percentage" : 1 }`,
	);
	return {
		info: parseLayerInfo(JSON.stringify({ Layers, Bindings: [] })),
		profiles: [parseProfile(`[\n  { "count" : 1 }\n, ${times.join("\n, ")}\n]\n`)],
	};
}

/** Six blocks: the residual is added in 8 bits, or in halves that are quantised again before the next block. */
export function residualNet({ quantised, first }: { quantised: boolean; first: number }): RecordedEngine {
	let node = first;
	const block = (at: number): Layer[] => {
		const between: Type = quantised ? "Int8" : "Half";
		const [input, quantisedInput] = [`x${at}`, quantised ? `x${at}` : `q${at}`];
		const quantise: Layer = {
			name: `QuantizeLinear_${node++}`,
			type: "Reformat",
			reads: [[input, between]],
			writes: [quantisedInput, "Int8"],
			fields: { ParameterType: "Reformat", Origin: "QDQ" },
			us: 20.48,
		};
		const convolution = (which: number, reads: readonly Tensor[], writes: Tensor): Layer => ({
			name: `layer${at}.conv${which}.weight + QuantizeLinear_${node++} + Conv_${node++}`,
			...{ reads, writes, us: 30.72 },
		});
		return [
			...(quantised ? [] : [quantise]),
			convolution(1, [[quantisedInput, "Int8"]], [`h${at}`, "Int8"]),
			convolution(
				2,
				[
					[`h${at}`, "Int8"],
					[input, between],
				],
				[`x${at + 1}`, between],
			),
		];
	};
	return engine(Array.from({ length: 6 }, (_, at) => block(at)).flat());
}

export function pooledNet({ fused }: { fused: boolean }): RecordedEngine {
	const pooling = { ParameterType: "Pooling", PoolingType: "MAX", WindowSize: [3, 3] };
	const own = {
		ConvParameterType: "Convolution",
		ConvKernel: [3, 3],
		ConvOutMaps: 64,
		ConvWeights: { Type: "Int8", Count: 36864 },
	};
	const last: Layer = {
		...{
			name: `tail.weight + Conv_${fused ? 31 : 52}`,
			reads: [["b", "Int8"]],
			writes: ["c", "Int8"],
			us: 30.72,
		},
		fields: { Kernel: [1, 1], Weights: { Type: "Int8", Count: 4096 } },
	};
	const first = "conv1.weight + Conv_3";
	if (fused)
		return engine([
			{
				...{
					name: `${first} + MaxPool_4`,
					type: "ConvActPool",
					reads: [["x", "Int8"]],
					writes: ["b", "Int8"],
					size: 14,
					us: 40.96,
				},
				fields: { ParameterType: "ConvActPool", ...own },
			},
			last,
		]);
	return engine([
		{ name: "conv1.weight + Conv_11", reads: [["x", "Int8"]], writes: ["a", "Int8"], us: 61.44 },
		{
			name: "MaxPool_12",
			type: "TiledPooling",
			reads: [["a", "Int8"]],
			writes: ["b", "Int8"],
			size: 14,
			fields: pooling,
			us: 51.2,
		},
		last,
	]);
}
