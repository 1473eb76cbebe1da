// Failures of the command line: trtexec stops before it does anything.
import type { Rule } from "./rule.ts";

export const flagRules: readonly Rule[] = [
	{
		code: "precision-flag-removed",
		lines:
			/Unknown option: --(?<flag>fp16|bf16|int8|fp8|int4|best|calib|precisionConstraints|layerPrecisions|layerOutputTypes|weightless|restricted)\b/,
		when: (facts) => (facts.log.version?.major ?? 11) >= 11,
		title: "TensorRT 11 removed --{flag|precision flag}: the types in the ONNX file decide the precision.",
		fix: "Convert the model (ModelOpt AutoCast for fp16 and bf16, Q/DQ for int8, fp8 and int4) and build from that ONNX file.",
	},
	{
		code: "flag-unknown",
		lines: /Unknown option: (?<flag>\S+)/,
		title: "This trtexec does not accept {flag|a flag}: it is unknown or given twice.",
		fix: "Check the flag's spelling and that this TensorRT version has it. Join flag and value with `=`.",
	},
	{
		code: "io-format-invalid",
		lines: /Invalid (?:DataType|TensorFormat) (?<value>.+)$/,
		title: 'This trtexec does not know the input or output format "{value}".',
		fix: "Use type:format up to TensorRT 10 (fp16:chw), and only the format from TensorRT 11 on (chw).",
	},
	{
		code: "flag-value-invalid",
		lines: [
			/(?<why>Negative memory pool size.*)$/,
			/\[E\] (?<why>.*is ?not in \[\d+,\s*\d+\].*)$/,
			/\[E\] (?<why>sto(?:i|f|d|ul|l))\s*$/,
			/Uncaught exception detected: (?<why>sto\w*)/,
		],
		title: "A trtexec flag has an invalid value: {why}.",
		fix: "Correct the value in the config or the extra flags. `stoi` and `stof` mean that it is not a number.",
	},
	{
		code: "flag-value-invalid",
		rank: "symptom",
		lines: /\[E\] (?<why>.+)$/,
		// trtexec prints its whole help before it complains about a flag, and only then.
		when: (facts) => facts.log.printedHelp,
		title: "trtexec rejected its command line: {why}.",
		fix: "Correct the flag in the config or the extra flags. `trtexec --help` lists what this version accepts.",
	},
	{
		code: "model-not-given",
		lines: /Model missing or format not recognized/,
		title: "trtexec was given neither a model nor an engine.",
		fix: "Pass --onnx=FILE or --loadEngine=FILE, joined with `=`.",
	},
];

export const noArguments: Rule = {
	code: "no-arguments",
	when: (facts) => facts.log.printedHelp && facts.argumentCount === 0,
	title: "trtexec was started without arguments. It printed its help, did nothing and reported success.",
	fix: "Check the script that starts trtexec: a variable is probably empty.",
};
