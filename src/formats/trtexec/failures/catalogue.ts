// Every known failure. Within one rank, rules are tried in this order.
import { buildingRules, planRules } from "./building.ts";
import { crashRules, incompleteRules, outsideRules, startRules } from "./ends.ts";
import { falseSuccessRules } from "./false-success.ts";
import { parsingRules } from "./parsing.ts";
import { profileRules } from "./profiles.ts";
import { type LinePattern, linesOf, listRules } from "./rule.ts";
import { flagRules, inferenceRules, machineRules } from "./running.ts";

const runner = { kind: "runner" } as const;
const endedByRunner = { ...runner, rank: "symptom" } as const;
const refusals = [flagRules, parsingRules, profileRules, buildingRules, planRules, inferenceRules];

export const catalogue = {
	start: listRules(startRules, runner),
	outside: listRules(outsideRules, endedByRunner),
	log: [...refusals.flatMap((rules) => listRules(rules)), ...listRules(machineRules, runner)],
	/** Tried only if no line of the log gives a reason. */
	crash: listRules(crashRules, endedByRunner),
	falseSuccess: listRules(falseSuccessRules),
	incomplete: listRules(incompleteRules, endedByRunner),
};

export const linePatterns: readonly LinePattern[] = [
	...new Set(
		Object.values(catalogue)
			.flat()
			.flatMap((rule) => [...linesOf(rule), ...(rule.with ? [rule.with] : [])]),
	),
];
