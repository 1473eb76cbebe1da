// Decides which results of an earlier attempt still count: those whose jobs, by the code host's list, were not run again.
import { type PartInput, resultOf } from "./parts.ts";

export interface JobExecution {
	name: string;
	runner: string;
	startedMs: number;
	completedMs: number | null;
}

export type JobHistory =
	| { state: "listed"; jobs: readonly JobExecution[] }
	| { state: "unknown"; why: string };

function attemptOf(part: PartInput) {
	const result = resultOf(part);
	return result === undefined ? null : (result.run?.attempt ?? 0);
}

export function hasEarlier(parts: readonly PartInput[], attempt: number): boolean {
	return attempt > 1 && parts.some((part) => (attemptOf(part) ?? attempt) < attempt);
}

export function dropSuperseded(
	parts: readonly PartInput[],
	attempt: number,
	history: JobHistory,
): PartInput[] {
	return parts.map((part) => {
		const its = attemptOf(part);
		if (its === null || !hasEarlier([part], attempt)) return part;
		const reason = supersededReason(part, its, attempt, history);
		return reason === null ? part : { ...part, content: { state: "missing", reason } };
	});
}

/** @param its the attempt of the result; 0 if unknown. */
function supersededReason(part: PartInput, its: number, attempt: number, history: JobHistory) {
	if (its === 0) return `Its result does not say which attempt it is from; expected attempt ${attempt}.`;
	const unknown = (why: string) =>
		`Its last result is from attempt ${its}, and it is unknown whether its job was run again: ${why}`;
	if (history.state === "unknown") return unknown(history.why);
	const made = executionsOf(part, history.jobs);
	const [first] = made;
	if (first === undefined) return unknown("GitHub lists no job on its runner at the time of its upload.");
	const isAgain = history.jobs.some(
		(job) => job.name === first.name && made.every(({ startedMs }) => startedMs < job.startedMs),
	);
	return isAgain
		? `Its job was run again in attempt ${attempt} and left no result; that of attempt ${its} does not count.`
		: null;
}

/** A runner has one job at a time. GitHub may list an execution once for each attempt that it counts for. */
function executionsOf(part: PartInput, jobs: readonly JobExecution[]) {
	const { uploadedMs } = part;
	const runner = resultOf(part)?.run?.runner;
	if (runner === undefined || uploadedMs === undefined) return [];
	const made = jobs.filter(
		(job) =>
			job.runner === runner &&
			job.startedMs <= uploadedMs &&
			(job.completedMs ?? Infinity) + 1000 >= uploadedMs,
	);
	return new Set(made.map(({ name }) => name)).size === 1 ? made : [];
}
