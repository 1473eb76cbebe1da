// Every known failure. Within one rank, rules are tried in this order.
import { buildingRules, planRules } from "./building.ts";
import { crashRules, incompleteRules, outsideRules, startRules } from "./ends.ts";
import { falseSuccessRules } from "./false-success.ts";
import { parsingRules } from "./parsing.ts";
import { profileRules } from "./profiles.ts";
import { type CodedRule, type LinePattern, linesOf, listRules, type Rules } from "./rule.ts";
import { flagRules, inferenceRules, machineRules } from "./running.ts";

const symptoms = (rules: Rules): CodedRule[] =>
	listRules(rules).map((rule) => ({ ...rule, rank: "symptom" as const }));

export const catalogue = {
	start: listRules(startRules),
	/** A signal or a time limit ended it; earlier log lines matter less. */
	outside: symptoms(outsideRules),
	log: listRules(
		flagRules,
		parsingRules,
		profileRules,
		buildingRules,
		planRules,
		inferenceRules,
		machineRules,
	),
	/** Tried only if no line of the log gives a reason. */
	crash: symptoms(crashRules),
	/** Runs that ended with exit code 0 and PASSED but did not do their job; worst first. */
	falseSuccess: listRules(falseSuccessRules),
	incomplete: symptoms(incompleteRules),
};

const all = Object.values(catalogue).flat();

export const diagnosisCodes: readonly string[] = [
	"ok",
	"unverified",
	"unknown",
	...new Set(all.map((rule) => rule.code)),
];

export const linePatterns: readonly LinePattern[] = [
	...new Set(all.flatMap((rule) => [...linesOf(rule), ...(rule.with ? [rule.with] : [])])),
];
