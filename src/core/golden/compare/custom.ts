// Comparators that are commands of the user's own: what they are told, how their answer is read, and the check that follows.
import type { ComparatorSpec, GoldenOutput, Precision } from "../../schema/golden.ts";
import type { GoldenCheck } from "../../schema/result.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { toNumeric } from "./checks.ts";
import { toleranceAt } from "./comparators.ts";

/** What a command is told as JSON on its input; the tensors lie in the files that it is given as arguments. */
export interface CommandQuestion {
	schemaVersion: 1;
	comparator: string;
	/** goldenId. */
	golden: string;
	case: string;
	output: string;
	model: string;
	engine: string;
	precision: Precision;
	/** The golden's limit at this precision; null: the command decides alone. */
	tolerance: number | null;
	/** What is right by people's word, where the case says so. */
	labels?: readonly number[];
}

/** failed: no answer, which never passes. */
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
 * Exit 0 is a pass and 1 is none, unless the last line of the output is a JSON object that says more: `value` (a number, larger is
 * worse), `pass` and `detail`. An exit of 1 stays none whatever the JSON says.
 */
export function parseCommandAnswer(stdout: string, exitCode: number): CommandAnswer {
	if (exitCode !== 0 && exitCode !== 1)
		return { state: "failed", message: `it ended with exit code ${exitCode}, where 0 or 1 is an answer` };
	const line = stdout.trimEnd().split("\n").at(-1)?.trim() ?? "";
	if (!line.startsWith("{")) return { state: "answered", pass: exitCode === 0, value: null };
	const answer = parseObject(line);
	if (answer === null)
		return { state: "failed", message: `its last line is no JSON object: ${JSON.stringify(line.slice(0, shownAnswer))}` };
	const { value = null, pass = true, detail } = answer;
	if (value !== null && (typeof value !== "number" || !Number.isFinite(value))) {
		return { state: "failed", message: `its value is ${JSON.stringify(value)?.slice(0, shownAnswer)}, where a finite number is expected` };
	}
	if (typeof pass !== "boolean")
		return { state: "failed", message: `its pass is ${JSON.stringify(pass).slice(0, shownAnswer)}, where true or false is expected` };
	const said = typeof detail === "string" ? { detail: detail.slice(0, longestDetail) } : {};
	return { state: "answered", pass: pass && exitCode === 0, value, ...said };
}

function parseObject(line: string): Readonly<{ value?: unknown; pass?: unknown; detail?: unknown }> | null {
	try {
		const parsed: unknown = JSON.parse(line);
		return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed) ? parsed : null;
	} catch {
		return null;
	}
}

/** A limit needs a value that keeps it; and what the command itself calls no pass is none. */
export function customCheck(
	output: string,
	spec: CustomSpec,
	about: { answer: CommandAnswer; expected: Tensor; precision: Precision },
): GoldenCheck {
	const { answer, expected, precision } = about;
	const allowed = toleranceAt(spec.tolerance, precision) ?? null;
	const shared = { output, metric: `custom ${spec.name}`, allowed, bound: "at-most", severity: spec.severity ?? "fail" } as const;
	if (answer.state === "failed")
		return { ...shared, got: null, pass: false, elements: 0, detail: `the command gave no answer: ${answer.message}` };
	const { value, pass, detail } = answer;
	const keeps = allowed === null || (value !== null && value <= allowed);
	const silent = allowed !== null && value === null ? "the command gave no value to hold against the limit" : undefined;
	const refused = keeps && !pass ? "the command calls it no pass" : undefined;
	const said = [silent ?? refused, detail].filter((text) => text !== undefined).join("; ");
	return {
		...shared,
		got: value === null ? null : toNumeric(value),
		pass: keeps && pass,
		elements: elementCount(expected.shape),
		...(said === "" ? {} : { detail: said }),
	};
}
