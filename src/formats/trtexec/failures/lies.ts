// Runs that ended with exit code 0 and PASSED, and did not do what they were asked to; worst first.
import { int8Uncalibrated, precisionIgnored } from "./building.ts";
import { noArguments } from "./flags.ts";
import { inferenceLies } from "./inference.ts";
import { unknownOpset } from "./parsing.ts";
import { planLies } from "./plans.ts";
import { assumedShape } from "./profiles.ts";
import type { Facts, Rule } from "./rule.ts";
import { exportFacts, planFacts } from "./saving.ts";

const mebibyte = 1024 * 1024;

const tooBig = (facts: Facts): boolean => {
	const { memoryMiB } = facts.log.device;
	return facts.largestTensorBytes !== null && memoryMiB !== null && facts.largestTensorBytes > memoryMiB * mebibyte;
};

const tensorTooLarge: Rule = {
	code: "tensor-too-large",
	kind: "refusal",
	rank: "cause",
	when: tooBig,
	names: (facts) => ({
		tensor: String(Math.ceil((facts.largestTensorBytes ?? 0) / mebibyte)),
		total: String(facts.log.device.memoryMiB ?? ""),
	}),
	title: (names) =>
		`One tensor of the model takes ${names["tensor"] ?? ""} MiB, the GPU has ${names["total"] ?? ""}: the engine was built without complaint and can never run.`,
	fix: "Lower the sizes in `dims` or change the model; a built plan proves nothing until it has run once.",
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

export const lieRules: readonly Rule[] = [
	...planLies,
	...planFacts,
	...exportFacts,
	noArguments,
	...inferenceLies,
	assumedShape,
	precisionIgnored,
	tensorTooLarge,
	unknownOpset,
	endedSilently,
	// Such an engine is one: whether its answers will do is its golden's affair.
	int8Uncalibrated,
];
