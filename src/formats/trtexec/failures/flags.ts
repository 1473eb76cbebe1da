// Failures of the command line itself: trtexec stops before it does anything.
import { error, type Rule } from "./rule.ts";

export const flagRules: readonly Rule[] = [
	{
		code: "precision-flag-removed",
		kind: "refusal",
		rank: "cause",
		lines: [
			error(
				/Unknown option: --(?<flag>fp16|bf16|int8|fp8|int4|best|calib|precisionConstraints|layerPrecisions|layerOutputTypes|weightless|restricted)\b/,
			),
		],
		when: (facts) => (facts.log.version?.major ?? 11) >= 11,
		title: (names) => `TensorRT 11 has no --${names["flag"] ?? "precision flag"}: the ONNX file's own types are the precision.`,
		fix: "Convert the model (ModelOpt AutoCast for fp16 and bf16, Q/DQ for int8, fp8 and int4) and build from that ONNX file.",
	},
	{
		code: "flag-unknown",
		kind: "refusal",
		rank: "cause",
		lines: [error(/Unknown option: (?<flag>\S+)/)],
		title: (names) => `This trtexec does not know ${names["flag"] ?? "a flag"}, or got it twice.`,
		fix: "Check the flag's spelling and that this TensorRT version has it; flag and value are joined by `=`.",
	},
	{
		code: "io-format-invalid",
		kind: "refusal",
		rank: "cause",
		lines: [error(/Invalid (?:DataType|TensorFormat) (?<value>.+)$/)],
		title: (names) => `The input or output format "${names["value"] ?? ""}" is none that this trtexec knows.`,
		fix: "Use type:format up to TensorRT 10 (fp16:chw) and the format alone from 11 on (chw).",
	},
	{
		code: "flag-value-invalid",
		kind: "refusal",
		rank: "cause",
		lines: [
			error(/(?<why>Negative memory pool size.*)$/),
			error(/\[E\] (?<why>.*is ?not in \[\d+,\s*\d+\].*)$/),
			error(/\[E\] (?<why>sto(?:i|f|d|ul|l))\s*$/),
			error(/Uncaught exception detected: (?<why>sto\w*)/),
		],
		title: (names) => `A flag of trtexec has a value that it does not take: ${names["why"] ?? ""}.`,
		fix: "Correct the value in the config or the extra flags; `stoi` and `stof` mean that it is not a number.",
	},
	{
		code: "flag-value-invalid",
		kind: "refusal",
		rank: "symptom",
		lines: [error(/\[E\] (?<why>.+)$/)],
		// trtexec prints its whole help before it complains about a flag, and only then.
		when: (facts) => facts.log.printedHelp,
		title: (names) => `trtexec refused its command line: ${names["why"] ?? ""}.`,
		fix: "Correct the flag in the config or the extra flags; `trtexec --help` tells what this version takes.",
	},
	{
		code: "model-not-given",
		kind: "refusal",
		rank: "cause",
		lines: [error(/Model missing or format not recognized/)],
		title: () => "trtexec was given neither a model nor an engine.",
		fix: "Give --onnx=FILE or --loadEngine=FILE, with the value joined by `=`.",
	},
];

export const noArguments: Rule = {
	code: "no-arguments",
	kind: "refusal",
	rank: "cause",
	when: (facts) => facts.log.printedHelp && facts.argumentCount === 0,
	title: () => "trtexec was started without arguments: it printed its help, did nothing and reported success.",
	fix: "Check the script that should have given the arguments: a variable is empty.",
};
