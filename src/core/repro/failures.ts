// The failures of a run that can be packed, and whether a replay shows one again.
import type { Recorded, RecordedCheck } from "../../../generated/repro.ts";
import type { BuildRecord, GoldenCheck, GoldenVerdict, Result } from "../../../generated/result.ts";
import { usageError } from "../errors.ts";
import { cleanMessage, cleanName } from "../text/escape.ts";
import { listNames } from "../text/labels.ts";
import { formatValue } from "../text/units.ts";

export interface PackedFailure {
	model: string;
	engine: string;
	scope?: GoldenVerdict["scope"];
	recorded: Recorded;
}

type Facts = Pick<Result, "builds" | "findings" | "errors" | "golden">;

/** Builds first, then engines that failed while they ran, then cases, those last that the base fails too. */
export function failuresOf(result: Facts): PackedFailure[] {
	const { builds, errors, golden } = result;
	const cases = golden.flatMap(failedCase);
	const isNew = ({ recorded }: PackedFailure) => recorded.code !== "existing";
	return [
		...builds.flatMap((build) => failedBuild(build, result)),
		...errors.flatMap(({ model, engine, arm, workload, code, message }): PackedFailure[] => {
			if (model === undefined || engine === undefined || arm === "base" || workload !== undefined) return [];
			return [{ model, engine, recorded: { kind: "run", code, says: message, checks: [] } }];
		}),
		...cases.filter(isNew),
		...cases.filter((failure) => !isNew(failure)),
	];
}

function failedBuild(build: BuildRecord, { findings }: Pick<Facts, "findings">): PackedFailure[] {
	const { model, engine, arm, state, failure } = build;
	if (arm === "base" || state === "built") return [];
	const found = findings.find(
		(one) =>
			one.arm !== "base" &&
			one.severity !== "note" &&
			one.model === model &&
			(one.engine ?? engine) === engine,
	);
	const code = failure?.code ?? found?.code ?? state;
	const says = failure?.title ?? found?.message ?? state;
	return [{ model, engine, recorded: { kind: "build", code, says, checks: [] } }];
}

function failedCase(verdict: GoldenVerdict): PackedFailure[] {
	const { model, engine, case: id, scope, state, fault, message } = verdict;
	if (fault !== undefined || !["mismatch", "existing", "error"].includes(state)) return [];
	// A repro holds no commands.
	const checks = verdict.checks.filter(({ pass, metric }) => !pass && !metric.startsWith("custom "));
	if (checks.length === 0 && state !== "error") return [];
	const says = message ?? `${checks.length} of ${verdict.checks.length} checks fail`;
	const whole = scope === "set" || undefined;
	const recorded: Recorded = {
		kind: "case",
		code: state,
		says,
		case: id,
		whole,
		checks: checks.map(recordCheck),
	};
	return [{ model, engine, scope, recorded }];
}

function recordCheck({ output, metric, slice, got, allowed, bound, worst }: GoldenCheck): RecordedCheck {
	const at = worst && `[${worst.index.join(",")}]: got ${worst.got}, expected ${worst.expected}`;
	return { output, metric, slice: sliceKey(slice), got, allowed, bound, worst: at };
}

const sliceKey = (slice: GoldenCheck["slice"]): string | undefined => slice && JSON.stringify(slice);

const nameOf = ({ model, engine, recorded }: PackedFailure): string =>
	[model, engine, ...(recorded.case === undefined ? [] : [recorded.case])].join("/");

/** @param wanted a case, an engine or both. @throws ConfigError usage if there is no such failure. */
export function chooseFailure(failures: readonly PackedFailure[], wanted: string | undefined): PackedFailure {
	const fits = (one: PackedFailure): boolean =>
		[undefined, one.recorded.case, `${one.model}/${one.engine}`, nameOf(one)].includes(wanted);
	const found = failures.find(fits);
	if (found !== undefined) return found;
	if (failures.length === 0)
		throw usageError(
			"The run has no failing build, engine or golden case that could be packed.",
			"Give the result of a run with one; a comparator command cannot be packed.",
		);
	const names = listNames([...new Set(failures.map((one) => cleanName(nameOf(one), 200)))], 10);
	throw usageError(`Nothing that failed is called ${JSON.stringify(wanted)}.`, `These failed: ${names}.`);
}

export interface Comparison {
	/** unknown: the replay did not come as far as the failure. */
	state: "reproduced" | "not reproduced" | "unknown";
	lines: string[];
}

/** @param result of a run of nothing but the engine, and its golden unless the build failed. */
export function compareReplay(recorded: Recorded, result: Facts): Comparison {
	const build = result.builds.find(({ arm }) => arm === "head");
	const [ofBuild] = build === undefined ? [] : failedBuild(build, result);
	const [ofRun] = failuresOf(result).filter((one) => one.recorded.kind === "run");
	const now = ofBuild ?? ofRun;
	const was = `recorded: ${describe(recorded)}`;
	if (now !== undefined) {
		const isSame = now.recorded.kind === recorded.kind && now.recorded.code === recorded.code;
		return { state: isSame ? "reproduced" : "unknown", lines: [was, `now: ${describe(now.recorded)}`] };
	}
	const judged = result.golden.filter(({ fault }) => fault === undefined);
	const isDone = recorded.kind === "build" ? build !== undefined : judged.length > 0;
	if (isDone && recorded.kind !== "case")
		return {
			state: "not reproduced",
			lines: [was, `now: the engine ${recorded.kind === "build" ? "is built" : "runs"}`],
		};
	const verdict = judged.find((one) =>
		recorded.whole ? one.scope === "set" : one.case === recorded.case && one.scope !== "set",
	);
	return verdict === undefined ? { state: "unknown", lines: [was] } : compareVerdict(recorded, verdict);
}

function describe({ code, says }: Recorded): string {
	return `${cleanMessage(says)} [${cleanName(code)}]`;
}

/** Each failing check of the run against the same one now, by the recorded limit. */
function compareVerdict(recorded: Recorded, verdict: GoldenVerdict): Comparison {
	const hasAnswer = verdict.state !== "error" || verdict.checks.length > 0;
	if (recorded.checks.length === 0 || !hasAnswer) {
		const now = cleanMessage(verdict.message ?? "the engine answers");
		const isSame = recorded.checks.length === 0 && !hasAnswer;
		const state = isSame ? "reproduced" : hasAnswer ? "not reproduced" : "unknown";
		return { state, lines: [`recorded: ${describe(recorded)}`, `now: ${now}`] };
	}
	const compared = recorded.checks.map((check) => compareCheck(check, verdict));
	const state = (["reproduced", "unknown"] as const).find((one) => compared.some((own) => own.state === one));
	return { state: state ?? "not reproduced", lines: compared.map(({ line }) => line) };
}

function compareCheck(
	was: RecordedCheck,
	{ checks }: GoldenVerdict,
): { state: Comparison["state"]; line: string } {
	const now = checks.find(
		({ output, metric, slice }) =>
			output === was.output && metric === was.metric && sliceKey(slice) === was.slice,
	);
	// Checks without a limit, such as that of the shape, are only there if they fail.
	const isMissing = now === undefined && was.allowed !== null;
	const fails = now !== undefined && isBeyond(was, now);
	const limit =
		was.allowed === null ? "" : ` (${was.bound === "at-most" ? "≤" : "≥"} ${formatValue(was.allowed)})`;
	const value = isMissing ? "not compared" : now === undefined ? "agrees" : formatValue(now.got);
	const name = `${cleanName(was.output)}: ${cleanName(was.metric)}${limit}`;
	const line = `${fails ? "✗" : isMissing ? "?" : "✓"} ${name}: recorded ${formatValue(was.got)}, now ${value}`;
	return { state: fails ? "reproduced" : isMissing ? "unknown" : "not reproduced", line };
}

function isBeyond({ allowed, bound }: RecordedCheck, { got, pass }: GoldenCheck): boolean {
	if (allowed === null || got === null) return !pass;
	const value = Number(got);
	return bound === "at-most" ? !(value <= allowed) : !(value >= allowed);
}
