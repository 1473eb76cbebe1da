// Failures while running an engine, and runs whose outputs cannot be trusted.
import { dumpBytes } from "../output-dump.ts";
import type { LogLine } from "../transcript.ts";
import { cudaError, type Facts, type Rule, warning } from "./rule.ts";

export const inferenceRules: readonly Rule[] = [
	{
		code: "input-name-unknown",
		lines: [
			/Cannot find input tensor with name "(?<input>[^"]*)" in the engine bindings/,
			/Invalid tensor names found in --loadInputs/,
		],
		title: "Values were given for {input: input}, but the engine has no such input.",
		fix: "Use the input name of the model in the golden manifest; `trtgate preflight MODEL` lists the inputs.",
	},
	{
		code: "input-file-missing",
		lines: /Cannot open file (?<file>.+?)!?$/,
		title: "The input file {file} cannot be opened.",
		fix: "Check the path, and that the golden's files were fetched (Git LFS).",
	},
	{
		code: "input-file-size",
		lines: [
			/Unexpected file size for input file: (?<file>.+?)\. Note: Input binding size is: (?<want>\d+) bytes but the file size is (?<got>\d+) bytes/,
			/Unexpected file size for input file/,
		],
		title: (names) =>
			`The input file ${names["file"] ?? ""} has ${names["got"] ? `${names["got"]} bytes` : "the wrong size"}${names["want"] ? `; the engine's input takes ${names["want"]}` : ""}.`,
		fix: "Provide the input in the engine's type and in the shape of this run.",
	},
	{
		code: "accuracy-failed",
		lines: /Accuracy validation FAILED/,
		title:
			"trtexec's own accuracy check failed: an output differs from its reference by more than the threshold.",
		fix: "Rely on trtgate's golden check instead: trtexec's check lets NaN pass and supports few types.",
	},
	{
		code: "gpu-memory-run",
		kind: "runner",
		lines: [cudaError("out of memory"), /Error Code 2: OutOfMemory/],
		title: "The GPU had too little free memory to run the engine.",
		fix: "Check with nvidia-smi what else uses memory on this GPU. Run alone, with smaller shapes, or on a larger GPU.",
	},
	{
		code: "context-failed",
		kind: "runner",
		rank: "symptom",
		lines: /Unable to create execution context/,
		title: "TensorRT could not create an execution context, most often because GPU memory is short.",
		fix: "Check with nvidia-smi what else uses memory on this GPU. Run alone or with smaller shapes.",
	},
	{
		code: "inference-failed",
		rank: "fallback",
		lines: [/Error occurred during inference/, /Inference set up failed/],
		title: "The engine was loaded but could not be run, for an unknown reason.",
		fix: "Read the error lines below. Check shapes, input files and free GPU memory.",
	},
];

interface WrongFile {
	name: string;
	path: string;
	line: LogLine;
	got?: number;
	want?: number | null;
}

const loaded = (facts: Facts): WrongFile[] =>
	[...facts.log.loadedInputs].flatMap(([name, { path, line }]) => {
		const got = facts.inputs.get(path);
		const dump = facts.log.dumps.get(`input ${name}`);
		const want = dump ? dumpBytes(dump.tensor) : null;
		return got === undefined || want === null || got === want ? [] : [{ name, path, got, want, line }];
	});

const openDumps = (facts: Facts): WrongFile[] =>
	[...facts.log.dumps.values()].flatMap(({ tensor, line }) =>
		tensor.dims.some((size) => size < 0) ? [{ ...tensor, line }] : [],
	);

const shortDumps = (facts: Facts): WrongFile[] =>
	[...facts.log.dumps.values()].flatMap(({ tensor, line }) => {
		const want = dumpBytes(tensor);
		const got = facts.wrote?.get(tensor.path)?.bytes;
		return want === null || got === undefined || got === want ? [] : [{ ...tensor, line, got, want }];
	});

/** The rule fires if the run has such a file; names and lines come from the first and from all. */
const about = (found: (facts: Facts) => WrongFile[]): Pick<Rule, "when" | "names" | "show"> => ({
	when: (facts) => found(facts).length > 0,
	names: (facts) => {
		const [{ name, path, got, want } = { name: "", path: "" }] = found(facts);
		return { name, path, got: String(got), want: String(want) };
	},
	show: (facts) => found(facts).map(({ line }) => line),
});

export const inferenceFalseSuccess: readonly Rule[] = [
	{
		code: "input-file-longer",
		...about(loaded),
		title:
			"The input file {path} has {got} bytes, but {input: name} takes {want}. trtexec read only the first part and reported success.",
		fix: "Provide the input in the shape and type of this run. The golden was probably recorded for another batch size or type.",
	},
	{
		code: "raw-dump-truncated",
		...about(openDumps),
		title:
			"The shape of {output: name} depends on the data, and trtexec's raw dump contains only its first values.",
		fix: "Install TensorRT's Python package: golden cases then run in it and read such outputs completely. Do not use trtexec's raw file.",
	},
	{
		code: "raw-dump-size",
		kind: "runner",
		...about(shortDumps),
		title: "The raw file of {tensor: name} has {got} bytes, but its shape needs {want}.",
		fix: "Check the free disk space, and that no other run writes to the same folder. Run again in a separate folder.",
	},
	{
		code: "inputs-random",
		when: (facts) =>
			facts.log.randomInputs.size > 0 && (facts.log.loadedInputs.size > 0 || facts.flags.has("--loadInputs")),
		names: (facts) => ({ input: [...facts.log.randomInputs.keys()].join(", ") }),
		show: (facts) => [...facts.log.randomInputs.values()],
		title: "Values were given for only some inputs; trtexec filled {input: input} with random numbers.",
		fix: "Provide a file for every input of the engine. The outputs of this run are meaningless.",
	},
	{
		code: "cuda-graph-refused",
		lines: [warning(/CUDA graph capture (?:on the stream has )?failed/)],
		title:
			"The engine cannot be captured as a CUDA graph. trtexec measured it without one and reported success.",
		fix: "Set cuda-graph: false for this workload, so that base and head are measured the same way.",
	},
];
