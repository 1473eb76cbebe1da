// Every known failure. Within one rank, rules are tried in this order.
import { quoteName } from "../../../core/onnx/quote.ts";
import { formatBytes } from "../../../core/text/units.ts";
import { buildingRules, int8Uncalibrated, precisionIgnored } from "./building.ts";
import { crashRules, endedFromOutside, logIncomplete } from "./ends.ts";
import { flagRules, noArguments } from "./flags.ts";
import { inferenceFalseSuccess, inferenceRules } from "./inference.ts";
import { machineRules, startRules } from "./machine.ts";
import { parsingRules, unknownOpset } from "./parsing.ts";
import { exportFacts, planFacts, planFalseSuccess, planRules, savingRules } from "./plans.ts";
import { assumedShape, profileRules } from "./profiles.ts";
import { type LinePattern, linesOf, type Rule } from "./rule.ts";

const mebibyte = 1024 * 1024;

const tensorTooBig: Rule = {
	code: "tensor-too-big",
	when: ({ largestTensor, log }) =>
		largestTensor !== null &&
		log.device.memoryMiB !== null &&
		largestTensor.bytes > log.device.memoryMiB * mebibyte,
	names: ({ largestTensor, log }) => ({
		tensor: quoteName(largestTensor?.name ?? ""),
		shape: largestTensor?.shape ?? "",
		bytes: formatBytes(largestTensor?.bytes ?? 0),
		total: formatBytes((log.device.memoryMiB ?? 0) * mebibyte),
	}),
	title:
		"Tensor {tensor} has the shape {shape}: at least {bytes}, more than this GPU has ({total}). The build succeeded, but the engine can never run.",
	fix: "Check the constant or dimension that produces this shape. A built plan proves nothing until it has run once.",
};

const endedSilently: Rule = {
	code: "ended-early",
	kind: "runner",
	// From 11.1 on, help ends without a last line; everything else says PASSED or FAILED.
	when: (facts) =>
		facts.log.ending === "none" &&
		!facts.log.printedHelp &&
		facts.log.version !== null &&
		facts.exitCode === 0,
	title: "trtexec exited with code 0 but without its last line: it did not finish.",
	fix: "Discard this run. Look for a wrapper script that hides the exit code, then run again.",
};

const falseSuccessRules: readonly Rule[] = [
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

export const catalogue = {
	/** The program never ran. */
	start: startRules,
	/** A signal or a time limit ended it; earlier log lines matter less. */
	outside: endedFromOutside,
	log: [
		...flagRules,
		...parsingRules,
		...profileRules,
		...buildingRules,
		...savingRules,
		...planRules,
		...inferenceRules,
		...machineRules,
	],
	crash: crashRules,
	/** Runs that ended with exit code 0 and PASSED but did not do their job; worst first. */
	falseSuccess: falseSuccessRules,
	incomplete: logIncomplete,
};

const all: readonly Rule[] = Object.values(catalogue).flat();

export const diagnosisCodes: readonly string[] = [
	"ok",
	"unverified",
	"unknown",
	...new Set(all.map((rule) => rule.code)),
];

export const linePatterns: readonly LinePattern[] = [
	...new Set(all.flatMap((rule) => [...linesOf(rule), ...(rule.with ? [rule.with] : [])])),
];
