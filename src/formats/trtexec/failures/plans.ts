// Failures of writing exports and of writing or loading an engine file.
import { type Facts, ofRunner, type Rule } from "./rule.ts";

/** Files with results; the plan and the timing cache have rules of their own. */
export const exportFlags = [
	"--exportTimes",
	"--exportProfile",
	"--exportLayerInfo",
	"--exportOutput",
] as const;

function exportsThat(facts: Facts, isWrong: (path: string) => boolean): string[] {
	return exportFlags
		.map((flag) => facts.flags.get(flag) ?? "")
		.filter((path) => path !== "" && isWrong(path));
}
const missingExports = (facts: Facts) => exportsThat(facts, (path) => facts.absent.includes(path));
const emptyExports = (facts: Facts) => exportsThat(facts, (path) => facts.wrote?.get(path)?.bytes === 0);

const savedPlan = ({ flags }: Facts) => ({ file: flags.get("--saveEngine") });
const planName = ({ flags }: Facts) => ({ file: flags.get("--loadEngine") });

export const savingRules: readonly Rule[] = [
	{
		code: "disk-full",
		kind: "runner",
		lines: [/No space left on device/, /ENOSPC/],
		title: "The disk is full.",
		fix: "Free space on the runner (df -h): old engines, containers and timing caches usually fill it.",
	},
	{
		code: "save-failed",
		kind: "runner",
		lines: [
			/Saving engine to file failed/,
			/Cannot write to FileStreamWriter/,
			/Failed to open engine file for reading/,
		],
		names: savedPlan,
		title: "The engine file {file} could not be written.",
		fix: "Check that the folder exists and is writable, and that the disk has space.",
	},
	{
		code: "engine-empty",
		rank: "symptom",
		lines: /Attempting to access an empty engine/,
		title: "The build failed and left an engine file of 0 bytes. The log gives no reason.",
		fix: "Do not keep or cache this plan. Check the libraries of this TensorRT installation, and the builder's last verbose lines at the end of the saved log.",
	},
];

export const planFacts: readonly Rule[] = ofRunner([
	{
		code: "plan-empty",
		when: ({ flags, wrote }) => wrote?.get(flags.get("--saveEngine") ?? "")?.bytes === 0,
		names: savedPlan,
		title: "trtexec reported success, but the engine file {file} has 0 bytes.",
		fix: "Delete the file, check the free disk space and build again. Check a plan's size before caching it.",
	},
	{
		code: "plan-missing",
		when: (facts) => facts.absent.includes(facts.flags.get("--saveEngine") ?? "\u0000"),
		names: savedPlan,
		title: "trtexec reported success, but the engine file {file} does not exist.",
		fix: "Check the folder, its permissions and the working directory of the run.",
	},
]);

export const exportFacts: readonly Rule[] = [
	{
		code: "times-not-written",
		when: (facts) =>
			facts.flags.has("--exportTimes") &&
			(facts.flags.has("--exportProfile") || facts.flags.has("--dumpProfile")) &&
			!facts.flags.has("--separateProfileRun") &&
			(facts.log.version?.major ?? 10) < 11 &&
			!facts.wrote?.has(facts.flags.get("--exportTimes") ?? ""),
		title:
			"The run requested both times and a layer profile. trtexec then measures only the profile and writes no times, with exit code 0.",
		fix: "Profile in a separate run, because profiling slows down what it measures; or add --separateProfileRun.",
	},
	{
		code: "export-missing",
		kind: "runner",
		when: (facts) => missingExports(facts).length > 0,
		names: (facts) => ({ file: missingExports(facts).join(", ") }),
		title: "trtexec reported success but did not write {file|an export}.",
		fix: "Create the export's folder before the run: trtexec does not create it, and reports no error when it is missing.",
	},
	{
		code: "export-empty",
		kind: "runner",
		when: (facts) => emptyExports(facts).length > 0,
		names: (facts) => ({ file: emptyExports(facts)[0] }),
		title: "trtexec reported success, but {the export: file} has 0 bytes.",
		fix: "Check the free disk space and run again.",
	},
];

export const planRules: readonly Rule[] = [
	{
		code: "plan-file-missing",
		lines: [/Error opening engine file: (?<file>.*)$/, /Could not open engine file:? (?<file>.*)$/i],
		title: "The engine file {file} does not exist or cannot be opened.",
		fix: "Check the path, and that the build step saved the engine.",
	},
	{
		code: "plan-file-empty",
		lines: [
			/Failed to read header from the stream: read 0 out of/,
			/(?:serialized|engine) (?:data|blob|file) (?:is|was) empty/i,
		],
		names: planName,
		title: "The {engine file: file} is empty.",
		fix: "Build the engine again. A failed build leaves a file of 0 bytes, so check the build log too.",
	},
	{
		code: "plan-truncated",
		lines:
			/Failed to read (?:memory|header|data) from the stream: read (?<got>[1-9]\d*) out of (?<want>\d+) bytes/,
		names: planName,
		title: "The {engine file: file} is truncated: TensorRT could read only {got|some} of {want|the} bytes.",
		fix: "A copy, cache or upload cut it off. Fetch or build it again, and compare its hash.",
	},
	{
		code: "plan-other-version",
		lines: [
			/engine plan file is not compatible with this version of TensorRT/,
			/Version tag does not match/,
			/incompatible serialization version/,
		],
		names: planName,
		title: "The {engine file: file} was built with another version of TensorRT.",
		fix: "Build it again with the TensorRT version that runs it. Check that Python and trtexec use the same version.",
	},
	{
		code: "plan-other-gpu",
		lines: [
			/generated on an incompatible device, expecting compute (?<want>[\d.]+) got compute (?<got>[\d.]+)/,
			/generated on an incompatible device/,
		],
		title: (names) =>
			`The engine was built for another GPU${names["want"] && names["got"] ? ` (compute capability ${names["got"]}; this GPU has ${names["want"]})` : ""}.`,
		fix: "Build it on this GPU model, or with --hardwareCompatibilityLevel if it must run on several.",
	},
	{
		code: "plan-not-a-plan",
		lines: [/[Mm]agic ?[Tt]ag does not match/, /magicTag(?:Read)? ?==/, /Failed to verify a plan tag/],
		names: planName,
		title: "The {file: file} is not a TensorRT plan.",
		fix: "Check what is at that path: an ONNX file, a text file, a Git LFS pointer or a plan from another operating system.",
	},
	{
		code: "plan-plugin-missing",
		lines: /Cannot deserialize plugin since corresponding IPluginCreator not found/,
		title: "The engine needs a plugin that was not loaded.",
		fix: "Load the same plugin libraries that the build used.",
	},
	{
		code: "plan-refused",
		rank: "fallback",
		lines: [/Engine deserialization failed/, /Got invalid engine/],
		names: planName,
		title: "TensorRT could not load the {engine: file} for an unknown reason.",
		fix: "Read the error lines below. Build it again with the TensorRT version and GPU that run it.",
	},
];

export const planFalseSuccess: readonly Rule[] = [
	{
		code: "plan-damaged",
		kind: "runner",
		when: (facts) => facts.plan !== null && facts.plan.builtSha256 !== facts.plan.sha256,
		names: planName,
		title:
			"The {engine file: file} is not the one that was built: its bytes have changed, and TensorRT ran it without an error.",
		fix: "Build the engine again; look for a disk, cache or transfer that corrupts files.",
	},
	{
		code: "plan-unloaded",
		lines: [/Engine deserialization failed/, /Got invalid engine/],
		title: "The engine cannot be loaded, but trtexec reported success because inference was skipped.",
		fix: "Treat the build as failed, and read the error lines below.",
	},
];
