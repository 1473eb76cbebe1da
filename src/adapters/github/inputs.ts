// The one file that reads the action's inputs.
import { getInput } from "@actions/core";
import { ConfigError } from "../../core/errors.ts";

/** Inputs of action.yml as the user wrote them; absent where empty. */
export interface ActionInputs {
	config?: string;
	base?: string;
	head?: string;
	trtexec?: string;
	only?: string;
	out: string;
	/** Values that stand above the config file. */
	overrides: Readonly<Record<string, string>>;
}

export function readInputs(): ActionInputs {
	const named = (name: string): Record<string, string> => {
		const value = getInput(name);
		return value === "" ? {} : { [name]: value };
	};
	return {
		...named("config"),
		...named("base"),
		...named("head"),
		...named("trtexec"),
		...named("only"),
		out: getInput("out") || "trtgate-out",
		overrides: { ...named("backend"), ...named("device"), ...named("onnxruntime"), ...named("inconclusive") },
	};
}

/** Inputs of plan/action.yml. */
export interface PlanInputs {
	config: string;
	runners: string;
	name: string;
	artifact: string;
}

export function readPlanInputs(): PlanInputs {
	return {
		config: getInput("config") || "trtgate.yml",
		runners: getInput("runners") || "ubuntu-latest",
		name: getInput("name"),
		artifact: getInput("artifact") || "trtgate",
	};
}

/** Inputs of report/action.yml. */
export interface ReportInputs {
	token: string;
	config: string;
	name: string;
	/** The plan's matrix; empty where there is none. */
	expected: string;
	artifact: string;
	out: string;
	comment: "one" | "changes" | "fresh" | "never";
	checkRun: boolean;
	fail: "auto" | "true" | "false";
	retentionDays: number | null;
}

/** `auto` comments once and keeps it up to date. */
const commentModes = { auto: "one", changes: "changes", always: "fresh", never: "never" } as const;

/** @throws ConfigError usage. */
export function readReportInputs(): ReportInputs {
	const days = getInput("retention-days");
	return {
		token: getInput("token"),
		config: getInput("config") || "trtgate.yml",
		name: getInput("name"),
		expected: getInput("expected"),
		artifact: getInput("artifact") || "trtgate",
		out: getInput("out") || "trtgate-merged",
		comment: commentModes[oneOf("comment", ["auto", "changes", "always", "never"])],
		checkRun: oneOf("check-run", ["true", "false"]) === "true",
		fail: oneOf("fail", ["auto", "true", "false"]),
		retentionDays: /^[1-9]\d{0,2}$/.test(days) ? Number(days) : null,
	};
}

/** The first where nothing is given. */
function oneOf<Value extends string>(name: string, values: readonly [Value, ...Value[]]): Value {
	const given = getInput(name);
	const found = given === "" ? values[0] : values.find((value) => value === given);
	if (found !== undefined) return found;
	throw new ConfigError({
		code: "usage",
		message: `input ${name} is ${JSON.stringify(given.slice(0, 60))}; expected one of ${values.join(", ")}.`,
		details: { fix: `Write ${values[0]}, or leave it out.` },
	});
}
