// The catalogue of ONNX Runtime's error messages: what each means and how to fix it.

export const ortFailureCodes = [
	"ort-unsupported-op",
	"ort-unsupported-dtype",
	"ort-newer-opset",
	"ort-external-data",
	"ort-not-onnx",
	"ort-invalid-graph",
	"ort-input-mismatch",
	"ort-run-failed",
	"ort-not-started",
	"ort-out-of-memory",
	"ort-disk-full",
	"ort-runtime-broken",
	"ort-load-failed",
] as const;
export type OrtFailureCode = (typeof ortFailureCodes)[number];

export interface Rule {
	code: OrtFailureCode;
	pattern: RegExp;
	title: (names: Readonly<Record<string, string | undefined>>) => string;
	fix: string;
	/** Absent: the model is at fault. */
	kind?: "runner";
}

const reExport = "Export the model again, and check it with `onnx.checker.check_model`.";
const feedFix = "Compare the golden's case, or `dims` and `inputs` in trtgate.yml, with the model's inputs.";
const runFix =
	"Give sizes and values that the model takes: `dims` and `inputs` in trtgate.yml, or --dims, --shape and --inputs.";
const replaceOperator =
	"Replace the operator at export, or run this model on TensorRT. ONNX Runtime on the CPU supports neither TensorRT plugins nor custom operators.";

/** The first match wins, so specific rules precede general ones. */
export const rules: readonly Rule[] = [
	{
		code: "ort-unsupported-op",
		pattern: /(?<op>[\w.]+:\w+)\(-?\d+\) is not a registered function\/op/,
		title: ({ op }) => `ONNX Runtime does not know the operator ${op}.`,
		fix: replaceOperator,
	},
	{
		code: "ort-unsupported-op",
		pattern: /No Op registered for (?<op>\S+) with domain_version of (?<opset>\d+)/,
		title: ({ op, opset }) => `ONNX Runtime knows no operator ${op} in opset ${opset}.`,
		fix: "Export with the opset that has this operator, or replace the operator at export.",
	},
	{
		code: "ort-unsupported-op",
		pattern:
			/Could not find an implementation for (?<op>\w+)\((?<version>\d+)\) node with name '(?<node>[^']*)'/,
		title: ({ op, version, node }) =>
			`ONNX Runtime has no CPU kernel for ${op} (version ${version}) with these types, at node "${node}".`,
		fix: "Use a data type that ONNX Runtime supports on the CPU (bfloat16, float8 and int4 mostly are not), or run this model on TensorRT.",
	},
	{
		code: "ort-unsupported-dtype",
		pattern: /[Uu]nsupported data type: (?<dtype>\d+)/,
		title: ({ dtype }) =>
			`An input or output is of type ${dtypeName(dtype)}, which ONNX Runtime's JavaScript API does not support.`,
		fix: "Cast the graph's inputs and outputs to float32 or float16 at export, or run this model on TensorRT.",
	},
	{
		code: "ort-newer-opset",
		pattern:
			/Opset (?<opset>\d+) is under development[\s\S]*?domain (?<domain>\S+) is till opset (?<most>\d+)/,
		title: ({ opset, domain, most }) =>
			`The model uses opset ${opset} of ${domain}; ONNX Runtime supports opsets up to ${most}.`,
		fix: "Export with an older opset.",
	},
	{
		code: "ort-newer-opset",
		pattern: /Unsupported model IR version: (?<ir>\d+), max supported IR version: (?<most>\d+)/,
		title: ({ ir, most }) => `The model's IR version is ${ir}; ONNX Runtime supports versions up to ${most}.`,
		fix: "Save the model with an older IR version (`model.ir_version` in Python).",
	},
	{
		code: "ort-external-data",
		pattern: /External data path escapes model directory\. External data path: "(?<file>[^"]*)"/,
		title: ({ file }) =>
			`The model refers to the external file ${file}, which is outside the model's folder.`,
		fix: "Save the external data in the model's folder.",
	},
	{
		code: "ort-external-data",
		pattern:
			/External data path does not exist: \\?"(?<file>[^"\\]*)|external data file "+(?<other>[^"]*)"+, error: Module\.MountedFiles/,
		title: ({ file, other }) => `The external data file ${file ?? other} is missing.`,
		fix: "Put the file next to the model. With Git LFS, fetch it (`git lfs pull`).",
	},
	{
		code: "ort-external-data",
		pattern:
			/External initializer: (?<tensor>\S+) .*given file_length: (?<got>\d+)|external data file "+(?<file>[^"]*)"+, error: Out of bounds/,
		title: ({ tensor, file }) =>
			file === undefined
				? `The external data of ${tensor} is too short.`
				: `The external data file ${file} is too short.`,
		fix: "Export the model again. With Git LFS, fetch the file (`git lfs pull`).",
	},
	{
		code: "ort-not-onnx",
		pattern: /[Pp]rotobuf parsing failed|No graph was found in the protobuf|ModelProto does not have a graph/,
		title: () => "The file is not a complete ONNX model.",
		fix: "Export the model again. With Git LFS, fetch it (`git lfs pull`).",
	},
	{
		code: "ort-input-mismatch",
		pattern:
			/Got invalid dimensions for input: (?<input>.+) for the following indices\s+index: (?<axis>\d+) Got: (?<got>-?\d+) Expected: (?<expected>-?\d+)/,
		title: ({ input, axis, got, expected }) =>
			`Input "${input}" has size ${got} in dimension ${axis}, expected ${expected}.`,
		fix: feedFix,
	},
	{
		code: "ort-input-mismatch",
		pattern: /Invalid rank for input: (?<input>.+) Got: (?<got>\d+) Expected: (?<expected>\d+)/,
		title: ({ input, got, expected }) => `Input "${input}" has ${got} dimensions, expected ${expected}.`,
		fix: feedFix,
	},
	{
		code: "ort-input-mismatch",
		pattern:
			/Unexpected input data type\. Actual: \(tensor\((?<got>\w+)\)\) , expected: \(tensor\((?<expected>\w+)\)\)/,
		title: ({ got, expected }) => `An input is of type ${got}, expected ${expected}.`,
		fix: feedFix,
	},
	{
		code: "ort-input-mismatch",
		pattern: /input '(?<input>.*)' is missing in 'feeds'/,
		title: ({ input }) => `The model's input "${input}" was not given.`,
		fix: feedFix,
	},
	{
		code: "ort-not-started",
		pattern:
			/no available backend found[\s\S]*(?:[Oo]ut of memory|could not allocate memory|Array buffer allocation failed)/,
		title: () => "ONNX Runtime could not start: too little memory is available to it.",
		fix: "Use a runner with more memory, or raise the memory limit of its processes (`ulimit -v`, the container's memory).",
		kind: "runner",
	},
	{
		code: "ort-out-of-memory",
		pattern:
			/std::bad_alloc|[Oo]ut of memory|Failed to allocate memory|Tensor shape is too large|Array buffer allocation failed|could not allocate memory/,
		title: () => "ONNX Runtime ran out of memory.",
		fix: "Use smaller shapes or a runner with more memory. WebAssembly is limited to 4 GiB; `onnxruntime: native` is not.",
	},
	{
		code: "ort-disk-full",
		pattern: /ENOSPC|No space left on device/,
		title: () => "The disk is full.",
		fix: "Free space on the runner's disk.",
		kind: "runner",
	},
	{
		code: "ort-runtime-broken",
		pattern:
			/no available backend found|Cannot find (?:module|package) |onnxruntime_binding|GLIBC|cannot open shared object|failed to asynchronously prepare wasm/,
		title: () => "ONNX Runtime itself failed to load.",
		fix: "Delete the cache folder, or set `onnxruntime: wasm`.",
		kind: "runner",
	},
	{
		code: "ort-invalid-graph",
		pattern:
			/Can't merge shape info\. Both inferred and declared dimension have values but they differ\. Inferred=(?<one>\d+) Declared=(?<other>\d+)/,
		title: ({ one, other }) => `ONNX Runtime infers the sizes ${one} and ${other} for one dimension.`,
		fix: "Run `trtgate preflight` on the file. If `onnx.checker.check_model(path, full_check=True)` finds no error, the WebAssembly build misreads it (a known case is the Size of a Shape): set `onnxruntime: native`, or fold constants before export.",
	},
	{
		code: "ort-invalid-graph",
		pattern: /Node \((?<node>.*?)\) Op \((?<op>\w+)\) \[ShapeInferenceError\] (?<why>.*)/,
		title: ({ node, op, why }) => `Shapes are incompatible at node "${node}" (${op}): ${why}.`,
		fix: reExport,
	},
	{
		code: "ort-invalid-graph",
		pattern: /\[ShapeInferenceError\] (?<why>.*)/,
		title: ({ why }) => `Shapes are incompatible: ${why}.`,
		fix: reExport,
	},
	{
		code: "ort-invalid-graph",
		pattern: /Type Error: (?<why>.*)/,
		title: ({ why }) => `Types are incompatible: ${why}`,
		fix: reExport,
	},
	{
		code: "ort-invalid-graph",
		pattern: /Node input '(?<tensor>[^']*)' is not a graph input/,
		title: ({ tensor }) => `A node reads the tensor "${tensor}", which nothing produces.`,
		fix: reExport,
	},
	{
		code: "ort-invalid-graph",
		pattern:
			/\bError:? (?<why>.*(?:not acyclic|Duplicate definition|Unrecognized attribute|size \d+ not in range).*)/,
		title: ({ why }) => `The graph is not valid: ${why}`,
		fix: reExport,
	},
	{
		code: "ort-invalid-graph",
		pattern:
			/(?<why>Unrecognized attribute: .*|Node\(.*\) with schema\(.*\) has (?:in|out)put size .*|[Ii]nvalid model\b.*)/,
		title: ({ why }) => `The graph is not valid: ${why}`,
		fix: reExport,
	},
	{
		code: "ort-run-failed",
		// Every node around the one that failed repeats its message: the last is that of the node itself.
		pattern:
			/^[\s\S]*Non-zero status code returned while running (?<op>\w+) node\. Name:'(?<node>[^']*)' Status Message: (?<why>[^\n]*)/,
		title: ({ op, node, why }) => `${op} "${node}" cannot run with these inputs: ${why}`,
		fix: runFix,
	},
	{
		code: "ort-run-failed",
		pattern: /^\S*\/onnxruntime\/core\/providers\/\S+:\d+ .* was false\. (?<why>[^\n]+)/,
		title: ({ why }) => `A node cannot run with these inputs: ${why}`,
		fix: runFix,
	},
];

/** ONNX `TensorProto.DataType`: the codes that ONNX Runtime's JavaScript API does not support. */
const unsupportedTypes: Readonly<Record<string, string>> = {
	14: "complex64",
	15: "complex128",
	16: "bfloat16",
	17: "float8e4m3fn",
	18: "float8e4m3fnuz",
	19: "float8e5m2",
	20: "float8e5m2fnuz",
	21: "uint4",
	22: "int4",
	23: "float4e2m1",
	24: "float8e8m0",
};

function dtypeName(code: string | undefined): string {
	return unsupportedTypes[code ?? ""] ?? `number ${code}`;
}
