// Failures while reading the ONNX file.
import type { Rules } from "./rule.ts";

const unreadable = {
	title: "The file is not a readable ONNX model: it is truncated, in another format, or a Git LFS pointer.",
	fix: "Check its size and first bytes. Fetch it (git lfs pull) or export it again, and run onnx.checker on it.",
};

export const parsingRules: Rules = {
	"onnx-path-empty": {
		lines: [/Could not open file\s*$/, /Input file cannot be found, or is not a regular file:\s*$/],
		title: "The path of the ONNX file is empty.",
		fix: "Check the variable or expression that sets the model path: `--onnx=` got no value.",
	},
	"onnx-file-missing": {
		lines: [
			/Could not open file (?<file>\S.*)$/,
			/Input file cannot be found, or is not a regular file:\s*(?<file>\S.*)$/,
			/Could not open (?:ONNX )?model file:? (?<file>\S.*)$/i,
		],
		title: "The ONNX file {file} does not exist or is not a regular file.",
		fix: "Check the path, the working directory, and that the export or Git LFS wrote the file.",
	},
	"onnx-too-large": {
		lines: /exceed(?:s|ed)\s+maximum protobuf size/i,
		title: "The ONNX file exceeds the protobuf limit of 2 GB.",
		fix: "Export the model with external data, which stores the weights in a separate file.",
	},
	"onnx-unreadable": [
		{ lines: [/MODEL_DESERIALIZE_FAILED/, /Failed to parse the ONNX model/], ...unreadable },
		{ rank: "symptom", lines: /Failed to parse ONNX model from file: /, ...unreadable },
	],
	"external-weights-missing": {
		lines: [/Failed to open file: (?<file>.+)$/, /Failed to read weights from external file: (?<file>.+)$/],
		title: "The model stores weights in {file|another file}, which cannot be opened.",
		fix: "Put the external data file where the ONNX file refers to it. Upload or cache both together.",
	},
	"external-weights-size": {
		lines: /Unexpected size for the external weights/,
		title: "The size of the external weights file differs from what the ONNX file states.",
		fix: "The two come from different exports. Export both again and keep them together.",
	},
	"external-weights-path": {
		lines: [/paths? to parent \(\.\.\/\) are not allowed/, /[Aa]bsolute paths? .*external weights/],
		title: "The model refers to external weights outside its folder, which TensorRT does not allow.",
		fix: "Save the model again with the external data in the ONNX file's folder.",
	},
	"initializer-refused": {
		rank: "symptom",
		lines: [
			/Failed to import initializer: (?<tensor>(?!In node)\S.*)$/,
			/initializer (?<tensor>.+) cannot be imported/,
		],
		title: "TensorRT cannot import the constant {tensor: tensor}.",
		fix: "Check the tensor's type and external data. Export it again as float32, float16, int32 or int64.",
	},
	"plugin-not-found": {
		lines: [
			/Cannot find plugin: (?<plugin>[^,]+), version/,
			/could not find plugin:? (?<plugin>\S+)/i,
			/Plugin not found, are the plugin name/,
		],
		title: "TensorRT has no {operator or plugin: plugin} for {at}.",
		fix: "Load the plugin's library (--staticPlugins or --dynamicPlugins), check its name, version and namespace, or replace the operator in the model.",
	},
	"tensor-missing": {
		lines: [/Node input was not registered/, /tensors\(\)\.count\(inputName\)/],
		title: "The ONNX graph is broken: {at} reads a tensor that nothing produces.",
		fix: "Run onnx.checker on the model, and fix what removed the tensor.",
	},
	"node-shapes-conflict": {
		lines: [
			/last dimension of input0 .* must match/,
			/dimensions? (?:are )?(?:not compatible|must be equal|must match)/i,
			/broadcast dimensions must be conformable/i,
			/reshape (?:would )?chang(?:es|ing) volume/i,
			/all (?:concat )?input tensors must have the same (?:dimensions|number of dimensions)/i,
		],
		title: "The input shapes of {at} are incompatible.",
		fix: "Run onnx.shape_inference in strict mode. Check that fixed sizes match the shapes you build for.",
	},
	"node-types-conflict": {
		lines: [
			/element type \(?\w+\)? differs from/i,
			/must have (?:the )?same (?:data ?|element )?types?\b/i,
			/mixed (?:data|element) types/i,
		],
		title: "The inputs of {at} have different types, which a strongly typed network does not convert.",
		fix: "Insert Cast nodes, or convert the whole model with one tool.",
	},
	"conditional-shapes": {
		lines: [
			/IIfConditionalOutputLayer inputs must have the same shape/,
			/Assertion tScope\.getType\(\) != ScopeType::kUNDEFINED failed/,
		],
		title: "TensorRT cannot build an If of this model: its two branches have different shapes.",
		fix: "Export without the If, or give both branches one shape. `trtgate preflight --tensorrt VERSION` names the nodes.",
	},
	"squeeze-axes": {
		lines: /Cannot infer squeeze dimensions from a dynamic shape/,
		title:
			"{at} names no axes and its input has dynamic dimensions, so TensorRT cannot infer what to squeeze.",
		fix: "Export again with the axes of Squeeze stated, or with fixed input sizes.",
	},
	"dequantize-type": {
		lines: /A DequantizeLayer can only run in/,
		title: "{at} dequantises a type that TensorRT does not support; it supports int8, int4 and float8.",
		fix: "Keep biases in float (onnxruntime.quantization: extra_options={'QuantizeBias': False}), or remove this Q/DQ pair.",
	},
	"topk-limit": {
		lines: [/K exceeds the maximum value allowed/, /only supports input K as an initializer/],
		title: "The K of {at} is too large for TensorRT (over 3840) or not a constant.",
		fix: "Lower K, make it a constant in the graph, or split the selection into two steps.",
	},
	"zero-point-unsupported": {
		lines: [/shiftIsAllZeros/, /non-?zero zero[- ]point/i],
		title: "The quantisation at {at} is asymmetric: TensorRT supports only zero points of 0.",
		fix: "Quantise symmetrically (int8, zero point 0) and export again.",
	},
	"scale-not-positive": {
		lines: /Scale coefficients? must all be positive/,
		title: "A quantisation scale at {at} is zero, negative or not a number.",
		fix: "Calibrate again with inputs that exercise this tensor, or do not quantise it.",
	},
	"data-type-unsupported": {
		lines: /Unsupported ONNX data type: (?<type>\w+)/,
		title: "The model uses the element type {type} where TensorRT does not support it.",
		fix: "Cast the tensor to a supported type in the model.",
	},
	"network-without-output": {
		lines: /[Nn]etwork must have at least one output/,
		title: "The ONNX graph has no output, so there is nothing to build.",
		fix: "Name the outputs in the export, and check that no optimization pass removed them.",
	},
	"operator-unsupported": {
		lines: [
			/^\s*\[8\] /,
			/UNSUPPORTED_NODE(?!.*(?:initializer|convertOnnxWeights))/,
			/No importer registered for op: (?<op>\w+)/,
		],
		title: "TensorRT {version} does not support the operator of {at}.",
		fix: "Rewrite that part of the model with supported operators, provide a plugin, or use a newer TensorRT.",
	},
	"node-refused": {
		rank: "symptom",
		lines: [/While parsing node number \d+/, /INVALID_NODE|INVALID_GRAPH/],
		title: "TensorRT rejected {at} of the model.",
		fix: "Find the failed assertion below. Run onnx.checker and shape inference on the model.",
	},
	"parse-failed": {
		rank: "fallback",
		lines: [/Failed to parse onnx file/i, /Parsing model failed/],
		title: "TensorRT could not parse the model for an unknown reason.",
		fix: "Read the lines below, and run onnx.checker. The saved log ends with the node where it stopped.",
	},
};
