// Failures while loading an engine file.
import { error, type Facts, named, type Rule } from "./rule.ts";

const planName = (facts: Facts): { file: string } => ({ file: facts.flags.get("--loadEngine") ?? "" });

export const planRules: readonly Rule[] = [
	{
		code: "plan-file-missing",
		kind: "refusal",
		rank: "cause",
		lines: [error(/Error opening engine file: (?<file>.*)$/), error(/Could not open engine file:? (?<file>.*)$/i)],
		title: (names) => `The engine file ${names["file"] ?? ""} does not exist or cannot be opened.`,
		fix: "Check the path, and that the build step saved the engine.",
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
		fix: "Build the engine again. A failed build leaves a file of 0 bytes, so check the build log too.",
	},
	{
		code: "plan-truncated",
		kind: "refusal",
		rank: "cause",
		lines: [error(/Failed to read (?:memory|header|data) from the stream: read (?<got>[1-9]\d*) out of (?<want>\d+) bytes/)],
		names: planName,
		title: (names) =>
			`The ${named("engine file", names["file"])} is truncated: TensorRT could read only ${names["got"] ?? "some"} of ${names["want"] ?? "the"} bytes.`,
		fix: "A copy, cache or upload cut it off. Fetch or build it again, and compare its hash.",
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
		title: (names) => `The ${named("engine file", names["file"])} was built with another version of TensorRT.`,
		fix: "Build it again with the TensorRT version that runs it. Check that Python and trtexec use the same version.",
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
			`The engine was built for another GPU${names["want"] && names["got"] ? ` (compute capability ${names["got"]}; this GPU has ${names["want"]})` : ""}.`,
		fix: "Build it on this GPU model, or with --hardwareCompatibilityLevel if it must run on several.",
	},
	{
		code: "plan-not-a-plan",
		kind: "refusal",
		rank: "cause",
		lines: [error(/[Mm]agic ?[Tt]ag does not match/), error(/magicTag(?:Read)? ?==/), error(/Failed to verify a plan tag/)],
		names: planName,
		title: (names) => `The ${named("file", names["file"])} is not a TensorRT plan.`,
		fix: "Check what is at that path: an ONNX file, a text file, a Git LFS pointer or a plan from another operating system.",
	},
	{
		code: "plan-plugin-missing",
		kind: "refusal",
		rank: "cause",
		lines: [error(/Cannot deserialize plugin since corresponding IPluginCreator not found/)],
		title: () => "The engine needs a plugin that was not loaded.",
		fix: "Load the same plugin libraries that the build used.",
	},
	{
		code: "plan-refused",
		kind: "refusal",
		rank: "fallback",
		lines: [error(/Engine deserialization failed/), error(/Got invalid engine/)],
		names: planName,
		title: (names) => `TensorRT could not load the ${named("engine", names["file"])} for an unknown reason.`,
		fix: "Read the error lines below. Build it again with the TensorRT version and GPU that run it.",
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
			`The ${named("engine file", names["file"])} is not the one that was built: its bytes have changed, and TensorRT ran it without an error.`,
		fix: "Build the engine again; look for a disk, cache or transfer that corrupts files.",
	},
	{
		code: "plan-unloaded",
		kind: "refusal",
		rank: "cause",
		lines: [error(/Engine deserialization failed/), error(/Got invalid engine/)],
		title: () => "The engine cannot be loaded, but trtexec reported success because inference was skipped.",
		fix: "Treat the build as failed, and read the error lines below.",
	},
];
