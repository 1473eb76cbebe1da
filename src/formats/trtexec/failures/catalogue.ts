// Every known failure. Within one rank, rules are tried in this order.
import { buildingRules } from "./building.ts";
import { crashRules, endedFromOutside, logIncomplete } from "./ends.ts";
import { falseSuccessRules } from "./false-success.ts";
import { flagRules } from "./flags.ts";
import { inferenceRules } from "./inference.ts";
import { machineRules, startRules } from "./machine.ts";
import { parsingRules } from "./parsing.ts";
import { planRules, savingRules } from "./plans.ts";
import { profileRules } from "./profiles.ts";
import type { LinePattern, Rule } from "./rule.ts";

export interface Catalogue {
	/** The program never ran. */
	start: readonly Rule[];
	/** A signal or a time limit ended it; earlier log lines matter less. */
	outside: readonly Rule[];
	/** Reasons found in the log of a failed run. */
	log: readonly Rule[];
	/** It crashed, and the log gives no reason. */
	crash: readonly Rule[];
	/** It reported success. */
	falseSuccess: readonly Rule[];
	/** Neither the log nor the exit code shows how it ended. */
	incomplete: Rule;
}

export const catalogue: Catalogue = {
	start: startRules,
	outside: endedFromOutside,
	log: [...flagRules, ...parsingRules, ...profileRules, ...buildingRules, ...savingRules, ...planRules, ...inferenceRules, ...machineRules],
	crash: crashRules,
	falseSuccess: falseSuccessRules,
	incomplete: logIncomplete,
};

const all: readonly Rule[] = [
	...catalogue.start,
	...catalogue.outside,
	...catalogue.log,
	...catalogue.crash,
	...catalogue.falseSuccess,
	catalogue.incomplete,
];

/** Each code once, `ok`, `unverified` and `unknown` included. */
export const diagnosisCodes: readonly string[] = ["ok", "unverified", "unknown", ...new Set(all.map((rule) => rule.code))];

/** Every line pattern that a scan of the log looks for. */
export const linePatterns: readonly LinePattern[] = [...new Set(all.flatMap((rule) => [...(rule.lines ?? []), ...(rule.with ?? [])]))];
