// Runs that ended with exit code 0 and PASSED, and did not do what they were asked to; worst first.
import { quoteName } from "../../../core/onnx/quote.ts";
import { formatBytes } from "../../../core/text/units.ts";
import { int8Uncalibrated, precisionIgnored } from "./building.ts";
import { noArguments } from "./flags.ts";
import { inferenceFalseSuccess } from "./inference.ts";
import { unknownOpset } from "./parsing.ts";
import { planFalseSuccess } from "./plans.ts";
import { assumedShape } from "./profiles.ts";
import type { Rule } from "./rule.ts";
import { exportFacts, planFacts } from "./saving.ts";

const mebibyte = 1024 * 1024;

const tensorTooBig: Rule = {
	code: "tensor-too-big",
	kind: "refusal",
	rank: "cause",
	when: ({ largestTensor, log }) =>
		largestTensor !== null && log.device.memoryMiB !== null && largestTensor.bytes > log.device.memoryMiB * mebibyte,
	names: ({ largestTensor, log }) => ({
		tensor: quoteName(largestTensor?.name ?? ""),
		shape: largestTensor?.shape ?? "",
		bytes: formatBytes(largestTensor?.bytes ?? 0),
		total: formatBytes((log.device.memoryMiB ?? 0) * mebibyte),
	}),
	title: (names) =>
		`Tensor ${names["tensor"] ?? ""} has the shape ${names["shape"] ?? ""}: at least ${names["bytes"] ?? ""}, more than this GPU has (${names["total"] ?? ""}). The engine was built without complaint and can never run.`,
	fix: "Check the constant or the dimension that gives this shape; a built plan proves nothing until it has run once.",
};

const endedSilently: Rule = {
	code: "ended-early",
	kind: "runner",
	rank: "cause",
	// From 11.1 on, help ends without a last line; everything else says PASSED or FAILED.
	when: (facts) => facts.log.ending === "none" && !facts.log.printedHelp && facts.log.version !== null && facts.exitCode === 0,
	title: () => "trtexec ended with exit code 0 and without its last line: it did not come to its end.",
	fix: "Take nothing from this run; look for a wrapper script that hides the exit code, and run again.",
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
	// Such an engine is one: whether its answers will do is its golden's affair.
	int8Uncalibrated,
];
