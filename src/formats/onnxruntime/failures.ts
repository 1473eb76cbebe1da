// Diagnoses ONNX Runtime's error messages: what each means and how to fix it.
import type { Failure } from "../../../generated/result.ts";
import { elementTypeOfCode } from "../../core/onnx/model.ts";

interface Rule {
	code: string;
	fix: string;
	kind?: "runner";
	pattern: RegExp;
	/** `{name}` is what the group of that name matched. */
	title: string;
}

/** The first match wins, so specific rules precede general ones. */
export const rules: readonly Rule[] = [
	{
		code: "ort-unsupported-op",
		fix: "Replace the operator at export, or run this model on TensorRT. ONNX Runtime on the CPU supports neither TensorRT plugins nor custom operators.",
		pattern: /(?<op>[\w.]+:\w+)\(-?\d+\) is not a registered function\/op/,
		title: "ONNX Runtime does not know the operator {op}.",
	},
	{
		code: "ort-unsupported-op",
		fix: "Export with the opset that has this operator, or replace the operator at export.",
		pattern: /No Op registered for (?<op>\S+) with domain_version of (?<opset>\d+)/,
		title: "ONNX Runtime knows no operator {op} in opset {opset}.",
	},
	{
		code: "ort-unsupported-op",
		fix: "Use a data type that ONNX Runtime supports on the CPU (bfloat16, float8 and int4 mostly are not), or run this model on TensorRT.",
		pattern:
			/Could not find an implementation for (?<op>\w+)\((?<version>\d+)\) node with name '(?<node>[^']*)'/,
		title: 'ONNX Runtime has no CPU kernel for {op} (version {version}) with these types, at node "{node}".',
	},
	{
		code: "ort-unsupported-dtype",
		fix: "Cast the graph's inputs and outputs to float32 or float16 at export, or run this model on TensorRT.",
		pattern: /[Uu]nsupported data type: (?<dtype>\d+)/,
		title: "An input or output is of type {dtype}, which ONNX Runtime's JavaScript API does not support.",
	},
	{
		code: "ort-newer-opset",
		fix: "Export with an older opset.",
		pattern:
			/Opset (?<opset>\d+) is under development[\s\S]*?domain (?<domain>\S+) is till opset (?<most>\d+)/,
		title: "The model uses opset {opset} of {domain}; ONNX Runtime supports opsets up to {most}.",
	},
	{
		code: "ort-newer-opset",
		fix: "Save the model with an older IR version (`model.ir_version` in Python).",
		pattern: /Unsupported model IR version: (?<ir>\d+), max supported IR version: (?<most>\d+)/,
		title: "The model's IR version is {ir}; ONNX Runtime supports versions up to {most}.",
	},
	{
		code: "ort-external-data",
		fix: "Save the external data in the model's folder.",
		pattern: /External data path escapes model directory\. External data path: "(?<file>[^"]*)"/,
		title: "The model refers to the external file {file}, which is outside the model's folder.",
	},
	...group(
		{
			code: "ort-external-data",
			fix: "Put the file next to the model. With Git LFS, fetch it (`git lfs pull`).",
		},
		[/External data path does not exist: \\?"(?<file>[^"\\]*)/, "The external data file {file} is missing."],
		[
			/external data file "+(?<file>[^"]*)"+, error: Module\.MountedFiles/,
			"The external data file {file} is missing.",
		],
	),
	...group(
		{
			code: "ort-external-data",
			fix: "Export the model again. With Git LFS, fetch the file (`git lfs pull`).",
		},
		[
			/External initializer: (?<tensor>\S+) .*given file_length: \d+/,
			"The external data of {tensor} is too short.",
		],
		[
			/external data file "+(?<file>[^"]*)"+, error: Out of bounds/,
			"The external data file {file} is too short.",
		],
	),
	{
		code: "ort-not-onnx",
		fix: "Export the model again. With Git LFS, fetch it (`git lfs pull`).",
		pattern: /[Pp]rotobuf parsing failed|No graph was found in the protobuf|ModelProto does not have a graph/,
		title: "The file is not a complete ONNX model.",
	},
	...group(
		{
			code: "ort-input-mismatch",
			fix: "Compare the golden's case, or `dims` and `inputs` in trtgate.yml, with the model's inputs.",
		},
		[
			/Got invalid dimensions for input: (?<input>.+) for the following indices\s+index: (?<axis>\d+) Got: (?<got>-?\d+) Expected: (?<expected>-?\d+)/,
			'Input "{input}" has size {got} in dimension {axis}, expected {expected}.',
		],
		[
			/Invalid rank for input: (?<input>.+) Got: (?<got>\d+) Expected: (?<expected>\d+)/,
			'Input "{input}" has {got} dimensions, expected {expected}.',
		],
		[
			/Unexpected input data type\. Actual: \(tensor\((?<got>\w+)\)\) , expected: \(tensor\((?<expected>\w+)\)\)/,
			"An input is of type {got}, expected {expected}.",
		],
		[/input '(?<input>.*)' is missing in 'feeds'/, 'The model\'s input "{input}" was not given.'],
	),
	{
		code: "ort-not-started",
		fix: "Use a runner with more memory, or raise the memory limit of its processes (`ulimit -v`, the container's memory).",
		kind: "runner",
		pattern:
			/no available backend found[\s\S]*(?:[Oo]ut of memory|could not allocate memory|Array buffer allocation failed)/,
		title: "ONNX Runtime could not start: too little memory is available to it.",
	},
	{
		code: "ort-out-of-memory",
		fix: "Use smaller shapes or a runner with more memory. WebAssembly is limited to 4 GiB; `onnxruntime: native` is not.",
		pattern:
			/std::bad_alloc|[Oo]ut of memory|Failed to allocate memory|Tensor shape is too large|Array buffer allocation failed|could not allocate memory/,
		title: "ONNX Runtime ran out of memory.",
	},
	{
		code: "ort-disk-full",
		fix: "Free space on the runner's disk.",
		kind: "runner",
		pattern: /ENOSPC|No space left on device/,
		title: "The disk is full.",
	},
	{
		code: "ort-runtime-broken",
		fix: "Delete the cache folder, or set `onnxruntime: wasm`.",
		kind: "runner",
		pattern:
			/no available backend found|Cannot find (?:module|package) |onnxruntime_binding|GLIBC|cannot open shared object|failed to asynchronously prepare wasm/,
		title: "ONNX Runtime itself failed to load.",
	},
	{
		code: "ort-invalid-graph",
		fix: "Run `trtgate preflight` on the file. If `onnx.checker.check_model(path, full_check=True)` finds no error, the WebAssembly build misreads it (a known case is the Size of a Shape): set `onnxruntime: native`, or fold constants before export.",
		pattern:
			/Can't merge shape info\. Both inferred and declared dimension have values but they differ\. Inferred=(?<one>\d+) Declared=(?<other>\d+)/,
		title: "ONNX Runtime infers the sizes {one} and {other} for one dimension.",
	},
	...group(
		{
			code: "ort-invalid-graph",
			fix: "Export the model again, and check it with `onnx.checker.check_model`.",
		},
		[
			/Node \((?<node>.*?)\) Op \((?<op>\w+)\) \[ShapeInferenceError\] (?<why>.*)/,
			'Shapes are incompatible at node "{node}" ({op}): {why}.',
		],
		[/\[ShapeInferenceError\] (?<why>.*)/, "Shapes are incompatible: {why}."],
		[/Type Error: (?<why>.*)/, "Types are incompatible: {why}"],
		[
			/Node input '(?<tensor>[^']*)' is not a graph input/,
			'A node reads the tensor "{tensor}", which nothing produces.',
		],
		[
			/\bError:? (?<why>.*(?:not acyclic|Duplicate definition|Unrecognized attribute|size \d+ not in range).*)/,
			"The graph is not valid: {why}",
		],
		[
			/(?<why>Unrecognized attribute: .*|Node\(.*\) with schema\(.*\) has (?:in|out)put size .*|[Ii]nvalid model\b.*)/,
			"The graph is not valid: {why}",
		],
	),
	...group(
		{
			code: "ort-run-failed",
			fix: "Give sizes and values that the model takes: `dims` and `inputs` in trtgate.yml, or --dims, --shape and --inputs.",
		},
		// Nodes around the failing one repeat its message, so the last one is the node itself.
		[
			/^[\s\S]*Non-zero status code returned while running (?<op>\w+) node\. Name:'(?<node>[^']*)' Status Message: (?<why>[^\n]*)/,
			'{op} "{node}" cannot run with these inputs: {why}',
		],
		[
			/^\S*\/onnxruntime\/core\/providers\/\S+:\d+ .* was false\. (?<why>[^\n]+)/,
			"A node cannot run with these inputs: {why}",
		],
	),
];

function group(
	shared: Pick<Rule, "code" | "fix">,
	...cases: readonly (readonly [pattern: RegExp, title: string])[]
) {
	return cases.map(([pattern, title]) => ({ ...shared, pattern, title }));
}

const longestTitle = 300;
const longestExcerptLine = 500;

export function diagnoseOrt(message: string): Failure {
	const text = stripFraming(message);
	const excerpt = text.split("\n", 20).map((line) => line.slice(0, longestExcerptLine));
	for (const { code, fix, kind, pattern, title } of rules) {
		const match = pattern.exec(text);
		if (match !== null)
			return { code, title: fill(title, match.groups ?? {}).slice(0, longestTitle), fix, excerpt, kind };
	}
	return {
		code: "ort-load-failed",
		title: "ONNX Runtime cannot load this model.",
		fix: "Read ONNX Runtime's message in the excerpt.",
		excerpt,
	};
}

function fill(title: string, groups: Readonly<Record<string, string>>) {
	return title.replace(/\{(\w+)\}/g, (_, name: string) => {
		const text = groups[name] ?? "";
		if (name !== "dtype") return text;
		const type = elementTypeOfCode(Number(text));
		return type === "unknown" ? `number ${text}` : type;
	});
}

export function explainRun(message: string): string {
	const { code, title, excerpt } = diagnoseOrt(message);
	return code === "ort-load-failed" ? (excerpt[0] ?? title) : title;
}

function stripFraming(message: string) {
	return message
		.slice(0, 10_000)
		.replace(/^(?:Can't create a session|failed to call \w+\(\))\. ERROR_CODE: \d+, ERROR_MESSAGE: /, "")
		.replace(/\S*\/onnxruntime\/core\/\S+:\d+ \S.*?\) (?=[A-Z])/, "")
		.trim();
}

/** `2026-11-21 10:06:32.621724 [W:onnxruntime:, graph.cc:5607 CleanUnused…] Removing initializer 's'. …` */
const warningLine = /\[W:onnxruntime:[^,\]]*, (?<file>[\w.-]+):\d+ (?<raiser>[^\]]+)\] (?<text>.*)/;
const maxClasses = 50;

interface WarningClass {
	class: string;
	count: number;
	example: string;
}

export function createWarningCounter(): { add(line: string): void; classes(): WarningClass[] } {
	const classes = new Map<string, WarningClass>();
	return {
		add(line) {
			const found = warningLine.exec(line)?.groups;
			if (found === undefined) return;
			const name = (found["raiser"] ?? found["file"] ?? "").slice(0, 100);
			const known = classes.get(name);
			if (known !== undefined) known.count += 1;
			else if (classes.size < maxClasses)
				classes.set(name, { class: name, count: 1, example: (found["text"] ?? "").slice(0, 300) });
		},
		classes: () => [...classes.values()].sort((a, b) => b.count - a.count || (a.class < b.class ? -1 : 1)),
	};
}
