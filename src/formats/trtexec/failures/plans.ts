// Failures of loading an engine file.
import { error, type Facts, named, type Rule } from "./rule.ts";

const planName = (facts: Facts): { file: string } => ({ file: facts.flags.get("--loadEngine") ?? "" });

export const planRules: readonly Rule[] = [
	{
		code: "plan-file-missing",
		kind: "refusal",
		rank: "cause",
		lines: [error(/Error opening engine file: (?<file>.*)$/), error(/Could not open engine file:? (?<file>.*)$/i)],
		title: (names) => `The engine file ${names["file"] ?? ""} is not there or cannot be opened.`,
		fix: "Check the path and that the build step before it kept the engine.",
	},
	{
		code: "plan-file-empty",
		kind: "refusal",
		rank: "cause",
		lines: [
			error(/Failed to read header from the stream: read 0 out of/),
			error(/(?:serialized|engine) (?:data|blob|file) (?:is|was) empty/i),
		],
		names: planName,
		title: (names) => `The ${named("engine file", names["file"])} is empty.`,
		fix: "Build the engine again; a failed build leaves 0 bytes behind, so check the build's log too.",
	},
	{
		code: "plan-truncated",
		kind: "refusal",
		rank: "cause",
		lines: [error(/Failed to read (?:memory|header|data) from the stream: read (?<got>[1-9]\d*) out of (?<want>\d+) bytes/)],
		names: planName,
		title: (names) =>
			`The ${named("engine file", names["file"])} ends too early: ${names["got"] ?? "too few"} of ${names["want"] ?? "the"} bytes were there.`,
		fix: "The copy, cache or upload cut it off: fetch or build it again, and compare its hash.",
	},
	{
		code: "plan-other-version",
		kind: "refusal",
		rank: "cause",
		lines: [
			error(/engine plan file is not compatible with this version of TensorRT/),
			error(/Version tag does not match/),
			error(/incompatible serialization version/),
		],
		names: planName,
		title: (names) => `The ${named("engine file", names["file"])} was built by another version of TensorRT.`,
		fix: "Build it again with the TensorRT that runs it; check that Python's and trtexec's TensorRT are the same.",
	},
	{
		code: "plan-other-gpu",
		kind: "refusal",
		rank: "cause",
		lines: [
			error(/generated on an incompatible device, expecting compute (?<want>[\d.]+) got compute (?<got>[\d.]+)/),
			error(/generated on an incompatible device/),
		],
		title: (names) =>
			`The engine was built for another GPU${names["want"] && names["got"] ? ` (compute capability ${names["got"]}, this one has ${names["want"]})` : ""}.`,
		fix: "Build it on this kind of GPU, or with --hardwareCompatibilityLevel if it must run on several.",
	},
	{
		code: "plan-not-a-plan",
		kind: "refusal",
		rank: "cause",
		lines: [error(/[Mm]agic ?[Tt]ag does not match/), error(/magicTag(?:Read)? ?==/), error(/Failed to verify a plan tag/)],
		names: planName,
		title: (names) => `The ${named("file", names["file"])} is not a TensorRT plan.`,
		fix: "Check what lies at that path: an ONNX file, a text, a Git LFS pointer or a plan of another system.",
	},
	{
		code: "plan-plugin-missing",
		kind: "refusal",
		rank: "cause",
		lines: [error(/Cannot deserialize plugin since corresponding IPluginCreator not found/)],
		title: () => "The engine needs a plugin that was not loaded.",
		fix: "Give the same plugin libraries at load as at build.",
	},
	{
		code: "plan-refused",
		kind: "refusal",
		rank: "last-word",
		lines: [error(/Engine deserialization failed/), error(/Got invalid engine/)],
		names: planName,
		title: (names) => `TensorRT could not load the ${named("engine", names["file"])}, for a reason that this program does not know.`,
		fix: "Build it again with the TensorRT and GPU that run it, and read the error lines below.",
	},
];

export const planFalseSuccess: readonly Rule[] = [
	{
		code: "plan-damaged",
		kind: "runner",
		rank: "cause",
		when: (facts) => facts.plan !== null && facts.plan.builtSha256 !== facts.plan.sha256,
		names: planName,
		title: (names) =>
			`The ${named("engine file", names["file"])} is not the one that was built: its bytes have changed, and TensorRT ran it without a word.`,
		fix: "Build the engine again; look for a disk, cache or transfer that corrupts files.",
	},
	{
		code: "plan-unloaded",
		kind: "refusal",
		rank: "cause",
		lines: [error(/Engine deserialization failed/), error(/Got invalid engine/)],
		title: () => "The engine cannot be loaded, and trtexec reported success because inference was skipped.",
		fix: "Treat the build as failed; read the error lines below.",
	},
];
