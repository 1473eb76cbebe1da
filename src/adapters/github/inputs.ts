// The one file that reads the action's inputs.
import { getInput } from "@actions/core";
import { usageError } from "../../core/errors.ts";

/** Inputs of action.yml as the user wrote them; absent where empty. */
export interface ActionInputs {
	config?: string;
	base?: string;
	head?: string;
	trtexec?: string;
	onnxruntimeFolder?: string;
	only?: string;
	out: string;
	/** Values that override the config file. */
	overrides: Readonly<Record<string, string>>;
}

const overridden = [
	"backend",
	"device",
	"onnxruntime",
	"inconclusive",
	"base-trtexec",
	"base-python",
] as const;

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
		...(getInput("onnxruntime-folder") === "" ? {} : { onnxruntimeFolder: getInput("onnxruntime-folder") }),
		out: getInput("out") || "trtgate-out",
		overrides: Object.assign({}, ...overridden.map(named)),
	};
}

/** Inputs of plan/action.yml. */
export interface PlanInputs {
	config: string;
	runners: string;
	/** Patterns, as the user wrote them; empty: all engines. */
	only: string;
	name: string;
	artifact: string;
	token: string;
	/** Whether to show that the jobs measure. */
	announce: boolean;
}

export function readPlanInputs(): PlanInputs {
	return {
		announce: oneOf("announce", ["false", "true"]) === "true",
		config: getInput("config") || "trtgate.yml",
		runners: getInput("runners") || "ubuntu-latest",
		only: getInput("only"),
		name: getInput("name"),
		artifact: getInput("artifact") || "trtgate",
		token: getInput("token"),
	};
}

/** Inputs that control what is published where, and for how long. */
export interface PublishInputs {
	/** "" where the workflow gives none. */
	token: string;
	/** Distinguishes several configs or jobs of one workflow. */
	name: string;
	comment: "one" | "changes" | "fresh" | "never";
	checkRun: boolean;
	issue: "auto" | "true" | "false";
	/** What the artifact's name begins with, or `none`. */
	artifact: string;
	artifactEngines: boolean;
	retentionDays?: number | undefined;
	cache: "auto" | "true" | "false";
}

/** GitHub's own upper bound, of private repositories. */
const maxRetentionDays = 400;
const maxNameChars = 100;

/** @throws ConfigError usage. */
export function readPublishInputs(): PublishInputs {
	return {
		...readShownInputs(),
		issue: oneOf("issue", ["auto", "true", "false"]),
		artifactEngines: oneOf("artifact-engines", ["false", "true"]) === "true",
		cache: oneOf("cache", ["auto", "true", "false"]),
	};
}

/** What gate and report share. */
function readShownInputs(): Omit<PublishInputs, "issue" | "artifactEngines" | "cache"> {
	const days = getInput("retention-days");
	return {
		token: getInput("token"),
		name: getInput("name").slice(0, maxNameChars),
		comment: commentModes[oneOf("comment", ["auto", "changes", "fresh", "never"])],
		checkRun: oneOf("check-run", ["true", "false"]) === "true",
		artifact: getInput("artifact") || "trtgate",
		retentionDays: days === "" ? undefined : readDays(days),
	};
}

function readDays(text: string): number {
	const days = /^\d{1,3}$/.test(text) ? Number(text) : 0;
	if (days >= 1 && days <= maxRetentionDays) return days;
	throw usageError(
		`input retention-days is ${JSON.stringify(text.slice(0, 60))}; expected a number of days from 1 to ${maxRetentionDays}.`,
		"Correct it under `with:`, or leave it out.",
	);
}

/** Inputs of report/action.yml. */
export interface ReportInputs extends PublishInputs {
	config: string;
	/** The plan's matrix; empty where there is none. */
	expected: string;
	/** What the plan found about the whole change; empty where there is none. */
	review: string;
	/** Id of the one job that measures, where there is no plan. */
	job: string;
	out: string;
	fail: "auto" | "true" | "false";
}

/** @throws ConfigError usage. */
export function readReportInputs(): ReportInputs {
	return {
		...readShownInputs(),
		issue: oneOf("issue", ["auto", "true", "false"]),
		// A report has no engines and builds none.
		artifactEngines: false,
		cache: "false",
		config: getInput("config") || "trtgate.yml",
		expected: getInput("expected"),
		review: getInput("review"),
		job: getInput("job") || "gate",
		out: getInput("out") || "trtgate-merged",
		fail: oneOf("fail", ["auto", "true", "false"]),
	};
}

/** Inputs of golden/action.yml; texts as the user wrote them. */
export interface GoldenInputs {
	token: string;
	config: string;
	/** Names of models, one a line or with commas; empty: all that have a golden. */
	model: string;
	reason: string;
	/** Empty: the user who started the workflow. */
	author: string;
	/** Options of `trtgate golden record`, each with its values; those that are left out are not there. */
	options: readonly { name: string; values: readonly string[] }[];
	propose: boolean;
	/** Limits follow from the engines of this runner; nothing is recorded. */
	calibrate: boolean;
	branch: string;
	/** Empty: the default branch. */
	base: string;
	draft: boolean;
}

/** @throws ConfigError usage. */
export function readGoldenInputs(): GoldenInputs {
	const lines = (name: string): string[] =>
		getInput(name)
			.split(/\r?\n/)
			.map((line) => line.trim())
			.filter((line) => line !== "");
	const options = [
		"cases",
		"inputs",
		"generator",
		"dims",
		"shape",
		"seed",
		"onnxruntime",
		"onnxruntime-folder",
		"notice",
		"time-limit",
		"timeout",
	] as const;
	return {
		token: getInput("token"),
		config: getInput("config") || "trtgate.yml",
		model: getInput("model"),
		reason: getInput("reason"),
		author: getInput("author"),
		options: options.map((name) => ({ name, values: lines(name) })).filter(({ values }) => values.length > 0),
		propose: oneOf("propose", ["false", "true"]) === "true",
		calibrate: oneOf("calibrate", ["false", "true"]) === "true",
		branch: getInput("branch") || "trtgate/goldens",
		base: getInput("base"),
		draft: oneOf("draft", ["false", "true"]) === "true",
	};
}

/** `auto` comments once and keeps it up to date. */
const commentModes = { auto: "one", changes: "changes", fresh: "fresh", never: "never" } as const;

/** The first where nothing is given. */
function oneOf<Value extends string>(name: string, values: readonly [Value, ...Value[]]): Value {
	const given = getInput(name).toLowerCase();
	const found = given === "" ? values[0] : values.find((value) => value === given);
	if (found !== undefined) return found;
	throw usageError(
		`input ${name} is ${JSON.stringify(given.slice(0, 60))}; expected one of ${values.join(", ")}.`,
		`Write ${values[0]}, or leave it out.`,
	);
}
