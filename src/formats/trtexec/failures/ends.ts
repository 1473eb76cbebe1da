// Ends that the log does not explain: signals, time limits, logs that stop.
import type { Facts, Rule } from "./rule.ts";

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

/** The signal that ended the run, also where a shell in between turned it into a number. */
export function endingSignal(exitCode: number | null, signal: string | null): string | null {
	if (signal !== null && signal !== "") return signal.startsWith("SIG") ? signal : `SIG${signal}`;
	return exitCode === null ? null : (signalByExit[exitCode] ?? null);
}

const died = (...signals: string[]) => {
	return (facts: Facts): boolean => facts.signal !== null && signals.includes(facts.signal);
};

function loadsPlan(facts: Facts): boolean {
	return facts.flags.has("--loadEngine") && !facts.log.reached.deserialised;
}

/** Someone ended it: what the log says before matters less. */
export const endedFromOutside: readonly Rule[] = [
	{
		code: "timed-out",
		kind: "runner",
		rank: "symptom",
		when: (facts) => facts.timedOut,
		title: () => "trtexec did not end within its time limit and was stopped.",
		fix: "Raise the limit if the last lines show progress; if they do not, look for a busy GPU or a hung driver.",
	},
	{
		code: "interrupted",
		kind: "runner",
		rank: "symptom",
		when: died("SIGINT"),
		title: () => "trtexec was interrupted (SIGINT): it ends at once, without a last line and without a plan.",
		fix: "Nothing is wrong with the model: run again. A cancelled workflow or Ctrl-C sends this.",
	},
	{
		code: "terminated",
		kind: "runner",
		rank: "symptom",
		when: died("SIGTERM", "SIGHUP"),
		title: () => "trtexec was told to end (SIGTERM): it ends at once, without a last line and without a plan.",
		fix: "Nothing is wrong with the model: a cancelled job, a shutdown of the runner or a time limit sends this. Run again.",
	},
	{
		code: "killed",
		kind: "runner",
		rank: "symptom",
		when: died("SIGKILL"),
		title: () => "trtexec was killed (SIGKILL), most often by the system for want of memory.",
		fix: "Look at dmesg and the container's memory limit; the builder alone takes 5 GB. Give more memory or build fewer at once.",
	},
];

/** It died by itself. Only asked where no line of the log gives a reason. */
export const crashRules: readonly Rule[] = [
	{
		code: "plan-crash",
		kind: "refusal",
		rank: "symptom",
		when: (facts) => died("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE")(facts) && loadsPlan(facts),
		names: (facts) => ({ signal: facts.signal ?? "", file: facts.flags.get("--loadEngine") ?? "" }),
		title: (names) =>
			`trtexec crashed (${names["signal"] ?? ""}) while it loaded ${names["file"] ?? "the engine"}, as it does when the file is not a plan.`,
		fix: "Look at the file's size and first bytes (a plan begins with `ftrt`); build it again.",
	},
	{
		code: "inference-crash",
		kind: "runner",
		rank: "symptom",
		when: (facts) => died("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE")(facts) && facts.log.reached.deserialised,
		names: (facts) => ({ signal: facts.signal ?? "" }),
		title: (names) => `trtexec crashed (${names["signal"] ?? ""}) after the engine was loaded, as it does when the GPU has no memory left.`,
		fix: "See with nvidia-smi what else holds memory on this GPU and run again; if it stays, suspect a plugin.",
	},
	{
		code: "crashed",
		kind: "runner",
		rank: "symptom",
		when: died("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "SIGSYS"),
		names: (facts) => ({ signal: facts.signal ?? "" }),
		title: (names) => `trtexec crashed (${names["signal"] ?? ""}) and its log gives no reason.`,
		fix: "Run again; if it stays, try another TensorRT version and report the model to NVIDIA.",
	},
];

export const logIncomplete: Rule = {
	code: "log-incomplete",
	kind: "runner",
	rank: "symptom",
	when: (facts) => facts.exitCode === null && facts.signal === null && facts.log.ending === "none",
	title: () => "The log stops before trtexec's last line, and nothing tells how the run ended.",
	fix: "Give the exit code or signal (--exit-code, --signal), or the whole log.",
};
