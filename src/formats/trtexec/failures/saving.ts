// Failures of writing the engine and the exports.
import { error, type Facts, named, type Rule } from "./rule.ts";

/** Files with results; the plan and the timing cache have rules of their own. */
const exportFlags = ["--exportTimes", "--exportProfile", "--exportLayerInfo", "--exportOutput"] as const;

function missingExports(facts: Facts): string[] {
	return exportFlags.map((flag) => facts.flags.get(flag) ?? "").filter((path) => path !== "" && facts.absent.includes(path));
}

function planBytes(facts: Facts): number | null {
	const path = facts.flags.get("--saveEngine");
	return path === undefined ? null : (facts.wrote?.get(path)?.bytes ?? null);
}

export const savingRules: readonly Rule[] = [
	{
		code: "disk-full",
		kind: "runner",
		rank: "cause",
		lines: [error(/No space left on device/), error(/ENOSPC/)],
		title: () => "The disk is full.",
		fix: "Free space on the runner (df -h): old engines, containers and timing caches usually fill it.",
	},
	{
		code: "save-failed",
		kind: "runner",
		rank: "cause",
		lines: [
			error(/Saving engine to file failed/),
			error(/Cannot write to FileStreamWriter/),
			error(/Failed to open engine file for reading/),
		],
		names: (facts) => ({ file: facts.flags.get("--saveEngine") ?? "" }),
		title: (names) => `The engine file ${names["file"] ?? ""} could not be written.`,
		fix: "Check that the folder exists and is writable, and that the disk has space.",
	},
	{
		code: "engine-empty",
		kind: "refusal",
		rank: "symptom",
		lines: [error(/Attempting to access an empty engine/)],
		title: () => "The build failed and left an engine file of 0 bytes. The log gives no reason.",
		fix: "Do not keep or cache this plan. Run the build again with --verbose, and check the libraries of this TensorRT installation.",
	},
];

export const planFacts: readonly Rule[] = [
	{
		code: "plan-empty",
		kind: "runner",
		rank: "cause",
		when: (facts) => planBytes(facts) === 0,
		names: (facts) => ({ file: facts.flags.get("--saveEngine") ?? "" }),
		title: (names) => `trtexec reported success, but the engine file ${names["file"] ?? ""} has 0 bytes.`,
		fix: "Delete the file, check the free disk space and build again. Check a plan's size before caching it.",
	},
	{
		code: "plan-missing",
		kind: "runner",
		rank: "cause",
		when: (facts) => facts.absent.includes(facts.flags.get("--saveEngine") ?? "\u0000"),
		names: (facts) => ({ file: facts.flags.get("--saveEngine") ?? "" }),
		title: (names) => `trtexec reported success, but the engine file ${names["file"] ?? ""} does not exist.`,
		fix: "Check the folder, its permissions and the working directory of the run.",
	},
];

export const exportFacts: readonly Rule[] = [
	{
		code: "times-not-written",
		kind: "refusal",
		rank: "cause",
		when: (facts) =>
			facts.flags.has("--exportTimes") &&
			(facts.flags.has("--exportProfile") || facts.flags.has("--dumpProfile")) &&
			!facts.flags.has("--separateProfileRun") &&
			(facts.log.version?.major ?? 10) < 11 &&
			!facts.wrote?.has(facts.flags.get("--exportTimes") ?? ""),
		title: () =>
			"The run requested both times and a layer profile. trtexec then measures only the profile and writes no times, with exit code 0.",
		fix: "Profile in a separate run, because profiling slows down what it measures; or add --separateProfileRun.",
	},
	{
		code: "export-missing",
		kind: "runner",
		rank: "cause",
		when: (facts) => missingExports(facts).length > 0,
		names: (facts) => ({ file: missingExports(facts).join(", ") }),
		title: (names) => `trtexec reported success but did not write ${names["file"] ?? "an export"}.`,
		fix: "Create the export's folder before the run: trtexec does not create it, and reports no error when it is missing.",
	},
	{
		code: "export-empty",
		kind: "runner",
		rank: "cause",
		when: (facts) => exportFlags.some((flag) => facts.wrote?.get(facts.flags.get(flag) ?? "\u0000")?.bytes === 0),
		names: (facts) => ({
			file: exportFlags.map((flag) => facts.flags.get(flag) ?? "\u0000").find((path) => facts.wrote?.get(path)?.bytes === 0) ?? "",
		}),
		title: (names) => `trtexec reported success, but ${named("the export", names["file"])} has 0 bytes.`,
		fix: "Check the free disk space and run again.",
	},
];
