// What to do about an operator that TensorRT does not import, by the family that it belongs to.

const families: readonly { names: RegExp; advice: string }[] = [
	{
		names: /^(QLinear|MatMulInteger$|ConvInteger$|DynamicQuantizeLinear$)/,
		advice: "Quantise again in the QDQ format (QuantizeLinear and DequantizeLinear around float operators), symmetric INT8.",
	},
	{
		names: /^(Sequence|Optional|SplitToSequence$|ConcatFromSequence$)/,
		advice:
			"Export without sequences and optional values (Split, Concat and Gather do the same on tensors); simplifying with onnxsim often removes them.",
	},
	{
		names: /^(String|RegexFullMatch$|TfIdfVectorizer$|ImageDecoder$|MelWeightMatrix$)/,
		advice: "Do this step before the engine, outside of the model.",
	},
	{ names: /(Loss$)|^(Bernoulli|Multinomial)$/, advice: "Export the model for inference, not for training." },
];

/** `listedFirst` is the first TensorRT known to import the operator. */
export function adviceFor(op: string, listedFirst: string | null): string {
	if (listedFirst !== null)
		return `Build with TensorRT ${listedFirst} or newer, or export with an older opset, which writes simpler operators.`;
	const family = families.find(({ names }) => names.test(op));
	return family?.advice ?? "Replace it before export, or compute it outside of the engine; else it needs a plugin of that name.";
}
