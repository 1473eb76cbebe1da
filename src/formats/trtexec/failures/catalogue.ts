// Every failure that this program knows, in the order in which rules of one rank are asked.
import { buildingRules } from "./building.ts";
import { crashRules, endedFromOutside, logIncomplete } from "./ends.ts";
import { falseSuccessRules } from "./false-success.ts";
import { flagRules } from "./flags.ts";
import { inferenceRules } from "./inference.ts";
import { machineRules, startRules } from "./machine.ts";
import { parsingRules } from "./parsing.ts";
import { planRules } from "./plans.ts";
import { profileRules } from "./profiles.ts";
import type { LinePattern, Rule } from "./rule.ts";
import { savingRules } from "./saving.ts";

export interface Catalogue {
	/** The program never ran. */
	start: readonly Rule[];
	/** Someone ended it: what the log says before matters less. */
	outside: readonly Rule[];
	/** Reasons that a log can give for a failed run. */
	log: readonly Rule[];
	/** It died by itself, and the log gives no reason. */
	crash: readonly Rule[];
	/** It reported success. */
	lies: readonly Rule[];
	/** Nothing tells how it ended. */
	incomplete: Rule;
}

export const catalogue: Catalogue = {
	start: startRules,
	outside: endedFromOutside,
	log: [...flagRules, ...parsingRules, ...profileRules, ...buildingRules, ...savingRules, ...planRules, ...inferenceRules, ...machineRules],
	crash: crashRules,
	lies: falseSuccessRules,
	incomplete: logIncomplete,
};

const all: readonly Rule[] = [
	...catalogue.start,
	...catalogue.outside,
	...catalogue.log,
	...catalogue.crash,
	...catalogue.lies,
	catalogue.incomplete,
];

/** Each code once, `ok`, `unverified` and `unknown` included. */
export const diagnosisCodes: readonly string[] = ["ok", "unverified", "unknown", ...new Set(all.map((rule) => rule.code))];

/** What a scan of the log has to look for. */
export const linePatterns: readonly LinePattern[] = [...new Set(all.flatMap((rule) => [...(rule.lines ?? []), ...(rule.with ?? [])]))];
