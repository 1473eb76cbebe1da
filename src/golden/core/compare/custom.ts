// Custom comparators, which are user commands: their request, the parser of their answer, and the resulting check.
import type { ComparatorSpec, GoldenOutput, Precision } from "../../../../generated/golden.ts";
import type { GoldenCheck } from "../../../../generated/result.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { structuralCheck, toNumeric } from "./checks.ts";
import { toleranceAt } from "./tolerances.ts";

/** Sent to a command as JSON on stdin; its arguments name the tensor files. */
export interface CommandRequest {
	schemaVersion: 1;
	comparator: string;
	golden: string;
	case: string;
	output: string;
	model: string;
	engine: string;
	precision: Precision;
	/** The golden's limit at this precision; null if the command alone decides. */
	tolerance: number | null;
	labels?: readonly number[];
}

/** failed: no result, which never passes. */
export type CommandAnswer =
	| { state: "answered"; pass: boolean; value: number | null; detail?: string }
	| { state: "failed"; message: string };

export type CustomSpec = ComparatorSpec & { kind: "custom"; name: string };

export function customSpecs(output: GoldenOutput | undefined): CustomSpec[] {
	const listed: readonly ComparatorSpec[] = output?.comparators ?? [];
	return listed.filter((spec): spec is CustomSpec => spec.kind === "custom" && spec.name !== undefined);
}

const longestDetail = 500;
const shownAnswer = 80;

/**
 * Exit 0 passes and 1 fails. The last line of stdout may be a JSON object with `value` (a number, larger is worse), `pass` and
 * `detail`. Exit 1 fails whatever the JSON says.
 */
export function parseCommandAnswer(stdout: string, exitCode: number): CommandAnswer {
	const failed = (message: string): CommandAnswer => ({ state: "failed", message });
	if (exitCode !== 0 && exitCode !== 1) return failed(`it exited with code ${exitCode}; expected 0 or 1`);
	const line = stdout.trimEnd().split("\n").at(-1)?.trim() ?? "";
	if (!line.startsWith("{")) return { state: "answered", pass: exitCode === 0, value: null };
	const answer = parseObject(line);
	const show = (value: unknown): string | undefined => JSON.stringify(value)?.slice(0, shownAnswer);
	if (answer === null)
		return failed(`its last line is not a JSON object: ${JSON.stringify(line.slice(0, shownAnswer))}`);
	const { value = null, pass = true, detail } = answer;
	if (value !== null && (typeof value !== "number" || !Number.isFinite(value)))
		return failed(`its value is ${show(value)}; expected a finite number`);
	if (typeof pass !== "boolean") return failed(`its pass is ${show(pass)}; expected true or false`);
	const shownDetail = typeof detail === "string" ? { detail: detail.slice(0, longestDetail) } : {};
	return { state: "answered", pass: pass && exitCode === 0, value, ...shownDetail };
}

function parseObject(line: string): Readonly<{ value?: unknown; pass?: unknown; detail?: unknown }> | null {
	try {
		const parsed: unknown = JSON.parse(line);
		return typeof parsed === "object" && !Array.isArray(parsed) ? parsed : null;
	} catch {
		return null;
	}
}

/** A value must keep its limit, if there is one; a failure that the command reports always fails. */
export function customCheck(
	output: string,
	spec: CustomSpec,
	{ answer, expected, precision }: { answer: CommandAnswer; expected: Tensor; precision: Precision },
): GoldenCheck {
	const allowed = toleranceAt(spec.tolerance, precision) ?? null;
	const metric = `custom ${spec.name}`;
	const about = { allowed, severity: spec.severity ?? "fail" };
	if (answer.state === "failed")
		return { ...structuralCheck(output, metric, `the command failed: ${answer.message}`), ...about };
	const { value, pass, detail } = answer;
	const keeps = allowed === null || (value !== null && value <= allowed);
	let refused: string | undefined;
	if (allowed !== null && value === null) refused = "the command gave no value to compare with the limit";
	else if (keeps && !pass) refused = "the command reported a failure";
	return {
		output,
		metric,
		...about,
		got: value === null ? null : toNumeric(value),
		bound: "at-most",
		pass: keeps && pass,
		elements: elementCount(expected.shape),
		detail: [refused, detail].filter(Boolean).join("; ") || undefined,
	};
}
