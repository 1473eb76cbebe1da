// Runs that ended with exit code 0 and PASSED but did not do their job; worst first.
import { quoteName } from "../../../core/text/escape.ts";
import { formatBytes } from "../../../core/text/units.ts";
import { dumpBytes } from "../output-dump.ts";
import type { LogLine } from "../transcript.ts";
import { planRefused } from "./building.ts";
import { type Facts, info, type Rule, type Rules, warning } from "./rule.ts";

const mebibyte = 1024 * 1024;
// ONNX 1.23 defines opset 28 and adds about two a year; a much larger number is an exporter bug. TensorRT accepts any.
const farthestOpset = 36;

const exportFlags = ["--exportTimes", "--exportProfile", "--exportLayerInfo", "--exportOutput"];

const isUnwritten = ({ absent, wrote }: Facts, path: string) =>
	path !== "" && (absent?.includes(path) === true || wrote?.get(path) === 0);
const unwrittenExports = (facts: Facts) =>
	exportFlags.map((flag) => facts.flags.get(flag) ?? "").filter((path) => isUnwritten(facts, path));

interface WrongFile {
	name: string;
	path: string;
	line: LogLine;
	got?: number;
	want?: number | null;
}

const longInputs = ({ log, inputs }: Facts) =>
	[...log.loadedInputs].flatMap(([name, { path, line }]) => {
		const got = inputs.get(path);
		const dump = log.dumps.get(`input ${name}`);
		const want = dump ? dumpBytes(dump.tensor) : null;
		return got === undefined || want === null || got === want ? [] : [{ name, path, got, want, line }];
	});

const openDumps = ({ log }: Facts) =>
	[...log.dumps.values()].flatMap(({ tensor, line }) =>
		tensor.dims.some((size) => size < 0) ? [{ ...tensor, line }] : [],
	);

const shortDumps = ({ log, wrote }: Facts) =>
	[...log.dumps.values()].flatMap(({ tensor, line }) => {
		const want = dumpBytes(tensor);
		const got = wrote?.get(tensor.path);
		return want === null || got === undefined || got === want ? [] : [{ ...tensor, line, got, want }];
	});

/** Names come from the first such file, lines from all. */
const about = (found: (facts: Facts) => WrongFile[]): Pick<Rule, "when" | "names" | "show"> => ({
	when: (facts) => found(facts).length > 0,
	names: (facts) => {
		const [{ name, path, got, want } = { name: "", path: "" }] = found(facts);
		return { name, path, got: String(got), want: String(want) };
	},
	show: (facts) => found(facts).map(({ line }) => line),
});

export const falseSuccessRules: Rules = {
	"plan-damaged": {
		kind: "runner",
		when: ({ plan }) => plan !== undefined && plan.builtSha256 !== plan.sha256,
		title: "The {engine file: plan} changed after its build, and TensorRT ran it without an error.",
		fix: "Build the engine again; look for a disk, cache or transfer that corrupts files.",
	},
	"plan-refused": planRefused,
	"plan-missing": {
		kind: "runner",
		when: (facts) => isUnwritten(facts, facts.flags.get("--saveEngine") ?? ""),
		title: "trtexec reported success, but the engine file {saved} does not exist or has 0 bytes.",
		fix: "Check the folder, its permissions and the free space. Delete an empty file wherever it is cached.",
	},
	"times-not-written": {
		when: ({ flags, wrote, log }) =>
			flags.has("--exportTimes") &&
			(flags.has("--exportProfile") || flags.has("--dumpProfile")) &&
			!flags.has("--separateProfileRun") &&
			(log.version?.major ?? 10) < 11 &&
			!wrote?.has(flags.get("--exportTimes") ?? ""),
		title:
			"With both times and a layer profile requested, trtexec measures only the profile and writes no times.",
		fix: "Profile in a separate run, because profiling slows down what it measures.",
	},
	"layers-unlisted": {
		lines: /getMyelinLayerInfo.*myelinGraph != nullptr/,
		when: (facts) => isUnwritten(facts, facts.flags.get("--exportLayerInfo") ?? ""),
		title: "TensorRT failed to list the engine's layers, as 10.6 did for a decoder with two profiles.",
		fix: "The latency counts. For times of layers, build an engine with one profile.",
	},
	"export-missing": {
		kind: "runner",
		when: (facts) => unwrittenExports(facts).length > 0,
		names: (facts) => ({ file: unwrittenExports(facts).join(", ") }),
		title: "trtexec reported success but did not write {file}.",
		fix: "Create the export's folder before the run, since trtexec does not, and check the free disk space.",
	},
	"no-arguments": {
		when: ({ log, argumentCount }) => log.printedHelp && argumentCount === 0,
		title: "trtexec was started without arguments: it printed its help, did nothing and reported success.",
		fix: "Check the script that starts trtexec: a variable is probably empty.",
	},
	"input-file-longer": {
		...about(longInputs),
		title:
			"The input file {path} has {got} bytes, but {input: name} takes {want}. trtexec read only the first part and reported success.",
		fix: "Provide the input in the shape and type of this run; the golden's are probably others.",
	},
	"raw-dump-truncated": {
		...about(openDumps),
		title:
			"The shape of {output: name} depends on the data, and trtexec's raw file holds only its first values.",
		fix: "Install TensorRT's Python package: golden cases then run in it and read such outputs completely.",
	},
	"raw-dump-size": {
		kind: "runner",
		...about(shortDumps),
		title: "The raw file of {tensor: name} has {got} bytes, but its shape needs {want}.",
		fix: "Check the free space, and that no other run writes to the same folder.",
	},
	"inputs-random": {
		when: ({ log, flags }) =>
			log.randomInputs.size > 0 && (log.loadedInputs.size > 0 || flags.has("--loadInputs")),
		names: ({ log }) => ({ input: [...log.randomInputs.keys()].join(", ") }),
		show: ({ log }) => [...log.randomInputs.values()],
		title: "Values were given for only some inputs; trtexec filled {input: input} with random numbers.",
		fix: "Provide a file for every input of the engine. The outputs of this run are meaningless.",
	},
	"cuda-graph-refused": {
		lines: warning(/CUDA graph capture (?:on the stream has )?failed/),
		title: "The engine cannot be captured as a CUDA graph, and trtexec measured it without one.",
		fix: "Set cuda-graph: false for this workload, so that base and head are measured the same way.",
	},
	"shape-assumed": {
		lines: [
			warning(
				/Dynamic dimensions required for input: (?<input>.+), but no shapes were provided.*overriding shape to: (?<shape>\S+)/,
			),
			warning(
				/Shape missing for input with dynamic shape: (?<input>.+?)\s*Automatically setting shape to: (?<shape>\S+)/,
			),
		],
		title: "The dynamic {input: input} got no shape; trtexec assumed {shape} and reported success.",
		fix: "Give sizes for the dynamic dimensions in `dims` or `--shapes`: what ran or was built does not have your shapes.",
	},
	"precision-ignored": {
		lines: warning(/setting (?<precision>\w+) mode is not allowed if graph is strongly typed/),
		title:
			"trtexec ignored the precision {precision}: in a strongly typed network the ONNX file's types decide.",
		fix: "Build without strong typing, or convert the ONNX file to this precision.",
	},
	"tensor-too-big": {
		when: ({ model, log: { device } }) =>
			device.memoryMiB !== null && (model?.largestTensor?.bytes ?? 0) > device.memoryMiB * mebibyte,
		names: ({ model, log }) => {
			const { name = "", shape = "", bytes = 0 } = model?.largestTensor ?? {};
			const total = formatBytes((log.device.memoryMiB ?? 0) * mebibyte);
			return { tensor: quoteName(name), shape, bytes: formatBytes(bytes), total };
		},
		title:
			"Tensor {tensor} has the shape {shape}: at least {bytes}, more than this GPU has ({total}). The engine can never run.",
		fix: "Check the constant or dimension that produces this shape.",
	},
	"opset-unknown": {
		lines: info(/Opset version:\s+(?<opset>\d+)/),
		when: ({ log }) => (log.opset ?? 0) > farthestOpset,
		title:
			"The model declares ONNX opset {opset}, which does not exist; TensorRT guessed its operators' meaning.",
		fix: "Export the model again with an opset that ONNX defines and your TensorRT version supports.",
	},
	"ended-early": {
		kind: "runner",
		// Since 11.1, help ends without a last line; everything else says PASSED or FAILED.
		when: ({ log, exitCode }) =>
			log.ending === "none" && !log.printedHelp && log.version !== null && exitCode === 0,
		title: "trtexec exited with code 0 but without its last line: it did not finish.",
		fix: "Look for a wrapper script that hides the exit code, then run again.",
	},
	// Last: the engine is usable, and its golden decides whether its outputs are good enough.
	"int8-uncalibrated": {
		lines: warning(/Calibrator is not being used\. Users must provide dynamic range/),
		when: ({ flags, argumentCount }) => flags.has("--int8") || flags.has("--best") || argumentCount === null,
		title:
			"The engine is int8 without calibration or Q/DQ nodes: trtexec made up the ranges, so its outputs are meaningless.",
		fix: "Build from an ONNX file with Q/DQ nodes, or remove int8 (and --best).",
	},
};
