// The only file that reads the action's inputs.
import { getInput } from "@actions/core";
import { usageError } from "../../../core/errors.ts";
import { shortJobName } from "../../../core/plan/matrix.ts";

const overridden = ["backend", "device", "onnxruntime", "inconclusive", "base-trtexec", "base-python"];

const given = (name: string) => getInput(name) || undefined;

export function readInputs() {
	return {
		config: given("config"),
		base: given("base"),
		head: given("head"),
		trtexec: given("trtexec"),
		only: given("only"),
		onnxruntimeFolder: given("onnxruntime-folder"),
		out: getInput("out") || "trtgate-out",
		overrides: Object.fromEntries(
			overridden.map((name) => [name, getInput(name)] as const).filter(([, value]) => value !== ""),
		),
	};
}

export type PlanInputs = ReturnType<typeof readPlanInputs>;

export function readPlanInputs() {
	return {
		announce: isOn("announce"),
		config: getInput("config") || "trtgate.yml",
		runners: getInput("runners") || "ubuntu-latest",
		only: getInput("only"),
		name: getInput("name"),
		artifact: getInput("artifact") || "trtgate",
		token: getInput("token"),
	};
}

export type PublishInputs = ReturnType<typeof readShownInputs> & { artifactEngines?: boolean };

export function readPublishInputs() {
	return {
		...readShownInputs(),
		artifactEngines: isOn("artifact-engines"),
		cache: oneOf("cache", ["auto", "true", "false"]),
	};
}

function readShownInputs() {
	const days = getInput("retention-days");
	return {
		/** "" if the workflow gives none. */
		token: getInput("token"),
		name: shortJobName(getInput("name")),
		comment: oneOf("comment", ["changes", "auto", "never"]),
		checkRun: oneOf("check-run", ["true", "false"]) === "true",
		issue: oneOf("issue", ["auto", "true", "false"]),
		artifact: getInput("artifact") || "trtgate",
		/** A folder that takes the place of artifacts, or "". */
		parts: getInput("parts"),
		...(days !== "" && { retentionDays: readDays(days) }),
	};
}

const maxRetentionDays = 400;

function readDays(text: string) {
	const days = /^\d{1,3}$/.test(text) ? Number(text) : 0;
	if (days >= 1 && days <= maxRetentionDays) return days;
	throw usageError(
		`input retention-days is ${JSON.stringify(text.slice(0, 60))}; expected a number of days from 1 to ${maxRetentionDays}.`,
		"Correct it under `with:`, or leave it out.",
	);
}

export type ReportInputs = ReturnType<typeof readReportInputs>;

export function readReportInputs() {
	return {
		...readShownInputs(),
		config: getInput("config") || "trtgate.yml",
		expected: getInput("expected"),
		review: getInput("review"),
		job: getInput("job") || "gate",
		out: getInput("out") || "trtgate-merged",
		fail: oneOf("fail", ["auto", "true", "false"]),
	};
}

const recordOptions = [
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

export type GoldenInputs = ReturnType<typeof readGoldenInputs>;

export function readGoldenInputs() {
	const lines = (name: string) =>
		getInput(name)
			.split(/\r?\n/)
			.map((line) => line.trim())
			.filter((line) => line !== "");
	return {
		token: getInput("token"),
		config: getInput("config") || "trtgate.yml",
		/** Separated by lines or commas; empty: all that have a golden. */
		model: getInput("model"),
		reason: getInput("reason"),
		author: getInput("author"),
		options: recordOptions
			.map((name) => ({ name, values: lines(name) }))
			.filter(({ values }) => values.length > 0),
		propose: isOn("propose"),
		/** Derives limits, and records nothing. */
		calibrate: isOn("calibrate"),
		branch: getInput("branch") || "trtgate/goldens",
		base: getInput("base"),
		draft: isOn("draft"),
	};
}

function isOn(name: string) {
	return oneOf(name, ["false", "true"]) === "true";
}

function oneOf<Value extends string>(name: string, values: readonly [Value, ...Value[]]) {
	const value = getInput(name).toLowerCase();
	const found = value === "" ? values[0] : values.find((one) => one === value);
	if (found !== undefined) return found;
	throw usageError(
		`input ${name} is ${JSON.stringify(value.slice(0, 60))}; expected one of ${values.join(", ")}.`,
		`Write ${values[0]}, or leave it out.`,
	);
}
