// Failures that the log does not explain: signals, time limits, incomplete logs.
import { type Facts, ofRunner, type Rule } from "./rule.ts";

// A shell reports death by signal n as exit code 128 + n.
const signalByExit: Readonly<Record<number, string>> = {
	129: "SIGHUP",
	130: "SIGINT",
	132: "SIGILL",
	134: "SIGABRT",
	135: "SIGBUS",
	136: "SIGFPE",
	137: "SIGKILL",
	139: "SIGSEGV",
	143: "SIGTERM",
};

/** The signal that ended the run, also where a shell reported it as an exit code. */
export function endingSignal(exitCode: number | null, signal: string | null): string | null {
	if (signal !== null && signal !== "") return signal.startsWith("SIG") ? signal : `SIG${signal}`;
	return exitCode === null ? null : (signalByExit[exitCode] ?? null);
}

const died = (...signals: string[]) => {
	return (facts: Facts): boolean => facts.signal !== null && signals.includes(facts.signal);
};

function loadsPlan(facts: Facts): boolean {
	return facts.flags.has("--loadEngine") && !facts.log.deserialised;
}

/** A signal or a time limit ended it; earlier log lines matter less. */
export const endedFromOutside: readonly Rule[] = ofRunner([
	{
		code: "timed-out",
		rank: "symptom",
		when: (facts) => facts.timedOut,
		title: "trtexec did not finish within its time limit and was stopped.",
		fix: "If the last lines show progress, raise the limit. Otherwise look for a busy GPU or a hung driver.",
	},
	{
		code: "interrupted",
		rank: "symptom",
		when: died("SIGINT"),
		title: "trtexec was interrupted (SIGINT) and wrote no plan.",
		fix: "Nothing is wrong with the model. A cancelled workflow or Ctrl-C sends this signal. Run again.",
	},
	{
		code: "terminated",
		rank: "symptom",
		when: died("SIGTERM", "SIGHUP"),
		title: "trtexec was terminated (SIGTERM) and wrote no plan.",
		fix: "Nothing is wrong with the model. A cancelled job, a runner shutdown or a time limit sends this signal. Run again.",
	},
	{
		code: "killed",
		rank: "symptom",
		when: died("SIGKILL"),
		title: "trtexec was killed (SIGKILL), most often because the machine ran out of memory.",
		fix: "Check dmesg and the container's memory limit. The builder alone takes 5 GB: provide more memory, or build fewer engines at once.",
	},
]);

/** It crashed. Tried only if no line of the log gives a reason. */
export const crashRules: readonly Rule[] = [
	{
		code: "plan-crash",
		rank: "symptom",
		when: (facts) => died("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE")(facts) && loadsPlan(facts),
		names: (facts) => ({ signal: facts.signal ?? "", file: facts.flags.get("--loadEngine") ?? "" }),
		title:
			"trtexec crashed ({signal}) while loading {file|the engine}. This happens when the file is not a plan.",
		fix: "Check the file's size and first bytes (a plan begins with `ftrt`), and build it again.",
	},
	{
		code: "inference-crash",
		kind: "runner",
		rank: "symptom",
		when: (facts) =>
			died("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE")(facts) && facts.log.deserialised,
		names: (facts) => ({ signal: facts.signal ?? "" }),
		title:
			"trtexec crashed ({signal}) after the engine was loaded. This happens when the GPU runs out of memory.",
		fix: "Check with nvidia-smi what else uses memory on this GPU, and run again. If it keeps crashing, suspect a plugin.",
	},
	{
		code: "crashed",
		kind: "runner",
		rank: "symptom",
		when: died("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "SIGSYS"),
		names: (facts) => ({ signal: facts.signal ?? "" }),
		title: "trtexec crashed ({signal}) and its log gives no reason.",
		fix: "Run again. If it keeps crashing, try another TensorRT version and report the model to NVIDIA.",
	},
];

export const logIncomplete: Rule = {
	code: "log-incomplete",
	kind: "runner",
	rank: "symptom",
	when: (facts) => facts.exitCode === null && facts.signal === null && facts.log.ending === "none",
	title: "The log stops before trtexec's last line, and no exit code or signal is known.",
	fix: "Pass the exit code or signal (--exit-code, --signal), or the complete log.",
};
