// Runs that ended with exit code 0 and PASSED but did not do their job; worst first.
import { quoteName } from "../../../core/onnx/quote.ts";
import { formatBytes } from "../../../core/text/units.ts";
import { int8Uncalibrated, precisionIgnored } from "./building.ts";
import { noArguments } from "./flags.ts";
import { inferenceFalseSuccess } from "./inference.ts";
import { unknownOpset } from "./parsing.ts";
import { exportFacts, planFacts, planFalseSuccess } from "./plans.ts";
import { assumedShape } from "./profiles.ts";
import type { Rule } from "./rule.ts";

const mebibyte = 1024 * 1024;

const tensorTooBig: Rule = {
	code: "tensor-too-big",
	when: ({ largestTensor, log }) =>
		largestTensor !== null && log.device.memoryMiB !== null && largestTensor.bytes > log.device.memoryMiB * mebibyte,
	names: ({ largestTensor, log }) => ({
		tensor: quoteName(largestTensor?.name ?? ""),
		shape: largestTensor?.shape ?? "",
		bytes: formatBytes(largestTensor?.bytes ?? 0),
		total: formatBytes((log.device.memoryMiB ?? 0) * mebibyte),
	}),
	title: (names) =>
		`Tensor ${names["tensor"] ?? ""} has the shape ${names["shape"] ?? ""}: at least ${names["bytes"] ?? ""}, more than this GPU has (${names["total"] ?? ""}). The build succeeded, but the engine can never run.`,
	fix: "Check the constant or dimension that produces this shape. A built plan proves nothing until it has run once.",
};

const endedSilently: Rule = {
	code: "ended-early",
	kind: "runner",
	// From 11.1 on, help ends without a last line; everything else says PASSED or FAILED.
	when: (facts) => facts.log.ending === "none" && !facts.log.printedHelp && facts.log.version !== null && facts.exitCode === 0,
	title: () => "trtexec exited with code 0 but without its last line: it did not finish.",
	fix: "Discard this run. Look for a wrapper script that hides the exit code, then run again.",
};

export const falseSuccessRules: readonly Rule[] = [
	...planFalseSuccess,
	...planFacts,
	...exportFacts,
	noArguments,
	...inferenceFalseSuccess,
	assumedShape,
	precisionIgnored,
	tensorTooBig,
	unknownOpset,
	endedSilently,
	// Last: the engine is usable, and its golden decides whether its outputs are good enough.
	int8Uncalibrated,
];
